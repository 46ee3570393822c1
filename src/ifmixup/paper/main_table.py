"""The table to read first: without and with ifMixup, published and ours, under both protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.published import published
from ifmixup.paper.table import interval
from ifmixup.study.markdown_table import markdown_table
from ifmixup.study.statistics import (
    HELPS,
    HURTS,
    Difference,
    holm,
    paired_difference,
    signed_rank,
    verdict,
)
from ifmixup.study.table_row import NOTE, UNKNOWN, percent

_PROTOCOLS = ("paper", "holdout")
_HEAD = (
    "dataset",
    "model",
    "published",
    "ours, as the paper reads it*",
    "ours, held out",
    "held out: with less without [95 %]",
    "folds x epochs",
)
_Pair = tuple[Cell, Cell]  # of none and of ifmixup


def main_table(cells: Sequence[Cell]) -> str:
    """Accuracies without → with ifMixup as Markdown, and below them what the tests say.

    Datasets and models of which no run is there are left out.
    """
    pairs = _pairs(cells)
    rows = []
    for model in ("gcn", "gin"):
        for dataset in EXPERIMENTS[model].datasets:
            mine = {p: pairs[dataset, model, p] for p in _PROTOCOLS if (dataset, model, p) in pairs}
            if mine:
                rows.append(_row(dataset, model, mine))
    told = [_told(pairs, protocol) for protocol in _PROTOCOLS]
    notes = [
        "Accuracy in %, without → with ifMixup.",
        f"\\* {NOTE}",
        *(text for text in told if text),
    ]
    return "\n".join([markdown_table(_HEAD, rows, names=2), "\n\n".join(notes)]) + "\n"


def _pairs(cells: Sequence[Cell]) -> dict[tuple[str, str, str], _Pair]:
    """Without and with ifMixup, by dataset, model and protocol."""
    without, with_ = (
        {
            (cell.dataset, cell.experiment, cell.protocol): cell
            for cell in cells
            if cell.experiment in ("gcn", "gin") and cell.variant == variant
        }
        for variant in ("none", "ifmixup")
    )
    return {place: (cell, with_[place]) for place, cell in without.items() if place in with_}


def _difference(pair: _Pair) -> Difference:
    without, with_ = pair
    return paired_difference(with_.reading.scores, without.reading.scores, with_.test_ratio)


def _row(dataset: str, model: str, mine: dict[str, _Pair]) -> tuple[str, ...]:
    printed = published(model)
    held = _difference(mine["holdout"]) if "holdout" in mine else None
    return (
        dataset,
        model.upper(),
        _arrow(printed[dataset, "none"].mean, printed[dataset, "ifmixup"].mean),
        *(_ours(mine.get(protocol)) for protocol in _PROTOCOLS),
        UNKNOWN if held is None else interval(held),
        _length(mine),
    )


def _length(mine: dict[str, _Pair]) -> str:
    """Folds and epochs, by protocol where they differ."""
    lengths = {
        protocol: f"{_difference(pair).pairs} x {min(cell.epochs for cell in pair)}"
        for protocol, pair in mine.items()
    }
    if len(set(lengths.values())) == 1:
        return next(iter(lengths.values()))
    return ", ".join(f"{length} {protocol}" for protocol, length in lengths.items())


def _ours(pair: _Pair | None) -> str:
    return UNKNOWN if pair is None else _arrow(*(cell.reading.mean for cell in pair))


def _arrow(without: float, with_: float) -> str:
    return f"{percent(without)} → {percent(with_)}"


def _told(pairs: dict[tuple[str, str, str], _Pair], protocol: str) -> str:
    """What the paired tests of a protocol say, their p-values adjusted for their number."""
    found = [_difference(pair) for place, pair in pairs.items() if place[2] == protocol]
    if not found:
        return ""
    adjusted = holm([difference.p_value for difference in found])
    said = [verdict(difference, p) for difference, p in zip(found, adjusted, strict=True)]
    mean = sum(difference.mean for difference in found) / len(found)
    higher, lower = (sum(sign * each.mean > 0 for each in found) for sign in (1, -1))
    name = {"paper": "As the paper reads it", "holdout": "Held out"}[protocol]
    return (
        f"{name}: {len(found)} comparisons. With ifMixup the accuracy is higher in {higher} and "
        f"lower in {lower}, by {percent(mean, sign=True)} points on average; the paired test, "
        f"corrected for the number of comparisons, says that it helps in {said.count(HELPS)} and "
        f"hurts in {said.count(HURTS)}. "
        f"The intervals are not corrected.{_over_datasets(pairs, protocol)}"
    )


def _over_datasets(pairs: dict[tuple[str, str, str], _Pair], protocol: str) -> str:
    """What the datasets say together, model by model; nothing where they are too few."""
    parts = []
    for model in ("gcn", "gin"):
        means = [
            _difference(pair).mean
            for place, pair in pairs.items()
            if place[1:] == (model, protocol)
        ]
        p_value = signed_rank(means)
        if not math.isnan(p_value):
            parts.append(f"p = {p_value:.2g} for {model.upper()} ({len(means)} datasets)")
    return f" Over the datasets (Wilcoxon's signed-rank test): {', '.join(parts)}." if parts else ""
