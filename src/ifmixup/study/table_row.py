"""One line of a table of results, and how its figures are written."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from ifmixup.study.statistics import Difference

NOTE = (
    "optimistic: the paper's protocol chooses the epoch, and the setting where there are several, "
    "on the test folds themselves, so that these numbers tend to be too high."
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
        mean: The mean accuracy, from 0 to 1.
        std_repeats: The standard deviation over repeats; NaN for one.
        std_folds: The standard deviation over folds.
        last: The mean accuracy of the last epoch.
        difference: To ``none``; None for ``none`` itself.
        verdict: What it says in plain words.
        runs: How many runs are behind the row.
        failed: How many should be, and are not.
        optimistic: Whether the test folds took part in choosing.
        adjusted_p: The p-value after Holm's correction, which the verdict follows from.
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

    def accuracy_text(self) -> str:
        """Mean and standard deviation over folds in per cent, with a star if optimistic."""
        spread = "" if math.isnan(self.std_folds) else f" ± {percent(self.std_folds)}"
        return f"{percent(self.mean)}{spread}{'*' if self.optimistic else ''}"

    def difference_text(self) -> str:
        """The difference to ``none`` in points, with its interval."""
        found = self.difference
        if found is None:
            return ""
        interval = (
            UNKNOWN if math.isnan(found.low) else f"{percent(found.low)}, {percent(found.high)}"
        )
        return f"{percent(found.mean, sign=True)} [{interval}]"


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
