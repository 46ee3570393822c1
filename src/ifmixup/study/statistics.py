"""Whether a method makes a difference: paired, corrected, and said in plain words."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ifmixup.errors import InputError
from ifmixup.study.protocols import Pair

HELPS = "helps"
HURTS = "hurts"
BETTER, WORSE = "better", "worse"  # of a model, where a method helps or hurts
NO_DIFFERENCE = "no difference larger than"  # and then the margin
INCONCLUSIVE = "inconclusive: the interval includes zero"
TOO_FEW = "too few runs"

ALPHA = 0.05  # of all differences together: adjusted p-values below it count
POWER = 0.8  # how often a difference of the smallest size that is looked for is found
LEAST_FOLDS = 5  # fewer may differ clearly by chance, and t with one degree of freedom would say so
MOST_REPEATS = 1000  # that are worth a thought
_EQUAL = 1e-12  # accuracies are fractions of whole numbers: what is nearer is rounding
_FEWEST_DATASETS = 5


@dataclass(frozen=True)
class Difference:
    """How much more of the metric one trial has than another on the same folds.

    Attributes:
        mean: The mean of the folds' differences.
        low: The lower end of its interval; NaN where there is none.
        high: The upper end.
        p_value: The two-sided p-value of no difference, not adjusted; NaN where there is none.
        pairs: The number of folds.
        spread: The standard deviation of the folds' differences (ddof = 1).
        test_ratio: Test graphs by training graphs.
        alpha: The interval is of 1 − alpha.
    """

    mean: float
    low: float
    high: float
    p_value: float
    pairs: int
    spread: float = math.nan
    test_ratio: float = 0.0
    alpha: float = ALPHA

    def at(self, alpha: float) -> Difference:
        """The same difference with the interval of 1 − ``alpha``."""
        reach = math.nan
        if self.pairs > 1 and self.spread == 0:
            # The sign test's interval of the median, once there are folds enough for one.
            reach = 0.0 if 2.0 ** (1 - self.pairs) < alpha else math.nan
        elif self.pairs > 1:
            from scipy import stats

            reach = float(stats.t.isf(alpha / 2, self.pairs - 1)) * self._error(self.pairs)
        return replace(self, low=self.mean - reach, high=self.mean + reach, alpha=alpha)

    def turned(self) -> Difference:
        """The same difference of the second trial to the first."""
        return replace(self, mean=-self.mean, low=-self.high, high=-self.low)

    def detectable(self, pairs: int | None = None) -> float:
        r"""The smallest difference that so many folds would show with a probability of 80 %.

        .. math:: (t_{1 - \alpha/2} + t_{0.8}) \sqrt{(1/k + n_{test}/n_{train}) \, s^2}

        With k folds (by default its own) and k − 1 degrees of freedom. NaN where the folds show
        no spread.
        """
        k = self.pairs if pairs is None else pairs
        if k < 2 or not self.spread > 0:
            return math.nan
        from scipy import stats

        steps = stats.t.isf([self.alpha / 2, 1 - POWER], k - 1)
        return float(steps.sum()) * self._error(k)

    def repeats_for(self, wanted: float, folds: int) -> int | None:
        """How many repeats of ``folds`` folds would show a difference of the size ``wanted``.

        None where no number of repeats would: they use the same graphs again, and what these
        graphs cannot show, only more graphs can.
        """
        repeats = range(1, MOST_REPEATS + 1)  # the more, the smaller the detectable difference
        first = bisect_left(
            repeats, True, key=lambda each: self.detectable(max(2, each * folds)) <= wanted
        )
        return repeats[first] if first < MOST_REPEATS else None

    def _error(self, pairs: int) -> float:
        return math.sqrt(1 / pairs + self.test_ratio) * self.spread


@dataclass(frozen=True)
class Margin:
    """What matters of a metric: the largest difference that does not, that difference in a
    sentence, and whether more of the metric is better.
    """

    size: float = 0.01
    name: str = "1 point"
    higher_is_better: bool = True


@dataclass(frozen=True)
class Finding:
    """A difference among others: its interval and p-value by Holm's correction, and in words."""

    difference: Difference
    adjusted_p: float
    verdict: str


def paired_difference(
    method: Mapping[Pair, float], none: Mapping[Pair, float], test_ratio: float
) -> Difference:
    r"""The corrected resampled t-test of Nadeau and Bengio (2003).

    Folds share training graphs, so their differences :math:`d_i` are not independent and the
    plain t-test finds differences that are not there. With k differences, mean :math:`\bar{d}` and
    variance :math:`s^2` (ddof = 1):

    .. math:: t = \bar{d} \Big/ \sqrt{(1/k + n_{test}/n_{train}) \, s^2},
              \qquad k - 1 \text{ degrees of freedom}

    Where all differences are equal, :math:`s^2 = 0` and t does not exist. The p-value is then
    that of the sign test, :math:`2^{1-k}`, or 1 where all differences are zero, and the interval
    is the sign test's: the one value, once :math:`2^{1-k} < \alpha`; with fewer folds there is
    none. (Zero would be the limit of t; two small folds that happen to agree would then be proof.)

    Args:
        method: The method's metric by (repeat, fold).
        none: The same of ``none``. Folds that only one of the two has are left out.
        test_ratio: :math:`n_{test}/n_{train}`: 1 / (folds − 1) in a cross-validation.
    """
    if not 0 <= test_ratio < math.inf:
        raise InputError(
            f"test_ratio is n_test / n_train, such as 1/9 for 10 folds; got {test_ratio}."
        )
    both = [method[pair] - none[pair] for pair in sorted(method.keys() & none.keys())]
    differences = np.array([value for value in both if math.isfinite(value)])
    k = len(differences)
    mean = math.fsum(differences) / k if k else math.nan
    found = Difference(mean, math.nan, math.nan, math.nan, k, test_ratio=test_ratio)
    if k < 2:
        return found
    if np.ptp(differences) <= _EQUAL:
        mean = 0.0 if abs(mean) <= _EQUAL else mean
        p_value = 2.0 ** (1 - k) if mean else 1.0
        return replace(found, mean=mean, p_value=p_value, spread=0.0).at(ALPHA)
    from scipy import stats

    found = replace(found, spread=float(np.std(differences, ddof=1)))
    p_value = float(2 * stats.t.sf(abs(mean) / found._error(k), k - 1))
    return replace(found, p_value=p_value).at(ALPHA)


def signed_rank(differences: Sequence[float]) -> float:
    """The p-value of Wilcoxon's signed-rank test of mean differences, one per dataset.

    Where no single dataset can tell, several that point the same way may: the test of two methods
    over many datasets that `Demšar <https://jmlr.org/papers/v7/demsar06a.html>`_ recommends. It
    takes datasets, not folds, for independent. Fewer than 5 cannot give a p-value below 0.1: NaN.
    """
    if len(differences) < _FEWEST_DATASETS:
        return math.nan
    from scipy import stats

    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    r"""P-values adjusted for their number by Holm's step-down method.

    With :math:`p_{(1)} \le \dots \le p_{(m)}`:

    .. math:: \tilde{p}_{(i)} = \max_{j \le i} \min(1, (m - j + 1) \, p_{(j)})

    A NaN is a comparison that was not made: it stays NaN and is not counted.
    """
    tested = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    adjusted = [math.nan] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(tested, key=lambda each: p_values[each])):
        largest = max(largest, min(1.0, (len(tested) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def holm_alphas(p_values: Sequence[float]) -> list[float]:
    r"""The level of the interval of each p-value that agrees with :func:`holm`.

    .. math:: \alpha_{(i)} = 0.05 / (m - i + 1) \text{ up to the first } i \text{ with }
              p_{(i)} \ge \alpha_{(i)}, \text{ whose level all later ones have, too}

    An interval of :math:`1 - \alpha_{(i)}` leaves out zero where the adjusted p-value is below
    0.05, and includes it elsewhere. A NaN has the level of one comparison.
    """
    tested = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    alphas = [ALPHA] * len(p_values)
    stopped = None
    for rank, i in enumerate(sorted(tested, key=lambda each: p_values[each])):
        own = ALPHA / (len(tested) - rank)
        if stopped is None and not p_values[i] < own:
            stopped = own
        alphas[i] = own if stopped is None else stopped
    return alphas


def judge(
    differences: Sequence[Difference],
    margins: Sequence[Margin],
    words: tuple[str, str] = (HELPS, HURTS),
) -> list[Finding]:
    """Differences that are looked at together, corrected for their number by Holm's method.

    Args:
        differences: All of the family.
        margins: What matters, for each of them.
        words: What is said where the first trial is better, and where it is worse.
    """
    p_values = [each.p_value for each in differences]
    levels = holm_alphas(p_values)
    found = [each.at(alpha) for each, alpha in zip(differences, levels, strict=True)]
    said = [verdict(each, margin, words) for each, margin in zip(found, margins, strict=True)]
    return [Finding(*each) for each in zip(found, holm(p_values), said, strict=True)]


def verdict(
    difference: Difference,
    margin: Margin | None = None,
    words: tuple[str, str] = (HELPS, HURTS),
) -> str:
    """What the interval of a difference says, in plain words; by default 1 point matters."""
    margin = margin or Margin()
    low, high = difference.low, difference.high
    if difference.pairs < LEAST_FOLDS or math.isnan(low):
        return TOO_FEW
    if low > 0 or high < 0:
        return words[0] if (low > 0) == margin.higher_is_better else words[1]
    if max(-low, high) <= margin.size:
        return f"{NO_DIFFERENCE} {margin.name}"
    return INCONCLUSIVE
