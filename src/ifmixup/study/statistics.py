"""Whether a method makes a difference: paired, corrected, and said in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ifmixup.errors import InputError
from ifmixup.study.protocols import Pair

HELPS = "helps"
HURTS = "hurts"
NO_DIFFERENCE = "no difference that these folds can show"
NOT_ENOUGH = "not enough runs to say"

ALPHA = 0.05  # intervals are of 95 %, and smaller p-values count
LEAST_FOLDS = 5  # fewer may differ clearly by chance, and t with one degree of freedom would say so
_EQUAL = 1e-12  # accuracies are fractions of whole numbers: what is nearer is rounding
_FEWEST_DATASETS = 5


@dataclass(frozen=True)
class Difference:
    """How much more of the metric a method has than ``none`` on the same folds, on average; the
    ends of its 95 % interval and the two-sided p-value of no difference, which are NaN where they
    cannot be known; and the number of folds.
    """

    mean: float
    low: float
    high: float
    p_value: float
    pairs: int


def paired_difference(
    method: Mapping[Pair, float], none: Mapping[Pair, float], test_ratio: float
) -> Difference:
    r"""The corrected resampled t-test of Nadeau and Bengio (2003).

    Folds share training graphs, so that their differences :math:`d_i` are not independent and the
    plain t-test finds differences that are not there. With k differences, mean :math:`\bar{d}` and
    variance :math:`s^2` (ddof = 1):

    .. math:: t = \bar{d} \Big/ \sqrt{(1/k + n_{test}/n_{train}) \, s^2},
              \qquad k - 1 \text{ degrees of freedom}

    Where all differences are equal, :math:`s^2 = 0` says that the folds are too coarse to show the
    spread, not that there is none: t does not exist and there is no interval. The p-value is then
    that of the sign test, :math:`2^{1-k}`, or 1 where all differences are zero. (Zero would be the
    limit of t; two small folds that happen to agree would then be proof.)

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
    if k < 2:
        return Difference(mean, math.nan, math.nan, math.nan, k)
    if np.ptp(differences) <= _EQUAL:
        p_value = 1.0 if abs(mean) <= _EQUAL else 2.0 ** (1 - k)
        return Difference(mean, math.nan, math.nan, p_value, k)
    from scipy import stats

    error = math.sqrt((1 / k + test_ratio) * float(np.var(differences, ddof=1)))
    reach = float(stats.t.ppf(1 - ALPHA / 2, k - 1)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, k - 1))
    return Difference(mean, mean - reach, mean + reach, p_value, k)


def signed_rank(differences: Sequence[float]) -> float:
    """The p-value of Wilcoxon's signed-rank test of mean differences, one a dataset.

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


def verdict(difference: Difference, adjusted_p: float, *, higher_is_better: bool = True) -> str:
    """What the figures say, in plain words; a p-value after :func:`holm` below 0.05 counts."""
    if math.isnan(adjusted_p) or math.isnan(difference.mean):
        return NOT_ENOUGH
    if adjusted_p >= ALPHA or difference.mean == 0:
        return NO_DIFFERENCE
    if difference.pairs < LEAST_FOLDS:
        return NOT_ENOUGH
    return HELPS if (difference.mean > 0) == higher_is_better else HURTS
