"""What an engine and its workers say to each other, as plain values that JSON keeps bit for bit."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import torch

from ifmixup.study.engines.engine import Outcome, Task
from ifmixup.training import Fold, PackedDataset, RunResult, RunSpec, run
from ifmixup.training.versions import versions

Message = dict[str, Any]


def order(task: Task, device: str) -> Message:
    """What a worker is told: the run, its graphs and the device to use."""
    spec, fold = task
    places = {name: index.tolist() for name, index in vars(fold).items()}
    return {"spec": spec.to_dict(), "fold": places, "device": device}


def perform(
    message: Message, data: PackedDataset, each_epoch: Callable[[int], None] | None = None
) -> Message:
    """Do what an :func:`order` says; the answer is a result, or the error that was raised."""
    answer: Message = {"host": socket.gethostname(), "versions": versions()}
    try:
        fold = Fold(**{n: torch.tensor(v, dtype=torch.long) for n, v in message["fold"].items()})
        result = run(
            RunSpec.of(message["spec"]),
            data,
            fold,
            device=message["device"],
            each_epoch=each_epoch,
        )
    except BaseException as error:  # a run may fail in any way, and the next one has to go on
        return {**answer, "error": str(error), "kind": type(error).__name__}
    return {**answer, "result": result.to_dict()}


def outcome(spec: RunSpec, answer: Message) -> Outcome:
    """The outcome that an answer of :func:`perform` stands for."""
    where = {"host": answer["host"], "versions": answer["versions"]}
    if "error" in answer:
        return Outcome(spec, error=f"{answer['kind']}: {answer['error']}".rstrip(": "), **where)
    return Outcome(spec, RunResult(**answer["result"]), **where)
