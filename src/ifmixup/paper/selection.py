r"""What choosing on the test folds is worth: the gain of a method that does nothing.

The paper's protocol chooses the epoch and the setting with the best mean accuracy on the test folds
themselves. Of many noisy numbers the best one is too good, and the more there are, the better it
looks. Here the same method, ``none``, is trained with all S settings of the paper's grid, each with
R seeds, on the same K folds. Three values of a Beta distribution that changed nothing would turn
its S settings into 3 S, so what that is worth can be read off these runs alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ifmixup.errors import InputError
from ifmixup.study.comparison import Comparison, Row
from ifmixup.study.numbers import UNKNOWN, percent
from ifmixup.study.study import Candidate
from ifmixup.study.table import Table

AGAIN = "selection-again"  # the study that runs the winner again
FRESH = ("fresh seeds", "fresh folds")
BOOTSTRAPS = 1000
_LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number in points, and the ends of its 95 % bootstrap interval over the folds."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Selection:
    """What choosing on the test folds is worth on one dataset, in points of accuracy.

    Attributes:
        dataset: The dataset's name.
        settings: S, the number of settings.
        seeds: R, the number of seeds per setting.
        best_epoch: What choosing the best epoch instead of the last one gains, the mean over
            settings and seeds.
        best_of_grid: What the best of S settings has more than a setting on average.
        larger_grid: What the best of R S settings has more than the best of S.
        curve: The expected best of n = 1 ... R S trainings, in per cent.
        winner: The setting with the best mean over all seeds and folds.
        winner_score: Its accuracy in per cent, as the paper's protocol reads it.
    """

    dataset: str
    settings: int
    seeds: int
    best_epoch: Estimate
    best_of_grid: Estimate
    larger_grid: Estimate
    curve: tuple[float, ...]
    winner: Candidate
    winner_score: float


def selection(comparison: Comparison, dataset: str) -> Selection | None:
    """What the runs of the experiment ``selection`` show on a dataset; None until all are done.

    Each seed is a trial, whose candidates are the settings of the grid.
    """
    trials = [trial for trial in comparison.study.trials if trial.dataset == dataset]
    results = {record.key: record.result for record in comparison.runs}
    found = [[[results.get(key) for key in keys] for keys in trial.keys] for trial in trials]
    if not trials or any(run is None for trial in found for runs in trial for run in runs):
        return None
    curves = np.array(
        [
            [[run.curves["test_accuracy"] for run in runs if run] for runs in trial]
            for trial in found
        ]
    ).swapaxes(0, 1)
    scores = _best_epochs(curves.mean(2))
    winner = int(scores.mean(1).argmax())
    estimates = bootstrap(curves)
    return Selection(
        dataset=dataset,
        settings=curves.shape[0],
        seeds=curves.shape[1],
        **estimates,
        curve=tuple(
            100 * expected_best(scores.ravel(), count) for count in range(1, scores.size + 1)
        ),
        winner=trials[0].candidates[winner],
        winner_score=100 * float(scores[winner].mean()),
    )


def selection_table(comparisons: Sequence[Comparison]) -> Table | None:
    """What choosing is worth, one row per dataset; None without a dataset whose runs are done."""
    again = [row for c in comparisons if c.study.name == AGAIN for row in c.rows]
    found = [
        each
        for comparison in comparisons
        if comparison.study.config.get("experiment") == "selection"
        for dataset in comparison.study.datasets
        if (each := selection(comparison, dataset)) is not None
    ]
    if not found:
        return None
    rows = [
        (
            each.dataset,
            *(_points(part) for part in (each.best_epoch, each.best_of_grid, each.larger_grid)),
            f"{each.winner_score:.1f}",
            *(_again(again, each.dataset, name) for name in FRESH),
        )
        for each in found
    ]
    settings, seeds = found[0].settings, found[0].seeds
    head = (
        "dataset",
        "best epoch − last",
        f"best of {settings} settings − mean",
        f"best of {settings * seeds} − best of {settings}",
        "the winner",
        *(f"with {name}" for name in FRESH),
    )
    said = [
        "Points of accuracy under the paper's protocol, all of them gained by none alone; 95 % "
        "bootstrap intervals over folds, drawn jointly for all settings.",
        "The winner is the setting with the best mean over its seeds; with fresh seeds and fresh "
        "folds it is read by the same protocol, at its best epoch.",
    ]
    return Table(head, rows, names=1, title="What choosing on the test folds is worth", notes=said)


def bootstrap(
    curves: np.ndarray, *, resamples: int = BOOTSTRAPS, seed: int = 0
) -> Mapping[str, Estimate]:
    """The estimates of :class:`Selection`, with intervals over folds.

    The folds are drawn with replacement, the same ones for all settings and seeds: a fold that is
    easy is easy for all of them. The mean is of the folds as they are.

    Args:
        curves: Test accuracy by setting, seed, fold and epoch, ``[S, R, K, E]``.
    """
    folds = curves.shape[2]
    drawn = np.random.default_rng(seed).multinomial(folds, [1 / folds] * folds, size=resamples)
    weights = np.vstack([np.ones(folds), drawn]) / folds
    rows = np.array([_gains(np.einsum("k,srke->sre", each, curves)) for each in weights])
    low, high = np.quantile(rows[1:], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    names = ("best_epoch", "best_of_grid", "larger_grid")
    return {
        name: Estimate(*(100 * float(part[i]) for part in (rows[0], low, high)))
        for i, name in enumerate(names)
    }


def expected_best(values: np.ndarray, count: int) -> float:
    r"""The expected maximum of ``count`` of N values, drawn without replacement.

    With the values in ascending order, :math:`v_i` is the largest of a subset if it is drawn and
    all others are among the i − 1 lower ones:

    .. math:: \sum_{i=n}^{N} v_i \binom{i-1}{n-1} \Big/ \binom{N}{n}
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if not 1 <= count <= len(ordered):
        raise InputError(f"Of {len(ordered)} values 1 to {len(ordered)} are drawn; got {count}.")
    subsets = math.comb(len(ordered), count)
    shares = [math.comb(i, count - 1) / subsets for i in range(len(ordered))]
    return float(np.dot(ordered, shares))


def expected_best_of_grid(values: np.ndarray, seeds: int = 1) -> float:
    r"""The expected maximum over all settings, each with so many of its seeds, ``values [S, R]``.

    With :math:`c_s(v)` the number of seeds of setting s whose value is at most v:

    .. math:: P(\max \le v) = \prod_s \binom{c_s(v)}{k} \Big/ \binom{R}{k}
    """
    levels = np.unique(values)
    counts = (values[None] <= levels[:, None, None]).sum(2)  # [levels, S]
    draws = math.comb(values.shape[1], seeds)
    share = np.array([math.comb(c, seeds) / draws for c in range(values.shape[1] + 1)])
    below = share[counts].prod(1)
    return float(np.dot(levels, np.diff(below, prepend=0.0)))


def _best_epochs(means: np.ndarray) -> np.ndarray:
    """The accuracy at the best epoch of each mean curve ``[S, R, E]``."""
    return means.max(-1)


def _gains(means: np.ndarray) -> Sequence[float]:
    """The three gains of mean curves ``[S, R, E]``."""
    best = _best_epochs(means)
    of_grid, of_all = (expected_best_of_grid(best, seeds) for seeds in (1, best.shape[1]))
    return float((best - means[..., -1]).mean()), of_grid - float(best.mean()), of_all - of_grid


def _points(found: Estimate) -> str:
    low, high = (percent(end / 100, sign=True) for end in (found.low, found.high))
    return f"{percent(found.mean / 100, sign=True)} [{low}, {high}]"


def _again(rows: Sequence[Row], dataset: str, name: str) -> str:
    """The mean of the trials that run the winner again, each called ``"fresh seeds, 0"`` etc."""
    means = [
        row.reading.mean
        for row in rows
        if row.trial.dataset == dataset and row.trial.name.startswith(f"{name}, ")
    ]
    return percent(float(np.mean(means))) if means else UNKNOWN
