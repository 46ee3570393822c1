"""One run: a training on one fold, from first to last epoch, and what came out of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ifmixup.errors import InputError
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import RunSpec
from ifmixup.training.score import Score, metric_of, validation_score
from ifmixup.training.trainer import Trainer


@dataclass(frozen=True)
class Fold:
    """The graphs of one fold, as their places in the dataset.

    Attributes:
        train: Trained on under ``holdout``.
        validation: Chooses epoch and setting under ``holdout``; trained on under ``paper``.
        test: Judged on.
    """

    train: Tensor
    validation: Tensor
    test: Tensor


@dataclass(frozen=True)
class RunResult:
    """What a run measured.

    Attributes:
        curves: A value an epoch: ``train_loss``, and ``validation_accuracy``, ``validation_loss``,
            ``test_accuracy``, ``test_loss`` (no validation under ``paper``); ``validation_roc_auc``
            and so on where the metric is another one.
        metrics: On the test graphs after the last epoch: ``accuracy``, ``balanced_accuracy``,
            ``nll``, ``ece``, or what :func:`~ifmixup.training.metrics.metrics` gives for another
            task; under ``holdout`` also ``chosen_accuracy`` and so on, at the epoch that validation
            chose.
        seconds: The time of training and looking.
        prepare_seconds: The part of it that went into cutting and augmenting batches.
    """

    curves: dict[str, list[float]]
    metrics: dict[str, float]
    seconds: float
    prepare_seconds: float

    @property
    def metric(self) -> str:
        """What the curves show: ``accuracy``, ``roc_auc``, ``average_precision`` or ``mae``."""
        return metric_of(self.curves)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return dict(vars(self))


def run(
    spec: RunSpec,
    data: PackedDataset,
    fold: Fold,
    *,
    device: str = "cpu",
    each_epoch: Callable[[int], None] | None = None,
) -> RunResult:
    """Train on one fold and measure; random state and threads are left as they were found.

    On a CPU the same spec gives the same numbers, bit for bit. A GPU adds in an order of its own.

    Args:
        spec: What to run.
        data: The packed dataset.
        fold: Its graphs.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        each_epoch: Called with the number of epochs done, after each.
    """
    holdout = spec.protocol == "holdout"
    train = fold.train if holdout else torch.cat([fold.train, fold.validation])
    with reproducible():
        training = Trainer(
            spec.settings,
            data.to(choose_device(device)),
            train=train,
            validation=fold.validation if holdout else None,
            test=fold.test,
            seed=spec.own_seed,
        )
        best: Score | None = None
        chosen: dict[str, float] = {}
        while training.epoch < spec.settings.epochs:
            training.run_epoch()
            if holdout:
                now = validation_score(training.curves)
                if best is None or now > best:
                    best, chosen = now, training.latest["test"]
            if each_epoch is not None:
                each_epoch(training.epoch)
    return RunResult(
        curves=training.curves,
        metrics={
            **training.latest["test"],
            **{f"chosen_{name}": value for name, value in chosen.items()},
        },
        seconds=training.seconds,
        prepare_seconds=training.prepare_seconds,
    )


_ALONE = threading.RLock()


@contextmanager
def reproducible() -> Iterator[None]:
    """One thread, whatever the machine has, and a random state of our own.

    The random state is the process's, and dropout draws from it: of several Python threads, such as
    those of joblib, one trains at a time.
    """
    with _ALONE:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng():
                yield
        finally:
            torch.set_num_threads(threads)


def choose_device(name: str) -> torch.device:
    """The device called ``name``; ``auto`` takes a GPU where there is one."""
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(kind for kind, there in present.items() if there))
    kind = name.split(":")[0]
    if not present.get(kind, False):
        there = ", ".join(kind for kind, is_there in present.items() if is_there)
        raise InputError(f"There is no device {name!r} here. There is: auto, {there}.")
    return torch.device(name)
