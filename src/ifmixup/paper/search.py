"""How the recommended settings are found: ``python -m ifmixup.paper.search MUTAG``.

For GCN and GIN the paper's grid is searched by successive halving. A setting is judged by graphs
that are held out for validation, never by test graphs, and by many epochs, not by its best one
(:func:`~ifmixup.study.steady.steady`).

``none`` and ``ifmixup`` get the same settings, those that are best for the two together. Chosen
apart they would differ by luck, as a few dozen graphs decide, and so would the accuracies that are
compared: what is found would be a difference between networks, not one that mixing makes. What is
the method's own, the distribution of λ, is chosen after the rest. The result is written as JSON, to
be put into ``recommended.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from ifmixup.paper.plan import packed
from ifmixup.paper.scale import FOLDS
from ifmixup.safe_io import atomically
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.grid import PAPER_GRID, Grid, expand
from ifmixup.study.halving import Halving, Rung
from ifmixup.study.progress import Progress
from ifmixup.study.splits import Splits, make_splits
from ifmixup.study.steady import steady
from ifmixup.study.store import Store
from ifmixup.study.study import Study
from ifmixup.training import PackedDataset, Settings
from ifmixup.training.recommended import reference

MODELS, METHODS = ("gcn", "gin"), ("none", "ifmixup")
OF_THE_METHOD = "alpha,beta"  # the entry of the grid that is chosen last

# Cheaper than those of ``study.halving``. Small learning rates need the length of the last round;
# as the rate is halved every 50 epochs, little changes after it, and more folds tell more than more
# epochs do: two of MUTAG have 34 graphs to validate on.
FIRST = Rung(settings=48, folds=1, epochs=60, keep=4)
LAST = Rung(settings=5, folds=5, epochs=150, keep=1)

_Scores = dict[Settings, float]


def search(
    data: PackedDataset,
    store: Store,
    engine: Engine,
    *,
    models: Sequence[str] = MODELS,
    methods: Sequence[str] = METHODS,
    grid: Grid = PAPER_GRID,
    first: Rung = FIRST,
    last: Rung = LAST,
) -> dict[str, dict[str, dict[str, Any]]]:
    """The best settings by model and method, each with the score it was chosen for."""
    shared: Grid = {name: each for name, each in grid.items() if name != OF_THE_METHOD}
    own: Grid = {OF_THE_METHOD: grid[OF_THE_METHOD]}
    run = partial(_scores, data, make_splits(data, folds=FOLDS), store, engine)

    bases = {model: reference(model, methods[0]) for model in models}
    grids = {model: expand(base, shared) for model, base in bases.items()}
    scores = run(methods, [each for settings in grids.values() for each in settings], first)
    # What does well in general is among the last, too: a search must not make things worse.
    finalists = {
        model: list(dict.fromkeys([*_best(scores, methods, each, first.keep), bases[model]]))
        for model, each in grids.items()
    }
    scores = run(methods, [each for left in finalists.values() for each in left], last)
    chosen = {m: _best(scores, methods, left, last.keep)[0] for m, left in finalists.items()}

    names = {name for entry in grid for name in entry.split(",")}
    found: dict[str, dict[str, dict[str, Any]]] = {model: {} for model in models}
    for method in methods:
        ratios = {m: expand(s.with_(method=method), own) for m, s in chosen.items()}
        scores = run([method], [each for left in ratios.values() for each in left], last)
        for model, left in ratios.items():
            settings = _best(scores, [method], left, last.keep)[0]
            score = scores[settings]
            relevant = settings.relevant()
            picked = {name: relevant[name] for name in sorted(names & relevant.keys())}
            found[model][method] = {"settings": picked, "steady_validation_accuracy": score}
    return found


def _scores(
    data: PackedDataset,
    splits: Splits,
    store: Store,
    engine: Engine,
    methods: Sequence[str],
    settings: Sequence[Settings],
    rung: Rung,
) -> _Scores:
    """Run all settings with all methods on the folds of a rung; NaN where a run failed."""
    wanted = [each.with_(method=method) for method in methods for each in settings]
    study = Study(data, splits, 0, {})
    specs = {
        each: [
            study.spec(each.with_(epochs=rung.epochs), "holdout", *pair)
            for pair in splits.pairs[: rung.folds]
        ]
        for each in wanted
    }
    tasks = study.pending([spec for runs in specs.values() for spec in runs], store)
    with Progress(len(tasks), sum(map(len, specs.values())) - len(tasks)) as watcher:
        study.execute(tasks, store, engine, watcher)
    scores = {}
    for each, runs in specs.items():
        records = study.records(runs, store)
        done = [(record.spec, record.result) for record in records if record.result is not None]
        scores[each] = steady(done, folds=rung.folds)
    return scores


def _best(
    scores: _Scores, methods: Sequence[str], settings: Sequence[Settings], keep: int
) -> list[Settings]:
    """The settings with the best mean over the methods."""
    means = {
        place: fmean(scores[each.with_(method=method)] for method in methods)
        for place, each in enumerate(settings)
    }
    return [settings[place] for place in Halving.select(means, keep)]


def main() -> None:
    """Search on the datasets that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/search"))
    parser.add_argument("--graphs", type=int, default=None, help="search on about so many only")
    parser.add_argument("--layers", type=int, nargs="+", default=PAPER_GRID["layers"])
    parser.add_argument("--hidden", type=int, nargs="+", default=PAPER_GRID["hidden"])
    parser.add_argument("--keep", type=int, default=FIRST.keep, help="so many reach the last round")
    parser.add_argument("--epochs", type=int, default=LAST.epochs, help="of the last round")
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    grid = {**PAPER_GRID, "layers": arguments.layers, "hidden": arguments.hidden}
    first = replace(FIRST, keep=arguments.keep)
    last = replace(LAST, epochs=arguments.epochs)
    for name in arguments.datasets:
        with Store(arguments.folder) as store:
            data = packed(name, arguments.graphs)
            engine = LocalEngine(arguments.workers)
            found = search(data, store, engine, grid=grid, first=first, last=last)
        text = json.dumps({name: found}, indent=1)
        with atomically(arguments.folder / f"{name}.json") as unfinished:
            unfinished.write_text(text + "\n", encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
