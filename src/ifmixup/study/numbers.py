"""Numbers as text: what stands in tables, verdicts, answers and reports."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal

from ifmixup.study.statistics import ALPHA, Difference, Margin
from ifmixup.training.task import is_fraction

UNKNOWN = "–"
INTERVAL = "[95 %, Holm]"
"""What heads a column of differences with their intervals."""

_LARGEST = 1e15  # from here on a number is written with an exponent
_MOST_DECIMALS = 3  # more than usual, where fewer would contradict the verdict


def metric_text(
    metric: str, value: float, size: float, *, sign: bool = False, more: int = 0
) -> str:
    """A number of a metric: a fraction in per cent, an error with the decimals ``size`` needs, and
    so many ``more``.
    """
    if is_fraction(metric):
        return percent(value, sign=sign, decimals=1 + more)
    return number(value, size, sign=sign, more=more)


def difference_text(
    found: Difference,
    metric: str = "accuracy",
    size: float = math.nan,
    margin: Margin | None = None,
) -> str:
    """A difference and its interval: ``+1.2 [−0.4, +2.8]``; a fraction is written in points,
    another metric with the decimals that ``size`` needs, such as the mean itself.

    An end that is near zero or near the margin gets more decimals, because the verdict depends on
    which side it is on.
    """
    known = math.isfinite(found.low) and math.isfinite(found.high)
    ends = (found.low, found.high) if known else ()
    limits = (0.0,) if margin is None else (0.0, margin.size, -margin.size)
    for more in range(_MOST_DECIMALS + 1):
        texts = [metric_text(metric, v, size, sign=True, more=more) for v in (found.mean, *ends)]
        unit = 100 if is_fraction(metric) else 1
        shown = [float(text.replace("−", "-")) / unit for text in texts[1:]]
        if _same_sides(zip(ends, shown, strict=True), limits):
            break
    return f"{texts[0]} [{', '.join(texts[1:]) or UNKNOWN}]"


def p_text(p: float) -> str:
    """``p = 0.034``: two digits that count, more where it would be rounded to 0.05."""
    if math.isnan(p):
        return "p = unknown"
    if p < 0.0001:
        return "p < 0.0001"
    digits = next((d for d in (2, 3, 4, 5) if (float(f"{p:.{d}g}") < ALPHA) == (p < ALPHA)), 6)
    return f"p = {p:.{digits}g}"


def percent(value: float, *, sign: bool = False, decimals: int = 1) -> str:
    """A fraction in per cent, rounded to the nearest.

    Halves go to the even digit of the decimal number that a person sees: 0.8935 is 89.4, though
    the computer's 0.8935 is a little less. A rounded zero has no sign.
    """
    if not math.isfinite(value):
        return UNKNOWN
    exact = Decimal(repr(float(value))) * 100
    if abs(exact) >= _LARGEST:
        return f"{'−' if value < 0 else '+' if sign else ''}{abs(exact):.{decimals}e}"
    rounded = exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN)
    if rounded == 0:
        return f"{0:.{decimals}f}"
    before = "−" if rounded < 0 else "+" if sign else ""
    return f"{before}{abs(rounded)}"


def number(value: float, size: float, *, sign: bool = False, more: int = 0) -> str:
    """A number with as many decimals as ``size`` needs to show three digits that count, and so
    many ``more``.

    A mean, its deviation and a difference to it are then written alike.
    """
    if not math.isfinite(value):
        return UNKNOWN
    large = math.floor(math.log10(abs(size))) if math.isfinite(size) and size else 0
    text = f"{abs(value):.{max(0, 2 - large) + more}f}"
    if abs(value) >= _LARGEST:
        text = f"{abs(value):.2e}"
    if not float(text):
        return text
    return f"{'−' if value < 0 else '+' if sign else ''}{text}"


def _same_sides(pairs: Iterable[tuple[float, float]], limits: Iterable[float]) -> bool:
    """Whether what is shown is on the same side of each limit as the value itself."""
    # An end on the margin is within it, as it is for the verdict; rounding there is let pass.
    return all(
        (value > limit) == (shown > limit) and (value < limit) == (shown < limit)
        for value, shown in pairs
        for limit in limits
        if abs(value - limit) > 1e-12
    )
