"""What each setting of the grid does, without and with ifMixup, on average over all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ifmixup.study.markdown_table import markdown_table
from ifmixup.study.protocols import Run
from ifmixup.study.steady import second_half
from ifmixup.study.table_row import percent
from ifmixup.training import Settings

FACTORS = ("learning_rate", "hidden", "batch_size", "dropout", "layers")


@dataclass(frozen=True)
class GridEffect:
    """The settings of a grid that agree in one value.

    Attributes:
        model: The model.
        factor: The name of the setting; empty for the whole grid.
        value: Its value.
        without: The mean accuracy with ``none``.
        with_: The mean accuracy with ``ifmixup``.
        better: For how many settings ``ifmixup`` has the higher accuracy.
        settings: How many settings there are.
    """

    model: str
    factor: str
    value: float | None
    without: float
    with_: float
    better: int
    settings: int


def grid_effects(runs: Sequence[Run]) -> list[GridEffect]:
    """The effects by model: of the whole grid first, then of each value that was not fixed.

    Nothing is chosen, so that validation and test graphs count alike: the accuracy of a run is the
    mean of both over the second half of its epochs.

    Args:
        runs: Runs of the same folds and epochs; settings that only one of the two methods has are
            left out.
    """
    by_method: dict[str, dict[Settings, list[float]]] = {"none": {}, "ifmixup": {}}
    for spec, result in runs:
        if spec.settings.method in by_method:
            curves = [result.curves[f"{part}_accuracy"] for part in ("validation", "test")]
            accuracy = fmean(fmean(second_half(curve)) for curve in curves)
            shared = spec.settings.with_(method="none")
            by_method[spec.settings.method].setdefault(shared, []).append(accuracy)
    without, with_ = by_method["none"], by_method["ifmixup"]
    pairs = {s: (fmean(without[s]), fmean(with_[s])) for s in without if s in with_}
    found = []
    for model in sorted({settings.model for settings in pairs}):
        mine = {s: pair for s, pair in pairs.items() if s.model == model}
        found.append(_effect(model, "", None, list(mine.values())))
        for factor in FACTORS:
            values = sorted({getattr(settings, factor) for settings in mine})
            for value in values if len(values) > 1 else ():
                same = [pair for s, pair in mine.items() if getattr(s, factor) == value]
                found.append(_effect(model, factor, value, same))
    return found


def to_markdown(dataset: str, effects: Sequence[GridEffect]) -> str:
    """The effects as a table."""
    head = ("model", "setting", "without", "with ifMixup", "difference", "better with")
    rows = [
        (
            each.model.upper(),
            "all" if each.value is None else f"{each.factor.replace('_', ' ')} {each.value:g}",
            percent(each.without),
            percent(each.with_),
            percent(each.with_ - each.without, sign=True),
            f"{each.better} of {each.settings}",
        )
        for each in effects
    ]
    return f"### {dataset}\n\n{markdown_table(head, rows, names=2)}"


def _effect(
    model: str, factor: str, value: float | None, pairs: Sequence[tuple[float, float]]
) -> GridEffect:
    return GridEffect(
        model=model,
        factor=factor,
        value=value,
        without=fmean(without for without, _ in pairs),
        with_=fmean(with_ for _, with_ in pairs),
        better=sum(with_ > without for without, with_ in pairs),
        settings=len(pairs),
    )
