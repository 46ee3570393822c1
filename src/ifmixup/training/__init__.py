"""One run: settings, loop, metrics, checkpoints."""

from ifmixup.training.packed import Packed, pack
from ifmixup.training.run import Fold, RunResult, run
from ifmixup.training.run_spec import PROTOCOLS, RunSpec
from ifmixup.training.settings import Settings
from ifmixup.training.training import Training

__all__ = [
    "PROTOCOLS",
    "Fold",
    "Packed",
    "RunResult",
    "RunSpec",
    "Settings",
    "Training",
    "pack",
    "run",
]
