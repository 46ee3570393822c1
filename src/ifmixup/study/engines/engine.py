"""Where runs execute: what every engine does, and what it and its workers say to each other."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import torch

from ifmixup.components import ClassSpec, adopt, find_class, foreign
from ifmixup.source_code import pickle_classes, unpickle_classes
from ifmixup.study.record import Record
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run import RunResult, run, versions
from ifmixup.training.run_spec import PARTS, Fold, RunSpec

Task = tuple[RunSpec, Fold]
Folds = Mapping[str, Mapping[str, Any]]  # by fingerprint, as arrays
Message = dict[str, Any]  # plain values that JSON keeps bit for bit

MAX_MEMORY = "IFMIXUP_WORKER_MEMORY"
"""The environment variable that tells a worker how many gigabytes a run may take."""


class Watcher:
    """Is told what becomes of the runs, such as a progress display; this one does nothing."""

    def started(self, spec: RunSpec) -> None:
        """A run has begun, maybe once more after its worker was lost."""

    def fitting(self, spec: RunSpec, share: float) -> None:
        """A run has done that share of fitting its method; not every step is told."""

    def epoch(self, spec: RunSpec, number: int) -> None:
        """A run has done so many epochs; not every epoch is told."""

    def finished(self, record: Record) -> None:
        """A run has ended, well or not."""


class Watchers(Watcher):
    """Tells several watchers, one after the other."""

    def __init__(self, *several: Watcher) -> None:
        self.several = several

    def started(self, spec: RunSpec) -> None:
        """To all."""
        for each in self.several:
            each.started(spec)

    def fitting(self, spec: RunSpec, share: float) -> None:
        """To all."""
        for each in self.several:
            each.fitting(spec, share)

    def epoch(self, spec: RunSpec, number: int) -> None:
        """To all."""
        for each in self.several:
            each.epoch(spec, number)

    def finished(self, record: Record) -> None:
        """To all."""
        for each in self.several:
            each.finished(record)


class Engine(Protocol):
    """Executes runs; records come as they finish, each run once, in any order."""

    def execute(
        self, tasks: Sequence[Task], data: PackedDataset, watcher: Watcher | None = None
    ) -> Generator[Record, None, None]:
        """Execute all ``tasks``. Closing the iterator ends what is still running."""
        ...


def shared(tasks: Sequence[Task], data: PackedDataset) -> dict[str, Any]:
    """What all workers read, stored once: the dataset, and every fold by its fingerprint."""
    folds = {fold.fingerprint: fold for _, fold in tasks}
    return {
        "data": data.to(torch.device("cpu")).to_dict(),
        "folds": {
            key: {**fold.to_dict(), **{part: fold.indices(part).int() for part in PARTS}}
            for key, fold in folds.items()
        },
    }


def opened(values: dict[str, Any]) -> tuple[PackedDataset, Folds]:
    """The dataset and the folds that :func:`shared` gave."""
    folds = {
        key: {name: v.numpy() if isinstance(v, torch.Tensor) else v for name, v in fold.items()}
        for key, fold in values["folds"].items()
    }
    return PackedDataset.of(values["data"]), folds


def order(task: Task, device: str, *, stored: bool = False) -> Message:
    """What a worker is told: the run, its graphs, the user's classes and the device to use.

    Of a fold that is ``stored`` where the worker finds it (:func:`shared`), only the fingerprint:
    with a million graphs, a fold is megabytes.
    """
    spec, fold = task
    return {
        "spec": spec.to_dict(),
        "fold": fold.fingerprint if stored else fold.to_dict(),
        "device": device,
        "classes": _pickled(spec.model, spec.method, spec.metrics),
    }


def perform(
    message: Message,
    data: PackedDataset,
    each_epoch: Callable[[int], None] | None = None,
    each_fit: Callable[[float], None] | None = None,
    folds: Folds | None = None,
) -> Message:
    """Do what an :func:`order` says; the answer is a result, or the error that was raised."""
    answer: Message = {"host": socket.gethostname(), "versions": versions()}
    try:
        spec = RunSpec.of(message["spec"])
        if message["classes"] is not None:
            several = (spec.model, spec.method, *spec.metrics)
            foreigners = [each for each in several if foreign(each)]
            classes = unpickle_classes(base64.b64decode(message["classes"]))
            for each, cls in zip(foreigners, classes, strict=True):
                adopt(each, cls)
        named = isinstance(message["fold"], str)
        fold = Fold.of((folds or {})[message["fold"]] if named else message["fold"])
        device = message["device"]
        result = run(spec, data, fold, device=device, each_epoch=each_epoch, each_fit=each_fit)
    except BaseException as error:  # a run may fail in any way, and the next one has to go on
        return {**answer, "error": str(error), "kind": type(error).__name__}
    return {**answer, "result": vars(result)}


def outcome(spec: RunSpec, answer: Message) -> Record:
    """The record that an answer of :func:`perform` stands for."""
    where = {"host": answer["host"], "versions": answer["versions"]}
    if "error" in answer:
        return Record(spec, error=f"{answer['kind']}: {answer['error']}".rstrip(": "), **where)
    return Record(spec, RunResult(**answer["result"]), **where)


def lost(spec: RunSpec, what: str, tries: int, reason: object) -> Record:
    """The record of a run whose worker was lost as often as it was tried."""
    times = "" if tries == 1 else f" (tried {tries} times)"
    return Record(spec, error=f"{what}{times}: {reason}")


@lru_cache(maxsize=64)
def _pickled(
    model: ClassSpec, method: ClassSpec, metrics: tuple[ClassSpec, ...] = ()
) -> str | None:
    """The user's classes and functions of a run as text; None where all are ours."""
    specs = [("model", model), ("method", method), *(("metric", each) for each in metrics)]
    found = [find_class(kind, spec) for kind, spec in specs if foreign(spec)]
    return base64.b64encode(pickle_classes(found)).decode("ascii") if found else None
