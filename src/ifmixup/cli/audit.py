"""``ifmixup audit``: is mixing lossless on a dataset?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import track

from ifmixup.audit import Mixture
from ifmixup.audit import audit as run_audit
from ifmixup.cli.plain_console import PlainConsole
from ifmixup.cli.source_options import SourceOptions


def audit(
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    *,
    pairs: int = 10_000,
    alpha: float = 20.0,
    beta: float = 1.0,
    seed: int = 0,
    root: Path | None = None,
    options: Annotated[SourceOptions, tyro.conf.arg(name="")] = SourceOptions(),  # noqa: B008
) -> int:
    """Mix random pairs of a SOURCE, take them apart again, and say whether all came back.

    The exit code is 1 if the guarantee does not hold, and the reason is printed.

    Args:
        source: A name (MUTAG, ogb:ogbg-molhiv), molecules.csv:smiles:label (or .csv.gz, .parquet),
            a folder of TU, GraphML or JSON files, or a .pt file of PyG graphs.
        pairs: How many pairs of graphs.
        alpha: The ratio λ is drawn from Beta(alpha, beta).
        beta: See alpha.
        seed: Seeds pairs and ratios.
        root: Where datasets with names lie.
        options: How the SOURCE is read.
    """
    console = PlainConsole()

    def progress(mixtures: Iterable[Mixture], total: int) -> Iterable[Mixture]:
        return track(mixtures, "Mixing and recovering", total, console=Console(stderr=True))

    graphs = options.load(source, root)
    found = run_audit(graphs, pairs, alpha=alpha, beta=beta, seed=seed, progress=progress)
    known = found.pairs - found.identical
    console.print(f"{graphs.name}: {found.pairs:,} random pairs, λ ~ Beta({alpha:g}, {beta:g})")
    console.print(f"  feature set linearly independent   {'yes' if found.independent else 'no'}")
    console.print(f"  pairs that came back exactly       {found.recovered:,} of {found.pairs:,}")
    console.print(
        f"  largest error of λ                 {found.largest_error:.1e} ({known:,} pairs)"
    )
    console.print(f"  pairs of two identical graphs      {found.identical:,} (λ cannot be known)")
    console.print(f"  mixtures that are a training graph {found.coinciding:,}")
    if found.continuous:
        console.print(
            f"  continuous feature columns         {len(found.continuous):,} of "
            f"{graphs.num_features:,}"
        )
        console.print(
            "Losslessness is not guaranteed with continuous features: other graphs may have values "
            "that these do not have, and training standardises them.",
            soft_wrap=True,
        )
    if found.holds:
        more = " in these graphs" if found.continuous else ""
        console.print(f"Lossless{more}: every mixed graph holds all of its pair.")
        return 0
    console.print("NOT lossless:")
    for reason in found.reasons[:5]:
        console.print(f"  - {reason}", highlight=False)
    if len(found.reasons) > 5:
        console.print(f"  and {len(found.reasons) - 5} more")
    return 1
