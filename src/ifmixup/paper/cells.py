"""Counts over the cells of the paper's two main tables: how near ours are, and what mixing does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ifmixup.data import NAMES
from ifmixup.paper.experiments import EXPERIMENTS, WHOLE_NODES
from ifmixup.paper.reproduce import FOLDS, experiment_of
from ifmixup.paper.tables import NOT_RUN, Line, lines
from ifmixup.study.comparison import Comparison, Row
from ifmixup.study.numbers import INTERVAL, UNKNOWN, percent
from ifmixup.study.statistics import HELPS, HURTS
from ifmixup.study.table import Table

_TABLES = ("gcn", "gin")
_NEAR = 0.01  # a point
_FAR_TOO_SURE = 5.0  # a log-loss that only wrong and very large logits give
_PROTOCOLS = ("paper", "last", "holdout")


@dataclass(frozen=True)
class Count:
    """How many of some cells have a property."""

    name: str
    yes: int
    all: int

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of Wilson's 95 % interval of the share, as if cells were independent."""
        from scipy.stats import binomtest

        if not self.all:
            return math.nan, math.nan
        found = binomtest(self.yes, self.all).proportion_ci(method="wilson")
        return float(found.low), float(found.high)


def counts(comparisons: Sequence[Comparison]) -> list[Count]:
    """The counts over all cells that were run in full; others are not counted."""
    found = {c.study.name: lines(c) for c in _main(comparisons)}
    every = [line for mine in found.values() for line in mine]
    near = [
        line.to_published >= -_NEAR - 1e-9
        for line in every
        if line.trial.protocol == "paper" and line.to_published is not None and _is_whole(line.row)
    ]
    made = [_count("paper protocol: within a point of the published number, or above", near)]
    for name in ("ifmixup", WHOLE_NODES):
        for protocol in _PROTOCOLS:
            pairs = [pair for mine in found.values() for pair in _pairs(mine, name, protocol)]
            what = f"{protocol}: {name}"
            higher = (with_.reading.mean >= none.reading.mean for none, with_ in pairs)
            made.append(_count(f"{what} at or above none", higher))
            losses = ((log_loss(none), log_loss(with_)) for none, with_ in pairs)
            lower = (with_ < none for none, with_ in losses)
            made.append(_count(f"{what} has a lower log-loss than none", lower))
    return [each for each in made if each.all]


def far_below(comparisons: Sequence[Comparison]) -> list[Line]:
    """The cells more than two standard errors below the published number, which want a reason.

    The standard error is that of our mean over folds and the published one over three repeats.
    """
    return [
        line
        for comparison in _main(comparisons)
        for line in lines(comparison)
        if line.trial.protocol == "paper" and _is_far_below(line)
    ]


def counts_table(comparisons: Sequence[Comparison]) -> Table | None:
    """The counts as a table; None without a cell."""
    found = counts(comparisons)
    if not found:
        return None
    rows = [
        (
            each.name,
            f"{each.yes} of {each.all}",
            "[{}, {}]".format(*(percent(end) for end in each.interval)),
        )
        for each in found
    ]
    below = far_below(comparisons)
    said = [
        "Intervals are Wilson's, of the share in %, as if cells were independent. They are not: "
        "variants share folds, and GCN and GIN share datasets.",
        "More than two standard errors below the published number: "
        + (", ".join(_name(line) for line in below) or "none"),
    ]
    return Table(("cells", "count", "95 %"), rows, names=1, notes=said)


def readings_table(comparisons: Sequence[Comparison]) -> Table | None:
    """Which reading of the paper is the default: the one with the lower validation log-loss.

    It is chosen on the validation graphs of the held-out runs alone; no test number takes part. The
    log-loss of a cell is the mean over its folds at the epoch that validation accuracy chose. The
    reading that is lower in more cells is the default; with as many on both sides node weights are.
    """
    losses = [
        (
            whole.trial.dataset,
            comparison.study.name.upper(),
            log_loss(weighted, "validation"),
            log_loss(whole, "validation"),
        )
        for comparison in _main(comparisons)
        for whole, weighted in _pairs(lines(comparison), "ifmixup", "holdout", base=WHOLE_NODES)
    ]
    if not losses:
        return None
    lower = sum(weighted < whole for *_, weighted, whole in losses)
    higher = sum(weighted > whole for *_, weighted, whole in losses)
    winner = "node weights" if lower >= higher else "whole nodes"
    rows = []
    for dataset, model, weighted, whole in losses:
        difference = f"{weighted - whole:+.3f}".replace("-", "−")
        rows.append((dataset, model, f"{weighted:.3f}", f"{whole:.3f}", difference))
    said = [
        f"Validation log-loss of ifMixup, held out. Node weights are lower in {lower} of "
        f"{len(rows)} cells and higher in {higher}: the default is {winner}."
    ]
    return Table(
        ("dataset", "model", "node weights", "whole nodes", "difference"),
        rows,
        names=2,
        notes=said,
    )


def held_out_table(comparisons: Sequence[Comparison]) -> Table | None:
    """Without and with ifMixup, held out: accuracy and log-loss of both models, by dataset; None
    without a dataset that was run in full.

    The first note is the answer in one sentence.
    """
    found = {
        c.study.name: _by_dataset(_pairs(lines(c), "ifmixup", "holdout"))
        for c in _main(comparisons)
    }
    every = [pair for mine in found.values() for pair in mine.values()]
    if not every:
        return None
    head = ["dataset"]
    for name in found:
        head += [f"{name.upper()}: accuracy, %", f"Δ {INTERVAL}", "log-loss"]
    rows = [
        [dataset, *(text for mine in found.values() for text in _cell(mine.get(dataset)))]
        for dataset in NAMES
        if any(dataset in mine for mine in found.values())
    ]
    return Table(head, rows, names=1, notes=[_answer(every), _about(found)])


def _about(found: Mapping[str, Mapping[str, tuple[Row, Row]]]) -> str:
    """How to read the table, and which of its log-losses are of logits that are far too large."""
    said = [
        "Without → with ifMixup. Δ: difference in points, with intervals that are corrected for "
        "all comparisons of the table, and so wider than for one. Differences in log-loss are not "
        "tested."
    ]
    counted = {
        dataset: len(none.reading.scores)
        for mine in found.values()
        for dataset, (none, _) in mine.items()
    }
    fewer = [f"{n} folds on {dataset}" for dataset, n in counted.items() if n < FOLDS]
    said += [f"Ten folds, but {' and '.join(fewer)}."] if fewer else []
    for model, mine in found.items():
        for dataset, pair in mine.items():
            if max(row.mean_of("nll") for row in pair) > _FAR_TOO_SURE:
                after = " → ".join(f"{_last(row, 'scaled_nll'):.2f}" for row in pair)
                said.append(
                    f"{model.upper()}'s logits on {dataset} are far too large: divided by a "
                    f"temperature that fits the validation graphs, their log-loss is {after}."
                )
    return " ".join(said)


def temperature_table(comparisons: Sequence[Comparison]) -> Table | None:
    """Log-loss without and with ifMixup, held out, before and after temperature scaling; None
    without a dataset that was run in full.

    The temperature of a run is the one that fits its validation graphs best after the last epoch.
    """
    rows, lower = [], 0
    for comparison in _main(comparisons):
        for pair in _pairs(lines(comparison), "ifmixup", "holdout"):
            plain, scaled = ([_last(row, name) for row in pair] for name in ("nll", "scaled_nll"))
            if all(map(math.isfinite, (*plain, *scaled))):
                lower += scaled[1] < scaled[0]
                trial = pair[0].trial
                texts = [f"{value:.3f}" for value in (*plain, *scaled)]
                rows.append((trial.dataset, comparison.study.name.upper(), *texts))
    if not rows:
        return None
    said = (
        "Log-loss on the test graphs after the last epoch. Scaled: the logits are divided by the "
        "temperature that fits the validation graphs best. After scaling, log-loss is lower with "
        f"ifMixup in {lower} of {len(rows)} cells."
    )
    head = ("dataset", "model", "none", "ifmixup", "none, scaled", "ifmixup, scaled")
    return Table(head, rows, names=2, notes=[said])


def _last(row: Row, name: str) -> float:
    """The mean of what runs measured after their last epoch; NaN where one did not."""
    values = [r.result.metrics.get(name, math.nan) for r in row.records if r.result is not None]
    return fmean(values) if values else math.nan


def _by_dataset(pairs: Iterable[tuple[Row, Row]]) -> dict[str, tuple[Row, Row]]:
    return {none.trial.dataset: (none, with_) for none, with_ in pairs}


def _cell(pair: tuple[Row, Row] | None) -> tuple[str, str, str]:
    """Accuracy, its difference and log-loss, without → with ifMixup."""
    if pair is None:
        return NOT_RUN, UNKNOWN, UNKNOWN
    with_ = pair[1]
    return (
        " → ".join(percent(row.reading.mean) for row in pair),
        with_.difference_text() or UNKNOWN,
        " → ".join(f"{row.mean_of('nll'):.2f}" for row in pair),
    )


def _answer(pairs: Sequence[tuple[Row, Row]]) -> str:
    """What ifMixup does to accuracy and log-loss on held-out graphs, in one sentence."""
    change = fmean(with_.reading.mean - none.reading.mean for none, with_ in pairs)
    helps, hurts = (sum(with_.verdict == what for _, with_ in pairs) for what in (HELPS, HURTS))
    lower = sum(with_.mean_of("nll") < none.mean_of("nll") for none, with_ in pairs)
    significant = f"{helps} gains and {hurts} losses are" if helps or hurts else "no change is"
    running = "" if len(pairs) == len(_TABLES) * len(NAMES) else "; more runs are under way"
    return (
        f"On held-out graphs, ifMixup changes accuracy by {percent(change, sign=True)} points on "
        f"average over {len(pairs)} pairs of dataset and model, and {significant} significant; "
        f"log-loss is lower with it in {lower} of the {len(pairs)}, and higher in "
        f"{len(pairs) - lower}{running}."
    )


def log_loss(row: Row, part: str = "test") -> float:
    """The mean log-loss of a part of the graphs, at the epochs that the row's protocol reads; NaN
    without curves.
    """
    by_key = {record.key: record.result for record in row.records}
    found = []
    for index, pair in enumerate(row.trial.pairs):
        point = row.reading.chosen.get(pair)
        result = None if point is None else by_key.get(row.trial.keys[point.candidate][index])
        if point is not None and result is not None and f"{part}_loss" in result.curves:
            found.append(result.curves[f"{part}_loss"][point.epoch - 1])
    return fmean(found) if found else math.nan


def _main(comparisons: Sequence[Comparison]) -> Iterator[Comparison]:
    """Of each of the two tables the study with the most runs."""
    for name in _TABLES:
        mine = [c for c in comparisons if experiment_of(c.study) is EXPERIMENTS[name]]
        if mine:
            yield max(mine, key=lambda each: len(each.runs))


def _pairs(
    found: Iterable[Line], name: str, protocol: str, base: str = "none"
) -> list[tuple[Row, Row]]:
    """The rows of ``none``, or another base, and of a variant, dataset by dataset, where both were
    run in full.
    """
    rows = {(x.trial.dataset, x.trial.protocol, x.trial.name): x.row for x in found}
    both = (
        (row, rows.get((dataset, protocol, name)))
        for (dataset, read, variant), row in rows.items()
        if (read, variant) == (protocol, base)
    )
    return [
        (first, other)
        for first, other in both
        if first is not None and other is not None and _is_whole(first) and _is_whole(other)
    ]


def _is_whole(row: Row | None) -> bool:
    """Whether no fold is missing: a mean over some of them says too little."""
    return row is not None and not row.reading.missing


def _is_far_below(line: Line) -> bool:
    if line.row is None or line.published is None or line.to_published is None:
        return False
    folds = len(line.row.reading.scores)
    ours = line.row.reading.std_over_folds / math.sqrt(folds) if folds > 1 else math.nan
    theirs = (line.published.std or 0.0) / math.sqrt(3)
    return line.to_published < -2 * math.hypot(ours, theirs)


def _name(line: Line) -> str:
    trial = line.trial
    return f"{trial.dataset} {trial.model.upper()} {trial.name}"


def _count(name: str, cells: Iterable[bool]) -> Count:
    found = list(cells)
    return Count(name, sum(found), len(found))
