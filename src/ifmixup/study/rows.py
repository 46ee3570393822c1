"""What a study found, as numbers: the one place that compares trials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from ifmixup.components import METHODS, MODELS
from ifmixup.study.baselines import Baseline, best_baseline
from ifmixup.study.numbers import UNKNOWN, difference_text, metric_text, p_text
from ifmixup.study.protocols import Pair, Reading, fold_spread, mean, read
from ifmixup.study.record import Record
from ifmixup.study.statistics import (
    BETTER,
    HELPS,
    HURTS,
    WORSE,
    Difference,
    Finding,
    Margin,
    judge,
    paired_difference,
)
from ifmixup.study.study import Candidate, Study, Trial
from ifmixup.training.run import RunResult
from ifmixup.training.task import (
    SCORES,
    difference_unit,
    is_fraction,
    signed,
    title_of,
)

_NAMES = ("dataset", "name", "model", "method", "protocol")


@dataclass(frozen=True)
class Row:
    """What was measured of one trial, and how it compares.

    Attributes:
        trial: The trial.
        reading: Its numbers, fold by fold.
        records: Its finished runs.
        difference: To the trial that it is compared with, on the same folds; None where there is
            none.
        adjusted_p: The p-value of the difference after Holm's correction over all differences of
            the study under this protocol. The interval has the level of its step of the
            correction, and the verdict follows from it.
        verdict: What the difference says, in plain words.
        best: Whether no other trial of the dataset and protocol has a better mean, of those with
            the fewest missing runs.
        size: By metric, what its numbers are rounded by: the smallest mean of the dataset's rows.
        margin: The largest difference that does not matter.
    """

    trial: Trial
    reading: Reading
    records: Sequence[Record]
    difference: Difference | None = None
    adjusted_p: float | None = None
    verdict: str | None = None
    best: bool = False
    size: Mapping[str, float] = field(default_factory=dict)
    margin: Margin | None = None

    @property
    def metric(self) -> str:
        """What its numbers are of."""
        return self.reading.metric

    @property
    def score(self) -> float:
        """Its mean, with the sign that makes more better."""
        return signed(self.reading.mean, self.reading.higher)

    @property
    def rank(self) -> tuple[bool, int, float, bool]:
        """What the best trial is the largest by: that it has a score; that no run is missing,
        because means over other folds cannot be compared; the score; and among equals that others
        are compared with it, because it is the simplest.
        """
        known = math.isfinite(self.score)
        return known, -self.failed, self.score, self.trial.against is None

    @property
    def failed(self) -> int:
        """How many runs should be there and are not."""
        return sum(self.reading.missing.values())

    @property
    def chosen(self) -> dict[Pair, Candidate]:
        """The setting that was chosen for each fold."""
        return {p: self.trial.candidates[c.candidate] for p, c in self.reading.chosen.items()}

    @property
    def label(self) -> str:
        """What a sentence calls it: ``gin with drop_edge``."""
        model, method = self.trial.model, self.trial.method
        return (
            f"{model} with {method}" if self.trial.name == f"{model} {method}" else self.trial.name
        )

    def chosen_results(self) -> list[RunResult]:
        """The runs that the number rests on: those of the chosen setting, fold by fold."""
        chosen = [
            self._results.get(self.trial.keys[self.reading.chosen[pair].candidate][index])
            for index, pair in enumerate(self.trial.pairs)
            if pair in self.reading.chosen
        ]
        return [result for result in chosen if result is not None]

    @cached_property
    def _results(self) -> dict[str, RunResult | None]:
        return {record.key: record.result for record in self.records}

    @property
    def fit_seconds(self) -> float | None:
        """How long fitting the method took per fold, on average; None where it fits nothing."""
        found = [result.fit_seconds for result in self.chosen_results()]
        known = [seconds for seconds in found if seconds is not None]
        return math.fsum(known) / len(known) if known else None

    def chosen_text(self) -> str:
        """What was chosen of a grid: ``num_layers 3 on 7 folds, 5 on 3``; empty without one."""
        if len(self.trial.candidates) == 1:
            return ""
        every = [candidate.values() for candidate in self.trial.candidates]
        names = [n for n in every[0] if len({repr(values.get(n)) for values in every}) > 1]
        parts = []
        for name in names:
            counts = Counter(_plain(each.values().get(name)) for each in self.chosen.values())
            (first, count), *others = counts.most_common()
            if not others:
                parts.append(f"{name} {first}")
                continue
            folds = f"on {count} fold{'s' * (count > 1)}"
            rest = "".join(f", {value} on {number}" for value, number in others)
            parts.append(f"{name} {first} {folds}{rest}")
        return "; ".join(parts)

    def mean_of(self, metric: str) -> float:
        """The mean of one of its metrics; NaN where it was not measured."""
        if metric == self.metric:
            return self.reading.mean
        return mean(self.reading.others.get(metric, {}))

    def text(self, value: float, *, sign: bool = False, metric: str | None = None) -> str:
        """A number of the metric: a fraction in per cent, an error in its own units."""
        of = metric or self.metric
        return metric_text(of, value, self.size.get(of, self.mean_of(of)), sign=sign)

    def score_text(self, *, over_repeats: bool = False) -> str:
        """Mean and standard deviation over folds, or over repeats where that is asked for and there
        are several, as the paper's; with a star if optimistic.
        """
        std = self.reading.std_over_repeats if over_repeats else math.nan
        std = self.reading.std_over_folds if math.isnan(std) else std
        spread = "" if math.isnan(std) else f" ± {self.text(std)}"
        return f"{self.text(self.reading.mean)}{spread}{'*' if self.reading.optimistic else ''}"

    def other_text(self, metric: str) -> str:
        """The mean of another metric."""
        return self.text(self.mean_of(metric), metric=metric)

    def difference_text(self) -> str:
        """The difference with its interval, in points if the metric is a fraction."""
        if self.difference is None:
            return ""
        size = self.size.get(self.metric, self.reading.mean)
        return difference_text(self.difference, self.metric, size, self.margin)

    def figures(self) -> dict[str, Any]:
        """Everything, unrounded, with None for what is not known."""
        found = self.difference
        return _known(
            {
                **{name: getattr(self.trial, name) for name in _NAMES},
                "metric": self.metric,
                "mean": self.reading.mean,
                "std_folds": self.reading.std_over_folds,
                "std_repeats": self.reading.std_over_repeats,
                "last": self.reading.last_mean,
                "against": self.trial.against,
                "difference": found and found.mean,
                **{name: getattr(found, name, None) for name in ("low", "high", "p_value")},
                "level": found and 1 - found.alpha,
                "adjusted_p": self.adjusted_p,
                "verdict": self.verdict,
                "pairs": found and found.pairs,
                "runs": self.reading.runs,
                "failed": self.failed,
                "undefined": len(self.reading.undefined),
                "epochs": self.trial.epochs,
                "fit_seconds": self.fit_seconds,
                "optimistic": self.reading.optimistic,
                "chosen": self.chosen_text() or None,
            }
        )


@dataclass(frozen=True)
class BaselineRow:
    """What a guess without the graph's structure gets."""

    baseline: Baseline
    metric: str
    size: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is."""
        return self.baseline.name

    def score_text(self, pairs: Collection[Pair] | None = None) -> str:
        """Mean and standard deviation over folds, by default all of them."""
        scores = self.baseline.scores(self.metric)
        if pairs is not None:
            scores = {pair: value for pair, value in scores.items() if pair in pairs}
        std = fold_spread(scores)
        spread = "" if math.isnan(std) else f" ± {self._text(std, self.metric)}"
        return f"{self._text(mean(scores), self.metric)}{spread}"

    def other_text(self, metric: str) -> str:
        """The mean of any metric."""
        return self._text(self.baseline.mean(metric), metric)

    def figures(self) -> dict[str, Any]:
        """What is known of it, by the names that :meth:`Row.figures` has."""
        scores = self.baseline.scores(self.metric)
        return _known(
            {
                "dataset": self.baseline.dataset,
                "name": self.name,
                "metric": self.metric,
                "mean": self.baseline.mean(self.metric),
                "std_folds": fold_spread(scores),
                "runs": len(scores),
            }
        )

    def _text(self, value: float, metric: str) -> str:
        return metric_text(metric, value, self.size.get(metric, self.baseline.mean(metric)))


@dataclass(frozen=True)
class Contrast:
    """Two trials, or a trial and a baseline without graphs, compared on the same folds."""

    first: str
    second: str
    dataset: str
    protocol: str
    finding: Finding
    metric: str
    size: float
    margin: Margin

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or why that cannot be said."""
        return self.finding.verdict

    def turned(self) -> Contrast:
        """The same with the sign of the second against the first."""
        turned = replace(self.finding, difference=self.finding.difference.turned())
        return replace(self, finding=turned)

    def difference_text(self) -> str:
        """The difference with its interval."""
        return difference_text(self.finding.difference, self.metric, self.size, self.margin)


def compare_trials(study: Study, records: Mapping[str, Record]) -> list[Row]:
    """Compare the trials of a study by its runs; trials without a finished run have no row.

    Each trial is compared with the one that it names, on the folds that both have. Holm's
    correction is over all differences of a protocol. Of equal settings the first in the grid wins.
    """
    done = {key: record.result for key, record in records.items() if record.result is not None}
    rows = [
        Row(trial, reading, [records[k] for keys in trial.keys for k in keys if k in records])
        for trial in study.trials
        if (
            reading := read(
                _results(trial, done), trial.protocol, trial.pairs, study.metric, trial.metrics
            )
        )
        is not None
    ]
    sizes = _sizes(study, rows)
    readings = {id(row.trial): row.reading for row in rows}
    for i, row in enumerate(rows):
        rows[i] = replace(row, size=sizes[row.trial.dataset], best=_is_best(row, rows))
        base = readings.get(id(study.against(row.trial)))
        if base is not None:
            difference = paired_difference(row.reading.scores, base.scores, row.trial.test_ratio)
            margin = margin_of(row.metric, base.mean, base.higher, study.margin)
            rows[i] = replace(rows[i], difference=difference, margin=margin)
    for protocol in study.protocols:
        family = [
            (i, row.difference, row.margin)
            for i, row in enumerate(rows)
            if row.trial.protocol == protocol and row.difference is not None and row.margin
        ]
        found = judge([each for _, each, _ in family], [margin for _, _, margin in family])
        for (i, _, _), each in zip(family, found, strict=True):
            rows[i] = replace(rows[i], **vars(each))
    return rows


def baseline_rows(study: Study, rows: Sequence[Row]) -> list[BaselineRow]:
    """The study's baselines without graphs, those of a dataset together."""
    sizes, metric = _sizes(study, rows), study.metric
    return [
        BaselineRow(each, metric, sizes.get(dataset, {}))
        for dataset in study.datasets
        for each in study.baselines
        if each.dataset == dataset and each.scores(metric)
    ]


def in_bold(guesses: Sequence[BaselineRow], rows: Sequence[Row]) -> set[int]:
    """Which rows of a table have the best number of their dataset and protocol: indices of the
    baselines and then the trials. A trial that a baseline beats is not among them.
    """
    found = set()
    scores = [
        (guess.baseline.dataset, signed(guess.baseline.mean(guess.metric), rows[0].reading.higher))
        for guess in (guesses if rows else ())
    ]
    for i, (dataset, score) in enumerate(scores):
        others = [row.score for row in rows if row.trial.dataset == dataset]
        others += [other for of, other in scores if of == dataset]
        if -math.inf < score == max(others):
            found.add(i)
    for i, row in enumerate(rows, start=len(guesses)):
        beaten = any(of == row.trial.dataset and score > row.score for of, score in scores)
        if row.best and not beaten:
            found.add(i)
    return found


def compare_models(study: Study, rows: Sequence[Row]) -> list[Contrast]:
    """Every two models of a dataset and protocol against each other, both with the same method:
    the one that the other methods are compared with. Holm's correction is over all pairs of a
    protocol.
    """
    found = []
    for protocol in study.protocols:
        pairs = [
            (one, other)
            for one, other in combinations((r for r in rows if r.trial.against is None), 2)
            if one.trial.protocol == other.trial.protocol == protocol
            and one.trial.data == other.trial.data
            and one.trial.method == other.trial.method
            and one.trial.model != other.trial.model
        ]
        pairs = [(a, b) if a.score >= b.score else (b, a) for a, b in pairs]
        found += _contrasts(study, pairs)
    return found


def compare_next(
    study: Study, best: Row, rows: Sequence[Row], models: Sequence[Contrast]
) -> Contrast | None:
    """The best trial of a dataset and protocol against the next best; None where it is alone.

    Where the table or ``models`` compares these two, that is the comparison: the same two trials
    never have two intervals. Else it is the best against each of the others, corrected for their
    number.
    """
    trial = best.trial
    others = [row for row in _rivals(best, rows) if row.trial is not trial]
    if not others:
        return None
    others.sort(key=lambda row: row.rank, reverse=True)
    after = others[0]
    if study.against(trial) is after.trial:
        return _contrast_of(best, after, best)
    if study.against(after.trial) is trial:
        return _contrast_of(best, after, after).turned()
    same = (trial.dataset, trial.protocol, best.label, after.label)
    for each in models:
        if (each.dataset, each.protocol, each.first, each.second) == same:
            return each
    return _contrasts(study, [(best, other) for other in others])[0]


def compare_baseline(study: Study, best: Row, rows: Sequence[Row]) -> list[Contrast]:
    """The best trial of a dataset and protocol, then each of the others, against the best baseline;
    empty where there is none.

    Holm's correction is over all of them, because the best is chosen by its mean on the same folds.
    """
    higher = best.reading.higher
    guess = best_baseline(study.baselines, best.trial.dataset, best.metric, higher)
    if guess is None:
        return []
    scores = guess.scores(best.metric)
    mine = [best, *(row for row in _rivals(best, rows) if row.trial is not best.trial)]
    differences = [
        paired_difference(row.reading.scores, scores, row.trial.test_ratio) for row in mine
    ]
    margin = margin_of(best.metric, guess.mean(best.metric), higher, study.margin)
    findings = judge(differences, [margin] * len(mine), (BETTER, WORSE))
    size = best.size.get(best.metric, best.reading.mean)
    where = best.trial.dataset, best.trial.protocol
    return [
        Contrast(row.label, guess.name, *where, found, best.metric, size, margin)
        for row, found in zip(mine, findings, strict=True)
    ]


def margin_of(metric: str, base: float, higher: bool, margin: float = 1.0) -> Margin:
    """The largest difference that does not matter: in points, for MCC and other scores in
    hundredths, and for errors in per cent of ``base``, the mean that is compared with.
    """
    if is_fraction(metric):
        name = f"{margin:g} point{'s' * (margin != 1)}"
        return Margin(margin / 100, name, higher)
    if metric in SCORES:
        return Margin(margin / 100, f"{margin / 100:g}", higher)
    return Margin(margin / 100 * abs(base), f"{margin:g} % of the {title_of(metric)}", higher)


def shown_metrics(study: Study, rows: Sequence[Row]) -> list[str]:
    """The metrics beside the one that decides: those of the study, and log-loss or RMSE, because
    mixing changes probabilities more than it changes the winner.
    """
    wanted = dict.fromkeys([*study.metrics[1:], "rmse" if study.of_values else "nll"])
    return [
        metric
        for metric in wanted
        if metric != study.metric and any(not math.isnan(row.mean_of(metric)) for row in rows)
    ]


def titles(trial: Trial) -> tuple[str, str]:
    """A trial's model and method as papers write them."""
    candidate = trial.candidates[0]
    return MODELS.title(candidate.model), METHODS.title(candidate.method)


def sentence(row: Row) -> str:
    """A comparison with the baseline in words."""
    assert row.difference is not None
    assert row.adjusted_p is not None
    trial = row.trial
    folds = {fold for _, fold in trial.pairs}
    return _said(
        f"{trial.name} on {trial.dataset} ({trial.protocol}): {row.verdict}",
        f"Difference to {trial.against or UNKNOWN} {row.difference_text()}",
        row.metric,
        row.reading.higher,
        row.adjusted_p,
        f"{row.difference.pairs} {'folds' if len(folds) > 1 else 'runs of one fold'}",
    )


def contrast_sentence(found: Contrast) -> str:
    """A comparison of two models in words."""
    return _said(
        f"{found.first} against {found.second} on {found.dataset} ({found.protocol}): "
        f"{found.verdict}",
        f"Difference {found.difference_text()}",
        found.metric,
        found.margin.higher_is_better,
        found.finding.adjusted_p,
        f"{found.finding.difference.pairs} runs each",
    )


def _said(what: str, difference: str, metric: str, higher: bool, p: float, pairs: str) -> str:
    unit = difference_unit(metric)
    if not higher:
        unit = f"in {unit}, where lower is better"
    return f"{what}. {difference} {unit}, Holm-adjusted {p_text(p)}, {pairs}."


def _contrasts(study: Study, pairs: Sequence[tuple[Row, Row]]) -> list[Contrast]:
    differences = [
        paired_difference(a.reading.scores, b.reading.scores, a.trial.test_ratio) for a, b in pairs
    ]
    margins = [
        margin_of(a.metric, b.reading.mean, b.reading.higher, study.margin) for a, b in pairs
    ]
    return [
        Contrast(
            a.label,
            b.label,
            a.trial.dataset,
            a.trial.protocol,
            found,
            a.metric,
            a.size.get(a.metric, a.reading.mean),
            margin,
        )
        for (a, b), found, margin in zip(
            pairs, judge(differences, margins, (BETTER, WORSE)), margins, strict=True
        )
    ]


def _contrast_of(first: Row, second: Row, compared: Row) -> Contrast:
    """Two trials by the difference of the one that is ``compared`` with the other."""
    difference, margin = compared.difference, compared.margin
    assert difference is not None
    assert margin is not None
    assert compared.adjusted_p is not None
    assert compared.verdict is not None
    # the first is the better of the two: what tells them apart says that it is better
    said = BETTER if compared.verdict in (HELPS, HURTS) else compared.verdict
    return Contrast(
        first.label,
        second.label,
        first.trial.dataset,
        first.trial.protocol,
        Finding(difference, compared.adjusted_p, said),
        first.metric,
        first.size.get(first.metric, first.reading.mean),
        margin,
    )


def _sizes(study: Study, rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """By dataset and metric, the smallest mean: all numbers of a column have its decimals."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        mine = found.setdefault(row.trial.dataset, {})
        for metric in {row.metric, *row.reading.others}:
            size = abs(row.mean_of(metric))
            if size and math.isfinite(size):
                mine[metric] = min(size, mine.get(metric, math.inf))
    return found


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _results(trial: Trial, done: Mapping[str, RunResult]) -> list[dict[Pair, RunResult]]:
    """The finished runs of each candidate, by (repeat, fold)."""
    return [
        {pair: done[key] for pair, key in zip(trial.pairs, keys, strict=True) if key in done}
        for keys in trial.keys
    ]


def _rivals(row: Row, rows: Sequence[Row]) -> list[Row]:
    """The trials of the same dataset and protocol, itself included."""
    trial = row.trial
    return [r for r in rows if (r.trial.data, r.trial.protocol) == (trial.data, trial.protocol)]


def _is_best(row: Row, rows: Sequence[Row]) -> bool:
    """Whether no trial of the same dataset and protocol ranks higher."""
    return math.isfinite(row.score) and row.rank[:3] == max(
        rival.rank[:3] for rival in _rivals(row, rows)
    )
