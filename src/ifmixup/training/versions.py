"""What is installed here."""

from __future__ import annotations

import platform
from importlib.metadata import version

import torch
import torch_geometric


def versions() -> dict[str, str]:
    """The versions that a run's numbers may depend on."""
    return {
        "ifmixup": version("ifmixup"),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "torch_geometric": torch_geometric.__version__,
    }
