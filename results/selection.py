"""Run the winner of the experiment ``selection`` again: ``python results/selection.py``.

The setting that won on the test folds is trained with three fresh seeds on the same folds, and on
three fresh choices of folds. What it loses is what choosing it had gained by chance. The runs go
into the folder of ``ifmixup reproduce selection``, which must have all of its runs.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ifmixup.errors import InputError
from ifmixup.paper.reproduce import FOLDS, packed
from ifmixup.paper.selection import AGAIN, FRESH, selection
from ifmixup.study.comparison import Comparison
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.run import Runner
from ifmixup.study.splits import Splits, make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Study, Trial, load_studies, make_trial, save_studies
from ifmixup.training.packed import PackedDataset

TIMES = 3
FIRST_SEED = 100  # of the fresh ones; the experiment has 0, 1 and 2


def main() -> None:
    """Run what a folder does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/paper"))
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    trials: list[Trial] = []
    data: list[tuple[PackedDataset, Splits]] = []
    with Store(given.folder) as store:
        for study in load_studies(given.folder):
            if study.config.get("experiment") == "selection":
                comparison = Comparison(study, list(store.get(sorted(study.keys)).values()))
                for name in study.datasets:
                    mine, splits = again(comparison, name)
                    trials += mine
                    data += [(packed(name), splits)]
        if not trials:
            raise SystemExit(f"{given.folder} has no runs of the experiment selection.")
        made = Study(AGAIN, "The winner of selection, run again", "accuracy", tuple(trials))
        save_studies(given.folder, [made])
        Runner(store, LocalEngine(given.workers), data).execute(made.specs())


def again(comparison: Comparison, dataset: str) -> tuple[list[Trial], Splits]:
    """The trials that run the winner on a dataset again, and all folds that they have."""
    found = selection(comparison, dataset)
    if found is None:
        raise InputError(f"The runs of selection on {dataset} are not all done.")
    data = packed(dataset)
    first = make_splits(data, folds=FOLDS, repeats=1)
    fresh = [make_splits(data, folds=FOLDS, repeats=1, seed=FIRST_SEED + i) for i in range(TIMES)]
    cases = [(FRESH[0], first)] * TIMES + [(FRESH[1], splits) for splits in fresh]
    trials = [
        make_trial(
            data,
            splits,
            [found.winner],
            protocol="paper",
            seed=FIRST_SEED + number % TIMES,
            name=f"{name}, {number % TIMES}",
        )
        for number, (name, splits) in enumerate(cases)
    ]
    folds = tuple(fold for splits in (first, *fresh) for fold in splits.folds)
    return trials, replace(first, folds=folds)


if __name__ == "__main__":
    main()
