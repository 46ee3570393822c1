"""Runs on a Ray cluster (extra ``ifmixup[ray]``)."""

from __future__ import annotations

import logging
import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ifmixup.errors import InputError, import_extra
from ifmixup.study.engines import engine
from ifmixup.study.engines.engine import Message, Task, Watcher
from ifmixup.study.record import Record
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import RunSpec

AHEAD = 4  # how many runs a slot are submitted at once: none idles, and the cluster is not flooded
CANCELS = 15  # how often, once a second, a run is cancelled that does not end


class RayEngine:
    """Executes runs as tasks of a Ray cluster, whose nodes have ifmixup installed.

    The dataset is put into the object store once; the workers of a node share it. A run whose
    worker or node is lost is repeated elsewhere. A run that raises an error has failed.

    Args:
        address: An existing cluster, such as ``auto``, ``10.0.0.1:6379`` or ``ray://host:10001``;
            None for the one in the environment variable ``RAY_ADDRESS``, or else a new one on this
            machine, which ends with the execution.
        cpus_per_run: CPUs that a run reserves; it uses one thread in any case.
        gpus_per_run: GPUs that a run reserves; a fraction lets several runs share one.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``; None for ``auto`` where a run reserves a
            GPU, else ``cpu``.
        retries: Number of times that a run is repeated if its worker or node is lost.
    """

    def __init__(
        self,
        address: str | None = None,
        cpus_per_run: float = 1.0,
        gpus_per_run: float = 0.0,
        device: str | None = None,
        retries: int = 2,
    ) -> None:
        if cpus_per_run < 0 or gpus_per_run < 0 or cpus_per_run + gpus_per_run == 0:
            raise InputError(
                "A run needs a part of a CPU or of a GPU; got "
                f"cpus_per_run={cpus_per_run} and gpus_per_run={gpus_per_run}."
            )
        if retries < 0:
            raise InputError(f"retries must be at least 0; got {retries}.")
        self.address = address
        self.needs = {"CPU": cpus_per_run, "GPU": gpus_per_run}
        self.device = device or ("auto" if gpus_per_run else "cpu")
        self.retries = retries

    def execute(
        self, tasks: Sequence[Task], data: PackedDataset, watcher: Watcher | None = None
    ) -> Generator[Record, None, None]:
        """Execute all ``tasks``; closing the iterator cancels what is left.

        Ray does not say when a run begins: as many of those submitted as there are slots are
        taken for started. No epochs are told.
        """
        if not tasks:
            return
        # Outcomes tell what was lost; Ray would print pages of it to the standard output.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "Raylet is terminated|marked dead")
        ray = import_extra("ray", "ray")
        with self._connected(ray):
            yield from self._work(ray, tasks, data, watcher or Watcher())

    def _work(
        self, ray: ModuleType, tasks: Sequence[Task], data: PackedDataset, watcher: Watcher
    ) -> Generator[Record, None, None]:
        # Ray's own retries are off: they have no end for a run that is out of memory.
        remote = ray.remote(_perform).options(
            num_cpus=self.needs["CPU"], num_gpus=self.needs["GPU"], max_retries=0
        )
        # Ray's workers read arrays in shared memory, without a copy.
        shared = ray.put(_converted(engine.shared(tasks, data), Tensor, Tensor.numpy))
        waiting = deque(range(len(tasks)))
        flying: dict[Any, int] = {}
        begun: set[Any] = set()
        tries: Counter[int] = Counter()  # that lost their worker
        try:
            while waiting or flying:
                slots = self._slots(ray)
                while waiting and len(flying) < AHEAD * slots:
                    index = waiting.popleft()
                    flying[
                        remote.remote(engine.order(tasks[index], self.device, stored=True), shared)
                    ] = index
                for reference in islice(flying, slots):
                    if reference not in begun:
                        watcher.started(tasks[flying[reference]][0])
                    begun.add(reference)
                (reference,), _ = ray.wait(list(flying), num_returns=1)
                index = flying.pop(reference)
                spec = tasks[index][0]
                found = self._collect(ray, spec, reference)
                if isinstance(found, Exception):
                    tries[index] += 1
                    if tries[index] <= self.retries:
                        waiting.appendleft(index)
                        continue
                    found = engine.lost(spec, type(found).__name__, tries[index], found)
                watcher.finished(found)
                yield found
        finally:
            with suppress(Exception):  # the cluster may be gone
                _cancel(ray, list(flying))

    def _collect(self, ray: ModuleType, spec: RunSpec, reference: Any) -> Record | Exception:
        """What became of a run, or the error by which its worker was lost."""
        try:
            return engine.outcome(spec, ray.get(reference))
        except ray.exceptions.RayTaskError as error:  # ifmixup is not installed there, say
            return Record(spec, error=f"{type(error.cause).__name__}: {error.cause}")
        except ray.exceptions.RayError as error:
            return error

    @contextmanager
    def _connected(self, ray: ModuleType) -> Iterator[None]:
        """Connected to a cluster; what was there before is left as it was."""
        if ray.is_initialized():
            yield
            return
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        if address == "local":
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray.init(
                address=address,
                include_dashboard=False if address == "local" else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"Cannot connect to a Ray cluster at {address!r}: {error}") from error
        try:
            there = ray.cluster_resources()
            for kind, need in self.needs.items():
                # Other clusters may grow when they are asked to; this one cannot.
                if address == "local" and need > there.get(kind, 0):
                    raise InputError(
                        f"A run needs {need:g} {kind}; the cluster has {there.get(kind, 0):g}."
                    )
            yield
        finally:
            ray.shutdown()

    def _slots(self, ray: ModuleType) -> int:
        """How many runs the cluster can execute at once, as it is now."""
        there = ray.cluster_resources()
        return max(
            1, *(int(there.get(kind, 0) / need) for kind, need in self.needs.items() if need)
        )


def _cancel(ray: ModuleType, references: list[Any]) -> None:
    """Cancel runs, again until they have ended: Ray may miss one that is on its way to a worker."""
    for _ in range(CANCELS):
        for reference in references:
            ray.cancel(reference, force=True)
        _, references = ray.wait(references, num_returns=len(references), timeout=1)
        if not references:
            return


def _perform(message: Message, arrays: dict[str, Any]) -> Message:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        values = _converted(arrays, np.ndarray, torch.from_numpy)
    data, folds = engine.opened(values)
    return engine.perform(message, data, folds=folds)


def _converted(values: Any, kind: type, convert: Callable[[Any], Any]) -> Any:
    """The same nested dictionary with all values of a ``kind`` converted."""
    if isinstance(values, dict):
        return {name: _converted(value, kind, convert) for name, value in values.items()}
    return convert(values) if isinstance(values, kind) else values
