"""About how long a plan will take, from a short measurement on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch

from ifmixup.study.engines.engine import Task
from ifmixup.training import Fold, PackedDataset, Settings, Trainer
from ifmixup.training.run import reproducible

STEPS = 6  # of a training are timed


def estimate(tasks: Iterable[Task], data: PackedDataset, workers: int) -> float:
    """About how many seconds runs will take on so many workers.

    For each kind of run a few steps are timed, after one that warms up, and multiplied.

    Args:
        tasks: The runs, all on ``data``.
        data: The packed dataset.
        workers: How many run at once.
    """
    seconds_a_graph: dict[str, float] = {}
    total = 0.0
    for spec, fold in tasks:
        settings = spec.settings
        shape = (settings.model, settings.method, settings.layers, settings.hidden)
        kind = repr((*shape, settings.batch_size, settings.use_edge_attr))
        if kind not in seconds_a_graph:
            seconds_a_graph[kind] = _seconds_a_graph(settings, data, fold)
        steps = settings.steps_per_epoch
        graphs = fold.train.numel() if steps is None else steps * settings.batch_size
        # looking at a graph costs about a third of training on it
        looked_at = (fold.validation.numel() + fold.test.numel()) / 3
        total += seconds_a_graph[kind] * (graphs + looked_at) * settings.epochs
    return total / workers


def _seconds_a_graph(settings: Settings, data: PackedDataset, fold: Fold) -> float:
    graphs = fold.train[torch.randperm(fold.train.numel())[: STEPS * settings.batch_size]]
    with reproducible():
        training = Trainer(settings.with_(steps_per_epoch=None), data, train=graphs)
        training.run_epoch()
        start = time.perf_counter()
        training.run_epoch()
        return (time.perf_counter() - start) / graphs.numel()
