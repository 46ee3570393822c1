"""How a metric is drawn: a fraction in per cent, an error in its own units."""

from __future__ import annotations

from ifmixup.training.task import TITLES, difference_unit, higher_is_better, is_fraction


def factor(metric: str) -> float:
    """What a value is multiplied by before it is drawn."""
    return 100.0 if is_fraction(metric) else 1.0


def axis(metric: str) -> str:
    """What an axis of values is called."""
    return f"{TITLES[metric]}, %" if is_fraction(metric) else TITLES[metric]


def difference_axis(metric: str, other: str) -> str:
    """What an axis of differences to ``other`` is called."""
    way = "" if higher_is_better(metric) else " (less is better)"
    return f"{difference_unit(metric)} more than {other}{way}"
