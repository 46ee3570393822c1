"""One run: a training on one fold, from the first to the last epoch, and what it measured."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import torch
from torch import Tensor

from ifmixup.data.dataset import METRICS
from ifmixup.errors import InputError
from ifmixup.training.metric import ours
from ifmixup.training.metrics import fit_temperature, metrics
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import Fold, RunSpec
from ifmixup.training.task import Score, metric_of, validation_score
from ifmixup.training.trainer import Trainer

Predictions = tuple[Tensor, Tensor]  # what a model gave, and the targets


@dataclass(frozen=True)
class RunResult:
    """What a run measured.

    Attributes:
        curves: One value per epoch: ``train_loss``, ``test_accuracy`` and ``test_loss``, and where
            the fold has validation graphs ``validation_accuracy`` and ``validation_loss``;
            ``test_roc_auc`` and so on where the metric is another one.
        metrics: On the test graphs after the last epoch every metric of the task
            (:func:`~ifmixup.training.metrics.all_metrics`): ``accuracy``, ``f1_macro``, ``nll``
            and so on; with validation graphs also ``chosen_accuracy`` and so on, at the epoch that
            validation chose, and for classes ``temperature``, ``scaled_nll`` and ``scaled_ece``,
            after the last epoch with the temperature that fits the validation graphs best. Where
            the method was fitted to the training graphs also ``fit_seconds``.
        seconds: The time of training and evaluating.
        prepare_seconds: The part of it that went into cutting and augmenting batches.
    """

    curves: Mapping[str, Sequence[float]]
    metrics: dict[str, float]
    seconds: float
    prepare_seconds: float

    @property
    def metric(self) -> str:
        """What the curves show, such as ``accuracy`` or ``mae``."""
        return metric_of(self.curves)

    @property
    def fit_seconds(self) -> float | None:
        """How long the method's fit to the training graphs took; None where it fits nothing.

        What came from the cache counts with the time that it took to compute, which ``seconds``
        does not include.
        """
        return self.metrics.get("fit_seconds")


def run(
    spec: RunSpec,
    data: PackedDataset,
    fold: Fold,
    *,
    device: str = "cpu",
    each_epoch: Callable[[int], None] | None = None,
    each_fit: Callable[[float], None] | None = None,
) -> RunResult:
    """Train on one fold and measure; random state and threads are left as they were found.

    On a CPU the same spec gives the same numbers, bit for bit. A GPU adds in an order of its own.

    The device is as for :func:`~ifmixup.training.fit.train`. After each epoch ``each_epoch`` is
    called with the number of epochs done; while the method is fitted ``each_fit`` is called with
    the share that is done.
    """
    with reproducible():
        trainer = Trainer(
            spec.settings,
            spec.model,
            spec.method,
            data.to(choose_device(device)),
            **{part: fold.indices(part) for part in ("train", "validation", "test")},
            seed=spec.run_seed,
            metrics=spec.metrics or [ours(METRICS[data.task][0])],
            each_fit=each_fit,
        )
        chosen: tuple[Score, Predictions] | None = None
        while trainer.epoch < spec.settings.epochs:
            trainer.run_epoch()
            if fold.validation:
                score = validation_score(trainer.curves, trainer.higher_is_better)
                if chosen is None or score > chosen[0]:
                    chosen = score, trainer.predictions["test"]
            if each_epoch is not None:
                each_epoch(trainer.epoch)
        scaled = _scaled(trainer) if fold.validation and data.task == "classes" else {}
        last = trainer.all_metrics(*trainer.predictions["test"])
        at_best = {} if chosen is None else trainer.all_metrics(*chosen[1])
    return RunResult(
        curves=trainer.curves,
        metrics={
            **last,
            **{f"chosen_{name}": value for name, value in at_best.items()},
            **scaled,
            **({} if trainer.fit_seconds is None else {"fit_seconds": trainer.fit_seconds}),
        },
        seconds=trainer.seconds,
        prepare_seconds=trainer.prepare_seconds,
    )


def _scaled(trainer: Trainer) -> dict[str, float]:
    """What temperature scaling on the validation graphs gives on the test graphs."""
    logits, y = zip(*map(trainer.predicted, ("validation", "test")), strict=True)
    temperature = fit_temperature(logits[0], y[0])
    found = metrics(logits[1] / temperature, y[1])
    return {
        "temperature": temperature,
        **{f"scaled_{name}": found[name] for name in ("nll", "ece")},
    }


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
        raise InputError(f"This machine has no device {name!r}. It has: auto, {there}.")
    return torch.device(name)


def versions() -> dict[str, str]:
    """The versions that a run's numbers may depend on."""
    found = {name: version(name) for name in ("ifmixup", "torch", "torch_geometric")}
    return {**found, "python": platform.python_version()}
