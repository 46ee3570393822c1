"""The options that say where runs execute."""

from __future__ import annotations

from dataclasses import dataclass

from ifmixup.errors import unknown_name
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class EngineOptions:
    """Where runs execute.

    Attributes:
        engine: Where runs execute: local (processes on this machine) or ray.
        workers: How many processes (local); None for as many as cores.
        address: The address of a Ray cluster; None starts one here.
        cpus_per_run: How many CPUs a run takes (ray).
        gpus_per_run: How many GPUs a run takes, such as 0.25 (ray).
        device: auto, cpu, cuda or mps; None: cpu, or with --gpus-per-run a GPU.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    cpus_per_run: float = 1.0
    gpus_per_run: float = 0.0
    device: str | None = None

    def make(self) -> Engine:
        """The engine."""
        if self.engine == "local":
            return LocalEngine(self.workers, self.device or "cpu")
        if self.engine == "ray":
            from ifmixup.study.engines.ray import RayEngine

            return RayEngine(
                self.address,
                cpus_per_run=self.cpus_per_run,
                gpus_per_run=self.gpus_per_run,
                device=self.device,
            )
        raise unknown_name("engine", self.engine, ENGINES)
