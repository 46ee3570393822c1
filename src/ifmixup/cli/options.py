"""Options that several commands share, for tyro: settings, how a SOURCE is read, the engine.

A command takes them as fields of its own options: ``settings: SettingsGroup``.
Nothing here imports torch, so ``--help`` is fast.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ifmixup.errors import unknown_name
from ifmixup.safe_io import allow_bytes
from ifmixup.training.settings import Settings, setting_types

if TYPE_CHECKING:
    from ifmixup.data import GraphDataset
    from ifmixup.study.engines.engine import Engine

ENGINES = ("local", "ray")
_OF_THE_MACHINE = (
    "folder", "root", "engine", "workers", "address", "cpus_per_run", "gpus_per_run",
    "retry_failed", "dry_run", "time_limit", "stuck_after", "max_memory", "max_bytes",
)  # fmt: skip


def default(text: str) -> Any:
    """How the help describes the default of an option that is None by default."""
    return tyro.conf.arg(help_behavior_hint=f"(default: {text})")


NO_DEFAULT = tyro.conf.arg(help_behavior_hint="")
"""For an option that is not used by default."""

MAX_BYTES = default("depends on the kind of file, 256 MB to 8 GB")
"""For the option that raises the limit on the size of a dataset."""

SPLIT = tyro.conf.arg(
    metavar="random|scaffold|group:COLUMN|column:COLUMN|FILE",
    help_behavior_hint="(default: the dataset's own, else random)",
)
"""For the option that chooses training, validation and test graphs."""

Source = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="SOURCE",
        help="A name (MUTAG, ogb:ogbg-molhiv), molecules.csv:smiles:label (or .csv.gz, .parquet), "
        "a folder of TU, GraphML or JSON files, or a .pt file of PyG graphs.",
    ),
]
"""The positional argument that names graphs."""


def _shown(setting: str) -> str:
    """The default of a setting, in words where it is None."""
    words = {
        "steps_per_epoch": "one pass over the training graphs",
        "use_edge_attr": "if the model reads them",
    }
    return words.get(setting) or str(getattr(Settings(), setting))


def _settings_options() -> type:
    """A dataclass with the fields of Settings, which are None until they are typed."""
    made = make_dataclass(
        "SettingsOptions",
        [
            (name, Annotated[hint | None, default(_shown(name))], field(default=None))
            for name, hint in setting_types().items()
        ],
        frozen=True,
    )
    made.__doc__ = Settings.__doc__  # where tyro finds the help of each field
    return made


if TYPE_CHECKING:
    SettingsOptions = Any
else:
    SettingsOptions = _settings_options()


SettingsGroup = Annotated[
    SettingsOptions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="training")
]
"""Settings as options, in a box of the help that is called "training options"."""


def typed(options: SettingsOptions) -> dict[str, Any]:
    """The settings that were typed, by name."""
    return {name: value for name, value in vars(options).items() if value is not None}


@dataclass(frozen=True)
class SourceOptions:
    """How a SOURCE is read.

    Attributes:
        smiles: Column of a table with the SMILES.
        label: Column with the labels, or several separated by commas; in graph files, the
            attribute.
        identifier: Column or attribute that identifies a graph.
        task: classes, labels (several yes-or-no labels) or values (numbers).
        metric: Metric that decides: f1_macro, roc_auc, mcc, log_loss, rmse, ..., a scorer of
            scikit-learn, or scores.py:score. If it is given several times, the first decides.
        strict: Stop at the first line that cannot be read instead of skipping it.
        features: Features of molecules: standard (atoms and bonds, as in chemprop and OGB) or
            element (elements and bond orders; mixing is then lossless).
        max_bytes: Largest size of a dataset in bytes, also after unpacking. Files from strangers
            can fill the memory; raise it only for files that you trust.
    """

    smiles: Annotated[str | None, default("found by its name")] = None
    label: Annotated[str | None, default("found by its name")] = None
    identifier: Annotated[str | None, NO_DEFAULT] = None
    task: Annotated[str | None, default("follows from the labels")] = None
    metric: Annotated[
        tuple[str, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="METRIC", help_behavior_hint="(default: depends on the task)"),
    ] = ()
    strict: bool = False
    features: Annotated[str | None, default("standard")] = None
    max_bytes: Annotated[int | None, MAX_BYTES] = None

    def load(self, source: str, root: Path | None = None, **known: Any) -> GraphDataset:
        """The graphs of a SOURCE; ``known`` is what :func:`ifmixup.data.load` takes besides."""
        from ifmixup.data import load

        allow_bytes(self.max_bytes)
        reading = vars(self) | known
        # A metric is a matter of training: it may be one that only the training knows.
        del reading["metric"], reading["max_bytes"]
        return load(source, root, **reading)


@dataclass(frozen=True)
class EngineOptions:
    """Where runs execute.

    Attributes:
        engine: local (processes on this machine) or ray.
        workers: Number of processes (local).
        address: Address of a Ray cluster (ray).
        cpus_per_run: Number of CPUs per run (ray).
        gpus_per_run: Number of GPUs per run, such as 0.25 (ray).
        device: auto, cpu, cuda or mps.
        stuck_after: Seconds without a finished epoch after which a run fails (local).
        max_memory: Gigabytes of memory above which a run fails (local).
    """

    engine: str = "local"
    workers: Annotated[int | None, default("one per core")] = None
    address: Annotated[str | None, default("a cluster on this machine")] = None
    cpus_per_run: float = 1.0
    gpus_per_run: float = 0.0
    device: Annotated[str | None, default("cpu, or a GPU with --gpus-per-run")] = None
    stuck_after: float = 3600.0
    max_memory: Annotated[float | None, default("80 % of the memory")] = None

    def make(self) -> Engine:
        """The engine."""
        if self.engine == "local":
            from ifmixup.study.engines.local import LocalEngine

            return LocalEngine(
                self.workers,
                self.device or "cpu",
                stuck_after=self.stuck_after,
                max_memory=self.max_memory,
            )
        if self.engine == "ray":
            from ifmixup.study.engines.ray import RayEngine

            return RayEngine(
                self.address,
                cpus_per_run=self.cpus_per_run,
                gpus_per_run=self.gpus_per_run,
                device=self.device,
            )
        raise unknown_name("engine", self.engine, ENGINES)


SourceGroup = Annotated[SourceOptions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="source")]
"""How a SOURCE is read, in a box of the help that is called "source options"."""

EngineGroup = Annotated[EngineOptions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="engine")]
"""Where runs execute, in a box of the help that is called "engine options"."""


def resolved(options: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    """All options as plain values by name, as a configuration file has them.

    ``options`` are the command's own, groups among them; ``more`` those of models and methods.
    """
    values: dict[str, Any] = {}
    for name, value in vars(options).items():
        if name in ("print_config", "dry_run") or value is None or value == ():
            continue
        if is_dataclass(value):  # a group
            values |= resolved(value, {})
        elif isinstance(value, tuple):
            values[name] = list(value)
        else:
            values[name] = str(value) if isinstance(value, Path) else value
    return {**values, **more}


def shareable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Resolved options without those of one machine, and files without their folders."""
    return {
        name: _without_folders(value)
        for name, value in values.items()
        if name not in _OF_THE_MACHINE
    }


def _without_folders(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_folders(each) for each in value]
    return re.sub(r"[^\s=(]*[/\\]", "", value) if isinstance(value, str) else value
