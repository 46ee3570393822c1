"""One line of a table of results, and how its figures are written."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from ifmixup.study.statistics import Difference
from ifmixup.training.task import is_fraction

NOTE = (
    "optimistic: the paper's protocol chooses the epoch, and the setting where there are several, "
    "on the test folds themselves, so that these numbers tend to be too good."
)
UNKNOWN = "–"


@dataclass(frozen=True)
class Row:
    """What a table says of one method.

    Attributes:
        dataset: The dataset's name.
        model: The model's.
        method: The method's.
        protocol: How the numbers were read: ``holdout`` or ``paper``.
        mean: The mean of the metric; an accuracy is from 0 to 1.
        std_repeats: The standard deviation over repeats; NaN for one.
        std_folds: The standard deviation over folds.
        last: The mean of the last epoch.
        difference: To ``none``; None for ``none`` itself.
        verdict: What it says in plain words.
        runs: How many runs are behind the row.
        failed: How many should be, and are not.
        optimistic: Whether the test folds took part in choosing.
        adjusted_p: The p-value after Holm's correction, which the verdict follows from.
        metric: What the numbers are of.
        undefined: On how many folds it is not defined.
    """

    dataset: str
    model: str
    method: str
    protocol: str
    mean: float
    std_repeats: float
    std_folds: float
    last: float
    difference: Difference | None
    verdict: str | None
    runs: int
    failed: int
    optimistic: bool
    adjusted_p: float | None = None
    metric: str = "accuracy"
    undefined: int = 0

    def figures(self) -> dict[str, Any]:
        """All of it, unrounded, with None for what is not known."""
        values = asdict(self)
        found = values.pop("difference") or {}
        values["difference"] = found.get("mean")
        values |= {name: found.get(name) for name in ("low", "high", "p_value", "pairs")}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }

    def text(self, value: float, *, sign: bool = False) -> str:
        """A number of the metric: a fraction in per cent, an error in its own units."""
        return metric_text(self.metric, value, self.mean, sign=sign)

    def score_text(self) -> str:
        """Mean and standard deviation over folds, with a star if optimistic."""
        spread = "" if math.isnan(self.std_folds) else f" ± {self.text(self.std_folds)}"
        return f"{self.text(self.mean)}{spread}{'*' if self.optimistic else ''}"

    def difference_text(self) -> str:
        """The difference to ``none`` with its interval, in points if the metric is a fraction."""
        found = self.difference
        if found is None:
            return ""
        interval = (
            UNKNOWN if math.isnan(found.low) else f"{self.text(found.low)}, {self.text(found.high)}"
        )
        return f"{self.text(found.mean, sign=True)} [{interval}]"


def metric_text(metric: str, value: float, size: float, *, sign: bool = False) -> str:
    """A number of a metric: a fraction in per cent, an error with the decimals ``size`` needs."""
    if is_fraction(metric):
        return percent(value, sign=sign)
    return number(value, size, sign=sign)


def percent(value: float, *, sign: bool = False) -> str:
    """A fraction in per cent with one decimal, rounded to the nearest.

    Halves go to the even digit, of the decimal number that a person sees: 0.8935 is 89.4, though
    the computer's 0.8935 is a little less. A rounded zero has no sign.
    """
    if not math.isfinite(value):
        return UNKNOWN
    exact = Decimal(repr(float(value))) * 100
    rounded = exact.quantize(Decimal("0.1"), rounding=ROUND_HALF_EVEN)
    if rounded == 0:
        return "0.0"
    before = "−" if rounded < 0 else "+" if sign else ""
    return f"{before}{abs(rounded)}"


def number(value: float, size: float, *, sign: bool = False) -> str:
    """A number with as many decimals as ``size`` needs to show three digits that count.

    A mean, its deviation and a difference to it are then written alike.
    """
    if not math.isfinite(value):
        return UNKNOWN
    large = math.floor(math.log10(abs(size))) if math.isfinite(size) and size else 0
    text = f"{abs(value):.{max(0, 2 - large)}f}"
    if not float(text):
        return text
    return f"{'−' if value < 0 else '+' if sign else ''}{text}"
