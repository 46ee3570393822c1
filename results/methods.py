"""Compare all methods on four datasets: ``python results/methods.py --workers 2 --publish``.

Every method with its published defaults, GCN and GIN, ten folds, 200 epochs, held out, at the
recommended settings (one for each dataset and model, the same for all methods); the learning rate
is halved as much sooner as there are fewer epochs than 350. Runs are stored in a folder and are not
repeated: the same command continues. ``--publish`` copies them to ``results/methods`` after each
dataset and writes its ``README.md``: what came out, accuracy and log-loss with differences to
``none``, mean ranks, and cost. Without datasets to run, ``--tables`` makes the page again.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from publish import RESULTS, read, restore, save_runs

from ifmixup.components import METHODS, MODELS, resolve
from ifmixup.paper.reproduce import FOLDS, packed
from ifmixup.safe_io import atomically
from ifmixup.study.comparison import Comparison, Row
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.protocols import Pair
from ifmixup.study.ranks import MeanRank, mean_ranks
from ifmixup.study.run import Runner
from ifmixup.study.splits import make_splits
from ifmixup.study.statistics import HELPS, HURTS, Difference, paired_difference
from ifmixup.study.store import Store
from ifmixup.study.study import Candidate, Study, make_trial, save_studies
from ifmixup.training.packed import PackedDataset
from ifmixup.training.recommended import starting_point
from ifmixup.training.settings import Settings

FOUND = RESULTS / "methods"
KINDS = {
    "molecules": ("MUTAG", "PTC_MR"),
    "proteins": ("ENZYMES",),
    "social graphs": ("IMDB-BINARY",),
}
DATASETS = tuple(dataset for several in KINDS.values() for dataset in several)
USED, EPOCHS = ("gcn", "gin"), 200
BASELINE = "none"


def main() -> None:
    """Run what is missing, and publish it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/methods"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--tables", action="store_true", help="only write the page again")
    given = parser.parse_args()
    if not given.tables:
        restore(FOUND, given.folder)
        for dataset in given.datasets:
            run(packed(dataset), given.folder, LocalEngine(given.workers))
            if given.publish:
                save_runs(given.folder, FOUND)
                write(FOUND)
    elif FOUND.exists():
        write(FOUND)


def run(
    data: PackedDataset,
    folder: Path,
    engine: Engine,
    *,
    models: Sequence[str] = USED,
    methods: Sequence[str] | None = None,
    epochs: int = EPOCHS,
    folds: int = FOLDS,
) -> None:
    """Run every model with every method on a dataset; what is stored is not run again."""
    splits = make_splits(data, folds=folds, repeats=1)
    names = methods or METHODS.names()
    sooner = round(epochs * Settings().halve_every / Settings().epochs)
    changes = {"epochs": epochs, "halve_every": max(1, sooner)}
    trials = []
    for model in models:
        for method in names:
            found = starting_point(
                data, resolve("model", model), resolve("method", method), changes
            )
            plain = resolve("method", method).spec  # no ratio is recommended: published defaults
            candidate = Candidate(found.settings, found.model.spec, plain)
            against = None if method == BASELINE else f"{model} {BASELINE}"
            trials.append(
                make_trial(data, splits, [candidate], protocol="holdout", against=against)
            )
    study = Study(
        f"methods-{data.name}",
        f"{data.name}: all methods",
        data.metric,
        tuple(trials),
        config={"experiment": "methods", "dataset": data.name, "epochs": epochs},
    )
    with Store(folder) as store:
        save_studies(folder, [study])
        Runner(store, engine, [(data, splits)]).execute(study.specs())


def write(source: Path) -> None:
    """Write the page of the published runs."""
    with atomically(source / "README.md") as unfinished:
        unfinished.write_text(page(source), encoding="utf-8")


def page(source: Path) -> str:
    """What came out, the tables, and how it was made."""
    studies = read(source)
    assert studies is not None
    shown = {
        each.comparison.study.name.removeprefix("methods-"): each.comparison
        for each in studies.shown
    }
    found = {name: shown[name] for name in (*DATASETS, *shown) if name in shown}
    lines = ["# All methods compared", "", *findings(found), "", *rank_table(found), ""]
    for dataset, comparison in found.items():
        lines += table(dataset, comparison)
    done = [record.result for c in found.values() for record in c.runs if record.result]
    hours = sum(result.seconds for result in done) / 3600
    lines += [
        f"{len(done)} runs, {hours:.1f} core-hours, made by `python results/methods.py`, which "
        "says how. The settings were chosen on validation graphs: `results/search`.",
        "",
    ]
    return "\n".join(lines)


def findings(found: dict[str, Comparison]) -> list[str]:
    """Five sentences."""
    rows = [row for comparison in found.values() for row in comparison.rows]
    compared = [row for row in rows if row.verdict is not None]
    helps, hurts = ([r for r in compared if r.verdict == said] for said in (HELPS, HURTS))
    titles, ranks = ranked(found)
    order = sorted(range(len(titles)), key=lambda i: ranks[i].mean)
    best = order[0]
    sentences = [
        f"Of {len(compared)} comparisons with `none` on {_several(found)}, "
        f"{_counted(helps, 'helps')} and {_counted(hurts, 'hurts')}; in the others these folds "
        f"show no difference.",
        f"The best mean rank by accuracy has {titles[best]}, {_rank(ranks[best])} of "
        f"{len(titles)}; `none` has {_rank(ranks[titles.index(BASELINE)])}.",
        f"To try first: {_first(found)}.",
        _cost_sentence(rows),
        "These are few datasets, too few for a critical-difference diagram: intervals of ranks are "
        "wide, and what helps on your graphs only `ifmixup compare` tells.",
    ]
    return ["\n".join(sentences)]


def ranked(found: dict[str, Comparison], *, loss: bool = False) -> tuple[list[str], list[MeanRank]]:
    """The methods, and their mean ranks by accuracy or by log-loss."""
    names: list[str] = []
    scores = []
    for comparison in found.values():
        by_model: dict[str, dict[str, dict[Pair, float]]] = {}
        for row in comparison.rows:
            values = losses(row) if loss else row.reading.scores
            by_model.setdefault(row.trial.model, {})[row.trial.method] = dict(values)
        every = [each for methods in by_model.values() for each in methods.values()]
        pairs = sorted(set.intersection(*(set(each) for each in every)))
        names = names or list(next(iter(by_model.values())))
        block = [[[m[name][pair] for name in names] for m in by_model.values()] for pair in pairs]
        scores.append(np.array(block) * (-1 if loss else 1))
    titles = [_title(name) for name in names]
    return titles, mean_ranks(scores)


def losses(row: Row) -> dict[Pair, float]:
    """The log-loss on the test fold at the epoch that validation chose, by fold."""
    found = {(r.spec.repeat, r.spec.fold): r.result for r in row.records}
    return {pair: r.metrics["chosen_nll"] for pair, r in found.items() if r is not None}


def rank_table(found: dict[str, Comparison]) -> list[str]:
    """Mean ranks by accuracy and by log-loss, the best first."""
    titles, accuracy = ranked(found)
    _, loss = ranked(found, loss=True)
    order = sorted(range(len(titles)), key=lambda i: accuracy[i].mean)
    return [
        f"## Mean ranks over {', '.join(found)}",
        "",
        "1 is the best. In brackets the 95 % interval of a bootstrap over datasets and folds.",
        "",
        "| method | rank by accuracy | rank by log-loss |",
        "|---|--:|--:|",
        *(f"| {titles[i]} | {_rank(accuracy[i])} | {_rank(loss[i])} |" for i in order),
    ]


def table(dataset: str, comparison: Comparison) -> list[str]:
    """The lines of one dataset: a table for each model."""
    lines = []
    for model in dict.fromkeys(row.trial.model for row in comparison.rows):
        rows = [row for row in comparison.rows if row.trial.model == model]
        base = next(row for row in rows if row.trial.method == BASELINE)
        title = MODELS.title(rows[0].trial.candidates[0].model)
        lines += [
            f"## {dataset}, {title}",
            "",
            "Accuracy in % and log-loss on held-out folds; differences to `none` with 95 % "
            "intervals; the time of a run as a multiple of that of `none`, and of the fit.",
            "",
            "| method | accuracy | difference | log-loss | difference | verdict | time | fit |",
            "|---|--:|--:|--:|--:|---|--:|--:|",
        ]
        for row in rows:
            nll = losses(row)
            gap = paired_difference(nll, losses(base), row.trial.test_ratio)
            cells = [
                _title(row.trial.method),
                row.score_text(),
                row.difference_text() if row is not base else "",
                f"{np.mean(list(nll.values())):.3f}",
                _gap(gap) if row is not base else "",
                row.verdict or "",
                f"{_seconds(row) / _seconds(base):.1f}",
                "" if row.fit_seconds is None else f"{row.fit_seconds:.2g} s",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return lines


def _title(method: str) -> str:
    return METHODS.title(resolve("method", method).spec)


def _gap(gap: Difference) -> str:
    if math.isnan(gap.low):
        return f"{gap.mean:+.3f}"
    return f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"


def _rank(rank: MeanRank) -> str:
    return f"{rank.mean:.1f} [{rank.low:.1f}, {rank.high:.1f}]"


def _seconds(row: Row) -> float:
    """The mean seconds of a run without the fit, which not every run had to do."""
    results = [r.result for r in row.records if r.result is not None]
    fits = [each.fit_seconds or 0.0 for each in results]
    # Preparing includes a fit that did not come from the cache.
    spent = [
        each.seconds - (fit if each.prepare_seconds >= fit else 0.0)
        for each, fit in zip(results, fits, strict=True)
    ]
    return float(np.mean(spent))


def _several(found: dict[str, Comparison]) -> str:
    return f"{len(found)} dataset{'s' * (len(found) != 1)}"


def _counted(rows: list[Row], what: str) -> str:
    if not rows:
        return f"none {what}"
    names = ", ".join(
        f"{_title(r.trial.method)} ({r.trial.dataset}, {r.trial.model})" for r in rows
    )
    return f"{len(rows)} {what if len(rows) == 1 else what[:-1]} ({names})"


def _first(found: dict[str, Comparison]) -> str:
    """The method with the best mean rank on each kind of graphs."""
    told = []
    for kind, datasets in KINDS.items():
        mine = {name: found[name] for name in datasets if name in found}
        if mine:
            titles, ranks = ranked(mine)
            best = min(range(len(titles)), key=lambda i: ranks[i].mean)
            told.append(f"for {kind} {titles[best]} (rank {_rank(ranks[best])})")
    return "; ".join(told) or "nothing yet"


def _cost_sentence(rows: list[Row]) -> str:
    seconds: dict[str, list[float]] = {}
    for row in rows:
        seconds.setdefault(row.trial.method, []).append(_seconds(row))
    base = np.mean(seconds[BASELINE])
    ratio = {name: float(np.mean(each) / base) for name, each in seconds.items()}
    dearest = max(ratio, key=lambda name: ratio[name])
    cheap = sum(value <= 1.3 for name, value in ratio.items() if name != BASELINE)
    return (
        f"A run takes at most 1.3 times as long as one of `none` with {cheap} of "
        f"{len(ratio) - 1} methods; with {_title(dearest)} {ratio[dearest]:.1f} times."
    )


if __name__ == "__main__":
    main()
