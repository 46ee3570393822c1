"""``ifmixup audit``: is mixing lossless on a dataset?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import NO_DEFAULT, Source, SourceGroup, SourceOptions

if TYPE_CHECKING:
    from ifmixup.audit import Mixture

_SHOWN = 5  # reasons


def audit(
    source: Source,
    *,
    pairs: int = 10_000,
    alpha: float = 20.0,
    beta: float = 1.0,
    seed: int = 0,
    root: Annotated[Path | None, NO_DEFAULT] = None,
    options: SourceGroup = SourceOptions(),  # noqa: B008
) -> int:
    """Mix random pairs of a SOURCE, recover both graphs, and check that nothing is lost.

    The exit code is 1 if mixing is not lossless; the reasons are printed.

    Args:
        source: The graphs.
        pairs: Number of pairs of graphs.
        alpha: First parameter of the distribution of λ, Beta(alpha, beta).
        beta: Second parameter of Beta(alpha, beta).
        seed: Seed of the pairs and λ.
        root: Folder to look for named datasets in.
        options: How the SOURCE is read.
    """
    from rich.console import Console
    from rich.progress import track

    from ifmixup.audit import audit as run_audit

    def progress(mixtures: Iterable[Mixture], total: int) -> Iterable[Mixture]:
        return track(mixtures, "Mixing and recovering", total, console=Console(stderr=True))

    console = PlainConsole()
    graphs = options.load(source, root)
    found = run_audit(graphs, pairs, alpha=alpha, beta=beta, seed=seed, progress=progress)
    known = found.pairs - found.identical
    lines = {
        "feature set linearly independent": "yes" if found.independent else "no",
        "pairs recovered exactly": f"{found.recovered:,} of {found.pairs:,}",
        "structure recovered without features": f"{found.structures:,} of {found.pairs:,}",
        "largest error of λ": f"{found.largest_error:.1e} ({known:,} pairs)",
        "pairs of two identical graphs": f"{found.identical:,} (λ is undetermined)",
        "mixtures equal to a training graph": f"{found.coinciding:,}",
    }
    if found.continuous:
        lines["continuous feature columns"] = (
            f"{len(found.continuous):,} of {graphs.num_features:,}"
        )
    console.print(f"{graphs.name}: {found.pairs:,} random pairs, λ ~ Beta({alpha:g}, {beta:g})")
    for name, text in lines.items():
        console.print(f"  {name:38}{text}")
    if found.continuous:
        console.print(
            "Losslessness is not guaranteed with continuous features: other graphs may have values "
            "that these do not have, and training standardises them."
        )
    if found.holds:
        more = " in these graphs" if found.continuous else ""
        console.print(f"Lossless{more}: both graphs of every pair can be recovered.")
        return 0
    console.print("NOT lossless:")
    for reason in found.reasons[:_SHOWN]:
        console.print(f"  - {reason}")
    if len(found.reasons) > _SHOWN:
        console.print(f"  and {len(found.reasons) - _SHOWN} more")
    if not found.independent and options.features != "element" and graphs.smiles is not None:
        console.print(
            "Both graphs can be recovered only if the feature rows are linearly independent. For "
            "molecules, --features element makes them independent."
        )
    return 1
