"""The answer: what a study found and what to do, as one paragraph in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import TYPE_CHECKING, Any

from ifmixup.study.deploy import chosen_candidate, train_line
from ifmixup.study.numbers import metric_text, p_text
from ifmixup.study.protocols import needs_validation
from ifmixup.study.rows import Contrast, Row, compare_baseline, compare_next
from ifmixup.study.statistics import (
    BETTER,
    HELPS,
    HURTS,
    INCONCLUSIVE,
    LEAST_FOLDS,
    NO_DIFFERENCE,
    TOO_FEW,
    Difference,
)
from ifmixup.training.task import difference_unit, is_fraction, signed, title_of

if TYPE_CHECKING:
    from ifmixup.study.comparison import Comparison

_MOST = 3  # comparisons that are listed one by one
_SHOWN = ("learning_rate", "batch_size", "hidden_channels", "num_layers", "dropout")


def answer(found: Comparison, config: Mapping[str, Any] | None = None) -> str:
    """What :meth:`Comparison.answer` returns."""
    study = found.study
    protocol = "holdout" if "holdout" in study.protocols else study.protocols[0]
    rows = [row for row in found.rows if row.trial.protocol == protocol]
    if not rows:
        return "No run has finished yet."
    if len({row.trial.dataset for row in rows}) > 1:
        return " ".join([*_over_datasets(rows), *_power(rows, found)])
    best = max(rows, key=lambda row: row.rank)
    if not math.isfinite(best.score):
        return (
            f"The {title_of(best.metric)} is not defined on any fold, so nothing can be said. "
            f"Choose another metric, or a split whose test graphs have all classes."
        )
    said = [*_best(found, best), *_augmentation(rows), *_models(found, protocol)]
    said += [*_power(rows, found), *_settings(found, best)]
    line = train_line(study, best, config)
    if line:
        said.append("To train it on all graphs:")
    return " ".join(said) + (f"\n{line}" if line else "")


def first_sentence(text: str) -> str:
    """The first sentence of an answer; a period in a name does not end it."""
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text, maxsplit=1)[0]


def _best(found: Comparison, best: Row) -> list[str]:
    """Which trial is best, whether it can be told from the next, and from a guess."""
    title = title_of(best.metric)
    percent = " %" * is_fraction(best.metric)
    score = f"{best.score_text().rstrip('*')}{percent}"
    lower = " (lower is better)" * (not best.reading.higher)
    guesses = compare_baseline(found.study, best, found.rows)
    said = []
    if guesses and guesses[0].verdict != BETTER:
        said.append(_not_beaten(found, best, guesses))
    star = ", which is optimistic" * best.reading.optimistic
    said.append(f"Best on {best.trial.dataset} is {best.label}: {title} {score}{lower}{star}.")
    said += _incomplete(best, found.rows)
    if guesses and guesses[0].verdict == BETTER:
        said.append(f"It beats the {guesses[0].second}{_by(guesses[0])}.")
    after = compare_next(found.study, best, found.rows, found.models)
    if after is not None:
        said.append(_next(after))
    return said


def _incomplete(best: Row, rows: Sequence[Row]) -> list[str]:
    """Which trials lack runs, so that their means cannot be compared with those of others."""
    trial = best.trial
    less = [
        f"{row.label} lacks {row.failed} of {row.failed + row.reading.runs} runs"
        for row in rows
        if (row.trial.data, row.trial.protocol) == (trial.data, trial.protocol)
        and row.failed > best.failed
    ]
    if not less:
        return []
    more = f", and {len(less) - _MOST} more lack some" if len(less) > _MOST else ""
    return [
        f"Not ranked, because means over other folds cannot be compared: "
        f"{', '.join(less[:_MOST])}{more}."
    ]


def _by(better: Contrast) -> str:
    """By how much the first is better; an error in words, so that no sign can be misread."""
    if better.margin.higher_is_better:
        return f", by {better.difference_text()} {difference_unit(better.metric)}"
    less = better.turned().difference_text().replace("+", "")
    points = " points" * is_fraction(better.metric)
    return f": its {title_of(better.metric)} is lower by {less}{points}"


def _apart(pair: Contrast) -> str:
    return f"{pair.difference_text()} {difference_unit(pair.metric)}"


def _not_beaten(found: Comparison, best: Row, guesses: Sequence[Contrast]) -> str:
    """That the best model is not better than a baseline, or that this cannot be said."""
    guess = guesses[0]
    row = next(each for each in found.baselines if each.name == guess.second)
    mean = row.score_text(best.reading.scores)
    gains = [signed(each.finding.difference.mean, best.reading.higher) for each in guesses]
    if not any(gain > 0 for gain in gains):
        lead = "No model beats"
    elif any(each.verdict == BETTER for each in guesses):
        lead = "It is unclear whether the best model beats"
    else:
        lead = "It is unclear whether any model beats"
    return (
        f"{lead} the {guess.second}: {title_of(best.metric)} {mean} against "
        f"{best.score_text().rstrip('*')} for the best "
        f"model, {best.label} (difference {_apart(guess)})."
    )


def _next(other: Contrast) -> str:
    if other.verdict == BETTER:
        return f"It is better than the next best, {other.second}{_by(other)}."
    by = _apart(other)
    if other.verdict == TOO_FEW:
        return f"There are too few runs to compare it with the next best, {other.second}: {by}."
    if other.verdict == INCONCLUSIVE:
        return f"Its difference to the next best, {other.second}, is inconclusive: {by}."
    return f"There is {other.verdict} to the next best, {other.second}: {by}."


def _augmentation(rows: Sequence[Row]) -> list[str]:
    """Whether the methods helped, by how much."""
    compared = [row for row in rows if row.difference is not None]
    if not compared:
        return []
    by_verdict = _counted(compared)
    if HELPS in by_verdict and HURTS in by_verdict:
        lead = "Augmentation helps in some cases and hurts in others"
    elif HELPS in by_verdict:
        lead = "Augmentation helps"
    elif HURTS in by_verdict:
        lead = "Augmentation hurts"
    elif set(by_verdict) == {TOO_FEW}:
        lead = "There are too few runs to say whether augmentation helps"
    elif INCONCLUSIVE in by_verdict or TOO_FEW in by_verdict:
        lead = "It is unclear whether augmentation helps"
    else:
        lead = f"Augmentation makes {next(iter(by_verdict))}"
    told = [row for row in compared if row.verdict in (HELPS, HURTS)]
    told = compared if len(compared) <= _MOST else told[: 2 * _MOST]
    if not told:  # the one that comes nearest to helping, of those with an interval
        told = [max(compared, key=_gain)]
    parts = [f"{_effect(row)}, {row.verdict}" for row in told]
    others = _counted([row for row in compared if row not in told])
    parts += [f"for {count} of {len(compared)}, {verdict}" for verdict, count in others.items()]
    return [f"{lead} ({'; '.join(parts)})."]


def _gain(row: Row) -> tuple[bool, float]:
    assert row.difference is not None
    return not math.isnan(row.difference.low), signed(row.difference.mean, row.reading.higher)


def _effect(row: Row) -> str:
    assert row.adjusted_p is not None
    p = "" if math.isnan(row.adjusted_p) else f", Holm-adjusted {p_text(row.adjusted_p)}"
    return f"{row.label}: {row.difference_text()} {difference_unit(row.metric)}{p}"


def _models(found: Comparison, protocol: str) -> list[str]:
    """Which models can be told apart."""
    pairs = [each for each in found.models if each.protocol == protocol]
    better = [each for each in pairs if each.verdict == BETTER]
    told = pairs if len(pairs) <= _MOST else better[:_MOST]
    parts = []
    for each in told:
        if each.verdict == BETTER:
            parts.append(f"{each.first} is better than {each.second}{_by(each)}")
        else:
            parts.append(f"{each.first} against {each.second}: {_apart(each)}, {each.verdict}")
    rest = len(pairs) - len(told)
    if rest:
        apart = len(better) - len([each for each in told if each.verdict == BETTER])
        parts.append(f"{apart or 'none'} of {rest} more pairs of models differ")
    return [f"Models: {'; '.join(parts)}."] if parts else []


def _power(rows: Sequence[Row], found: Comparison) -> list[str]:
    """What these data can show at all."""
    whole = [row for row in rows if not row.failed] or rows
    differences = [row.difference for row in whole if row.difference is not None]
    if not differences:
        differences = [each.finding.difference for each in found.models]
    known = [each for each in differences if not math.isnan(each.detectable())]
    if any(each.pairs < LEAST_FOLDS for each in differences):
        return [f"Fewer than {LEAST_FOLDS} runs cannot show a difference; more repeats can."]
    if not known or len({row.trial.dataset for row in rows}) > 1:
        return []
    row, unit = rows[0], difference_unit(rows[0].metric)
    known.sort(key=Difference.detectable)
    size, hardest = row.size.get(row.metric, math.nan), known[-1]
    ends = [metric_text(row.metric, each.detectable(), size) for each in (known[0], hardest)]
    several = f" to {ends[1]} {unit}, depending on the comparison," * (ends[0] != ends[1])
    said = (
        f"With {hardest.pairs} runs per trial, a difference of {ends[0]}{several or f' {unit}'} is "
        f"detected with a probability of 80 %"
    )
    margin = next((r.margin for r in rows if r.margin is not None), None)
    if margin is None:
        return [f"{said}."]
    if hardest.detectable() <= margin.size:
        return [f"{said}, which is less than {margin.name}."]
    everywhere = " in each of them" * bool(several)
    folds = len({fold for _, fold in row.trial.pairs})
    repeats = hardest.repeats_for(margin.size, folds)
    if repeats is None:
        return [
            f"{said}; to detect {margin.name}{everywhere} you need more graphs: repeats use the "
            f"same graphs again."
        ]
    return [
        f"{said}; to detect {margin.name}{everywhere} you need about {repeats} repeats "
        f"(--repeats {repeats})."
    ]


def _settings(found: Comparison, best: Row) -> list[str]:
    """Which settings the best trial had, where they are from, and what they were by fold."""
    trial, count = best.trial, len(best.trial.candidates)
    origin = found.study.origins.get(trial.name, "")
    values = chosen_candidate(best).values()
    shown = ", ".join(f"{name} {values[name]}" for name in _SHOWN if values.get(name) is not None)
    if count > 1:
        by = "validation graphs, fold by fold," if trial.protocol == "holdout" else "the test folds"
        said = f"Its settings were chosen on {by} from a grid of {count}: {best.chosen_text()}"
        said += f"; the others are {origin}" * bool(origin)
    else:
        said = f"Its settings are {origin or 'those of the study'}, the same on every fold: {shown}"
    if needs_validation(trial.protocol) and best.reading.chosen:
        epochs = [choice.epoch for choice in best.reading.chosen.values()]
        few, most, middle = min(epochs), max(epochs), median_low(epochs)
        chosen = f"{few} to {most} of {trial.epochs}, median {middle}"
        said += "; epochs chosen on validation graphs: "
        said += f"{few} of {trial.epochs}" if few == most else chosen
    else:
        said += f"; {trial.epochs} epochs"
    return [f"{said}."]


def _over_datasets(rows: Sequence[Row]) -> list[str]:
    """What each trial does on several datasets."""
    groups: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows:
        if row.difference is not None:
            groups.setdefault((row.trial.name, row.trial.against), []).append(row)
    said = []
    for (name, against), mine in groups.items():
        short = ((verdict.partition(":")[0], count) for verdict, count in _counted(mine).items())
        counts = ", ".join(f"{verdict} on {count}" for verdict, count in short)
        said.append(f"{name} against {against}: {counts} of {len(mine)} datasets.")
    return said or [f"{len(rows)} trials on several datasets; nothing is compared."]


def _counted(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each verdict, the clearest first."""
    order = (HELPS, HURTS, NO_DIFFERENCE, INCONCLUSIVE, TOO_FEW)
    said = [row.verdict for row in rows if row.verdict is not None]
    found: dict[str, int] = {}
    for start in order:
        for verdict in said:
            if verdict.startswith(start):
                found[verdict] = said.count(verdict)
    return found
