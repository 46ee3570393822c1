"""Tables of studies: ours beside the published numbers. All numbers are those of the rows of
:func:`~ifmixup.study.comparison.compare_trials`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ifmixup.paper.experiments import EXPERIMENTS, WHOLE_NODES
from ifmixup.paper.published import Published, published
from ifmixup.paper.reproduce import experiment_of
from ifmixup.study.comparison import BASELINES, OPTIMISTIC, Comparison, metric_title, notes
from ifmixup.study.numbers import INTERVAL, UNKNOWN, percent
from ifmixup.study.rows import BaselineRow, Row, in_bold, titles
from ifmixup.study.statistics import HELPS, HURTS, signed_rank
from ifmixup.study.study import Study, Trial
from ifmixup.study.table import Table, TerminalRow, TerminalTable
from ifmixup.training.task import is_fraction, title_of

NOT_RUN = "not run"
_DIFFERENCE = "difference to"  # a column, until its title is known
_NAMES = ("dataset", "model", "method", "protocol")
_MODELS = ("gcn", "gin")  # of the main table
_MAIN_HEAD = (
    "dataset",
    "model",
    "published",
    "ours, paper protocol*",
    "ours, held out",
    f"held-out Δ (with − without) {INTERVAL}",
    "folds x epochs",
)
_PROTOCOLS = {"paper": "Paper protocol", "holdout": "Held out"}

_Pair = tuple[Row, Row]  # of none and of ifmixup


@dataclass(frozen=True)
class Line:
    """A trial of a study, its numbers if a run has finished, and the paper's if it printed any."""

    trial: Trial
    row: Row | None
    published: Published | None

    @property
    def to_published(self) -> float | None:
        """Ours − published."""
        if self.published is None or self.row is None:
            return None
        return self.row.reading.mean - self.published.mean


def lines(comparison: Comparison) -> list[Line]:
    """All trials of a study in its order, those without a finished run, too."""
    rows = {id(row.trial): row for row in comparison.rows}
    of_paper = experiment_of(comparison.study)
    printed = {} if of_paper is None else published(of_paper.name)
    # The paper prints one number for ifMixup, which we compare with both of its readings.
    names = {WHOLE_NODES: "ifmixup"}
    return [
        Line(t, rows.get(id(t)), printed.get((t.dataset, names.get(t.name, t.name))))
        for t in comparison.study.trials
    ]


def study_table(comparison: Comparison) -> Table:
    """The table of a study: what guesses without graphs get, then one row per trial.

    An experiment of the paper has the columns dataset, variant, protocol, ours, published; any
    other study dataset, model, method, protocol, and the metric that decides.
    """
    study, found = comparison.study, lines(comparison)
    of_paper = experiment_of(study) is not None
    compared = any(line.row and line.row.difference for line in found)
    names = ("dataset", "variant", "protocol") if of_paper else _NAMES
    head = [*names, score_title(comparison)]
    head += ["published", "difference"] * any(line.published for line in found)
    head += [title_of(metric) for metric in _beside(comparison)]
    head += ["at last epoch"]
    head += [_DIFFERENCE, "verdict"] * compared
    head += ["chosen"] * any(line.row and line.row.chosen_text() for line in found)
    head += ["runs x epochs"]
    texts = [_guess_texts(guess, comparison) for guess in comparison.baselines]
    before = len(texts)
    texts += [_texts(line, comparison) for line in found]
    rows = [[each.get(name, UNKNOWN) for name in head] for each in texts]
    best = in_bold(comparison.baselines, comparison.rows)
    bold = {(i, len(names)) for i in best if i < before}
    first = {id(row): i for i, row in enumerate(comparison.rows, start=before)}
    bold |= {
        (before + i, len(names)) for i, line in enumerate(found) if first.get(id(line.row)) in best
    }
    starts = {i for i in range(1, len(found)) if found[i].trial.data != found[i - 1].trial.data}
    title = difference_title(comparison)
    return Table(
        [title if name == _DIFFERENCE else name for name in head],
        rows,
        names=len(names),
        title=study.title,
        notes=table_notes(comparison),
        bold=bold,
        rules={before + i for i in ({0} if before else set()) | starts},
        prose=("verdict", "chosen"),
    )


def difference_title(comparison: Comparison) -> str:
    """The head of the column of differences: to ``none``, or to what else is compared with."""
    return f"to {comparison.reference} {INTERVAL}"


def study_latex(comparison: Comparison, title: str) -> str:
    """The table of a study for a paper: proper names, and no prose."""
    if experiment_of(comparison.study) is None:
        return f"% {' '.join(title.split())}\n{comparison.table('latex')}"
    proper = {t.name: titles(t)[1] for t in comparison.study.trials if t.name == t.method}
    made = replace(study_table(comparison), title=title)
    return made.latex(lambda text: proper.get(text, text))


def score_title(comparison: Comparison) -> str:
    """What the column of the metric that decides is called."""
    if experiment_of(comparison.study) is not None:
        return "ours"
    return f"{metric_title(comparison.rows)} ± folds"


def table_notes(comparison: Comparison) -> list[str]:
    """What must be read with the numbers of a study."""
    rows = comparison.rows
    repeated = any(not math.isnan(row.reading.std_over_repeats) for row in rows)
    spread = "folds"
    if repeated and experiment_of(comparison.study) is not None:
        spread = "repeats, as the paper's, or over folds where there is one repeat"
    title = f"{metric_title(rows)}, mean ± standard deviation over {spread}."
    ours = "ours: " * (experiment_of(comparison.study) is not None)
    said = [f"{ours}{title}" if ours else f"{title[0].upper()}{title[1:]}", *notes(rows)]
    missing = sum(line.row is None for line in lines(comparison))
    if missing:
        said.append(f"{missing} of {len(comparison.study.trials)} trials are not run yet.")
    return [*said, *comparison.study.notes]


def rich_table(comparison: Comparison, only: Study | None = None) -> TerminalTable:
    """The table for a terminal: rows under the name of their dataset and protocol.

    Only the trials of a part of the study are shown if ``only`` is given.
    """
    made = study_table(comparison)
    asked = comparison.study if only is None else only
    shown = {(trial.dataset, trial.protocol, trial.name) for trial in asked.trials}
    used = [
        i
        for i, name in enumerate(made.head)
        if name not in ("dataset", "protocol", "at last epoch", "verdict")
        and any(row[i] not in ("", UNKNOWN) for row in made.rows)
    ]
    bold = {i for i, _ in made.bold}
    before = len(comparison.baselines)
    rows = [
        TerminalRow((guess.baseline.dataset, BASELINES), [made.rows[i][j] for j in used])
        for i, guess in enumerate(comparison.baselines)
    ]
    rows += [
        TerminalRow(
            (f"{trial.dataset} {trial.protocol}",),
            [made.rows[i][j] for j in used],
            "bold" if i in bold else "",
        )
        for i, trial in enumerate(comparison.study.trials, start=before)
        if (trial.dataset, trial.protocol, trial.name) in shown
    ]
    names = {k for k, i in enumerate(used) if i < made.names}
    return TerminalTable(
        [made.head[i].replace(" [", "\n[").replace("x ", "x\n") for i in used],
        rows,
        "\n".join(made.notes),
        made.title,
        wraps={k for k, i in enumerate(used) if made.head[i] == "chosen"},
        left=names,
    )


@dataclass(frozen=True)
class Effect:
    """A trial against the one that it is compared with, a row per dataset of a study."""

    name: str
    against: str
    protocol: str
    rows: Sequence[Row]

    @property
    def mean(self) -> float:
        """The mean difference, every dataset with the same weight; NaN where there is none.

        Errors of several datasets have different units, and no mean.
        """
        if not is_fraction(self.rows[0].metric) and len(self.rows) > 1:
            return math.nan
        return fmean(known) if (known := _means(self.rows)) else math.nan

    def count(self, verdict: str) -> int:
        """The number of datasets with this verdict."""
        return sum(row.verdict == verdict for row in self.rows)


def effects(rows: Iterable[Row]) -> list[Effect]:
    """What each trial does on all datasets, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        trial = row.trial
        if row.difference is not None and trial.against is not None:
            groups.setdefault((trial.name, trial.against, trial.protocol), []).append(row)
    return [Effect(*key, mine) for key, mine in groups.items()]


def main_table(comparisons: Sequence[Comparison]) -> Table | None:
    """Without and with ifMixup, published and ours, under both protocols; None without runs.

    Datasets and models without runs are left out. Of several studies of a model the one with the
    most runs is shown.
    """
    pairs: dict[str, dict[str, dict[str, _Pair]]] = {}  # by model, protocol and dataset
    for model in _MODELS:
        several = [c for c in comparisons if experiment_of(c.study) is EXPERIMENTS[model]]
        if several:
            largest = max(several, key=lambda each: len(each.runs))
            pairs[model] = {protocol: _pairs(largest, protocol) for protocol in _PROTOCOLS}
    rows = [
        _main_row(model, dataset, mine)
        for model, found in pairs.items()
        for dataset in EXPERIMENTS[model].datasets
        if (mine := {p: by_data[dataset] for p, by_data in found.items() if dataset in by_data})
    ]
    if not rows:
        return None
    told = [_told(name, {m: f[p] for m, f in pairs.items()}) for p, name in _PROTOCOLS.items()]
    said = ["Accuracy in %, without → with ifMixup.", f"* {OPTIMISTIC}", *filter(None, told)]
    return Table(_MAIN_HEAD, rows, names=2, notes=said)


def _beside(comparison: Comparison) -> list[str]:
    """The metrics beside the one that decides; calibration too in the paper's experiments."""
    found = comparison.beside
    if experiment_of(comparison.study) is None or "ece" in found:
        return found
    measured = any(not math.isnan(row.mean_of("ece")) for row in comparison.rows)
    return [*found, *["ece"] * measured]


def _texts(line: Line, comparison: Comparison) -> dict[str, str]:
    """What is known of a line, by column."""
    trial, row, printed = line.trial, line.row, line.published
    texts = {name: str(getattr(trial, name)) for name in _NAMES} | {"variant": trial.name}
    if printed is not None:
        std = "" if printed.std is None else f" ± {percent(printed.std)}"
        texts["published"] = f"{percent(printed.mean)}{std}"
    score = score_title(comparison)
    if row is None:
        return texts | {score: NOT_RUN}
    if line.to_published is not None:
        texts["difference"] = percent(line.to_published, sign=True)
    return texts | {
        score: row.score_text(over_repeats=score == "ours"),
        **{title_of(metric): row.other_text(metric) for metric in _beside(comparison)},
        "at last epoch": row.text(row.reading.last_mean),
        _DIFFERENCE: row.difference_text(),
        "verdict": row.verdict or "",
        "chosen": row.chosen_text(),
        "runs x epochs": f"{row.reading.runs} x {trial.epochs}",
    }


def _guess_texts(guess: BaselineRow, comparison: Comparison) -> dict[str, str]:
    """What is known of a guess without graphs, by column."""
    empty = dict.fromkeys(("method", "protocol", "at last epoch", "verdict", "chosen"), "")
    return empty | {
        "dataset": guess.baseline.dataset,
        "model": guess.name,
        "variant": guess.name,
        score_title(comparison): guess.score_text(),
        **{title_of(metric): guess.other_text(metric) for metric in _beside(comparison)},
        _DIFFERENCE: "",
        "runs x epochs": "",
    }


def _pairs(comparison: Comparison, protocol: str) -> dict[str, _Pair]:
    """The rows without and with ifMixup, by dataset."""
    found = {
        (row.trial.dataset, row.trial.name): row
        for row in comparison.rows
        if row.trial.protocol == protocol
    }
    return {
        dataset: (row, found[dataset, "ifmixup"])
        for (dataset, name), row in found.items()
        if name == "none" and (dataset, "ifmixup") in found
    }


def _main_row(model: str, dataset: str, mine: dict[str, _Pair]) -> tuple[str, ...]:
    printed = published(model)
    return (
        dataset,
        model.upper(),
        " → ".join(percent(printed[dataset, name].mean) for name in ("none", "ifmixup")),
        *(
            " → ".join(percent(row.reading.mean) for row in mine[p]) if p in mine else NOT_RUN
            for p in _PROTOCOLS
        ),
        mine["holdout"][1].difference_text() if "holdout" in mine else UNKNOWN,
        _length(mine),
    )


def _length(mine: dict[str, _Pair]) -> str:
    """Folds and epochs, by protocol where they differ."""
    lengths = {
        protocol: f"{with_.difference.pairs if with_.difference else 0} x {with_.trial.epochs}"
        for protocol, (_, with_) in mine.items()
    }
    if len(set(lengths.values())) == 1:
        return next(iter(lengths.values()))
    return ", ".join(f"{length} {protocol}" for protocol, length in lengths.items())


def _told(name: str, pairs: dict[str, dict[str, _Pair]]) -> str:
    """What the paired tests of a protocol say."""
    rows = [with_ for found in pairs.values() for _, with_ in found.values()]
    means = _means(rows)
    if not means:
        return ""
    higher, lower = (sum(sign * mean > 0 for mean in means) for sign in (1, -1))
    helps, hurts = (sum(row.verdict == what for row in rows) for what in (HELPS, HURTS))
    return (
        f"{name}: {len(means)} comparisons. With ifMixup the accuracy is higher in {higher} and "
        f"lower in {lower}, by {percent(fmean(means), sign=True)} points on average; the paired "
        f"test, corrected for all comparisons of a model's table, says that it helps in {helps} "
        f"and hurts in {hurts}.{_over_datasets(pairs)}"
    )


def _means(rows: Iterable[Row]) -> list[float]:
    """The mean differences that are known."""
    found = [row.difference.mean for row in rows if row.difference is not None]
    return [value for value in found if not math.isnan(value)]


def _over_datasets(pairs: dict[str, dict[str, _Pair]]) -> str:
    """What the datasets say together, by model; nothing if they are too few."""
    parts = []
    for model, found in pairs.items():
        means = _means(with_ for _, with_ in found.values())
        p_value = signed_rank(means)
        if not math.isnan(p_value):
            parts.append(f"p = {p_value:.2g} for {model.upper()} ({len(means)} datasets)")
    return f" Over the datasets (Wilcoxon's signed-rank test): {', '.join(parts)}." if parts else ""
