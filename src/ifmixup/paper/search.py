"""How the recommended settings are found: ``python -m ifmixup.paper.search MUTAG``.

For GCN and GIN, with ``none`` and with ``ifmixup``, the paper's grid is searched by successive
halving. A setting is judged by the graphs that are held out for validation, never by test graphs,
and by many epochs, not by its best (:func:`~ifmixup.study.steady.steady`).
Both methods try the same settings of model and training; what is the method's own, the distribution
of λ, is chosen after them, with the best of these. What is found is written as JSON, to be put into
``recommended.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifmixup.atomically import atomically
from ifmixup.paper.plan import packed
from ifmixup.paper.scale import FOLDS
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.grid import PAPER_GRID, Grid, expand
from ifmixup.study.halving import Rung
from ifmixup.study.progress import Progress
from ifmixup.study.search import climb
from ifmixup.study.splits import make_splits
from ifmixup.study.steady import steady
from ifmixup.study.store import Store
from ifmixup.study.study import Study, Trial
from ifmixup.training import Packed, RunSpec, Settings
from ifmixup.training.recommended import reference

MODELS, METHODS = ("gcn", "gin"), ("none", "ifmixup")
OF_THE_METHOD = "alpha,beta"  # the entry of the grid that is chosen last

# Cheaper than those of ``study.halving``. Small learning rates need the length of the last round;
# as the rate is halved every 50 epochs, little changes after it, and more folds tell more than more
# epochs do: two of MUTAG have 34 graphs to validate on.
FIRST = Rung(settings=48, folds=1, epochs=60, keep=4)
LAST = Rung(settings=5, folds=5, epochs=150, keep=1)


def search(
    data: Packed,
    store: Store,
    engine: Engine,
    *,
    models: Sequence[str] = MODELS,
    methods: Sequence[str] = METHODS,
    first: Rung = FIRST,
    last: Rung = LAST,
) -> dict[str, dict[str, dict[str, Any]]]:
    """The best settings by model and method, each with the score it was chosen for."""
    bases = {
        ("holdout", model, method): reference(model, method)
        for model in models
        for method in methods
    }
    splits = make_splits(data, folds=FOLDS)

    def left_of(
        candidates: dict[Trial, list[Settings]], rung: Rung
    ) -> dict[Trial, dict[Settings, float]]:
        study = Study(data, splits, 0, candidates)

        def execute(specs: Sequence[RunSpec]) -> None:
            tasks = study.pending(specs, store)
            with Progress(len(tasks), len(specs) - len(tasks)) as watcher:
                study.execute(tasks, store, engine, watcher)

        return climb(study, store, execute, {trial: [rung] for trial in candidates}, steady)

    shared: Grid = {name: each for name, each in PAPER_GRID.items() if name != OF_THE_METHOD}
    left = left_of({trial: expand(base, shared) for trial, base in bases.items()}, first)
    # What does well in general is among the last, too: a search must not make things worse.
    finalists = {trial: list({**left[trial], bases[trial]: 0.0}) for trial in bases}
    winners = left_of(finalists, last)
    own: Grid = {OF_THE_METHOD: PAPER_GRID[OF_THE_METHOD]}
    best = left_of({trial: expand(next(iter(each)), own) for trial, each in winners.items()}, last)

    names = {name for entry in PAPER_GRID for name in entry.split(",")}
    found: dict[str, dict[str, dict[str, Any]]] = {model: {} for model in models}
    for (_, model, method), scores in best.items():
        ((settings, score),) = scores.items()
        relevant = settings.relevant()
        chosen = {name: relevant[name] for name in sorted(names & relevant.keys())}
        found[model][method] = {"settings": chosen, "steady_validation_accuracy": score}
    return found


def main() -> None:
    """Search on the datasets that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/search"))
    parser.add_argument("--graphs", type=int, default=None, help="search on about so many only")
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    for name in arguments.datasets:
        with Store(arguments.folder) as store:
            data = packed(name, arguments.graphs)
            found = search(data, store, LocalEngine(arguments.workers))
        text = json.dumps({name: found}, indent=1)
        with atomically(arguments.folder / f"{name}.json") as unfinished:
            unfinished.write_text(text + "\n", encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
