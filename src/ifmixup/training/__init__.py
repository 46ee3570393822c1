"""One run: settings, loop, metrics, checkpoints."""

from ifmixup.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ifmixup.training.fit import train
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.run import Fold, RunResult, run
from ifmixup.training.run_spec import PROTOCOLS, RunSpec
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer

__all__ = [
    "PROTOCOLS",
    "Checkpoint",
    "Fold",
    "PackedDataset",
    "RunResult",
    "RunSpec",
    "Settings",
    "Trainer",
    "load_checkpoint",
    "pack",
    "run",
    "save_checkpoint",
    "train",
]
