"""Choosing the smallest of what is as good as the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, TypeVar

T = TypeVar("T")


def smallest_within_one_error(
    scores: Mapping[T, Sequence[float]], size: Callable[[T], Any]
) -> tuple[T, float]:
    r"""The rule of one standard error (Breiman et al., 1984), with paired folds.

    The best of several settings is the best by luck, too, and luck likes large networks no less
    than small ones. Of those whose mean over the folds is within one standard error of the best
    one's, :math:`\bar{d} \le s_d / \sqrt{k}` with :math:`d` the differences on the same k folds,
    the smallest is taken; among equally small ones that with the best mean.

    Args:
        scores: The scores of each on the same folds, at least one; more is better. One with fewer
            folds than the others has failed somewhere, and is not chosen.
        size: What is to be small.

    Returns:
        The chosen one, and its mean score.
    """
    folds = max(map(len, scores.values()))
    means = {each: fmean(values) for each, values in scores.items() if len(values) == folds}
    best = max(means, key=means.__getitem__)  # the first of equals

    def is_near(each: T) -> bool:
        differences = [a - b for a, b in zip(scores[best], scores[each], strict=True)]
        error = stdev(differences) / math.sqrt(folds) if folds > 1 else 0.0
        return fmean(differences) <= error

    near = [each for each in means if is_near(each)]
    chosen = min(near, key=lambda each: (size(each), -means[each]))
    return chosen, means[chosen]
