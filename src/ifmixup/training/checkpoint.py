"""Checkpoints: a training on disk, whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from ifmixup.errors import CheckpointError, DatasetError
from ifmixup.safe_io import atomically, printable
from ifmixup.tensor_files import load_tensors
from ifmixup.values import short

FORMAT, VERSION = "ifmixup-checkpoint", 4


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds.

    Attributes:
        about: Plain values that say what was trained, and on what data. ``data`` is what
            :meth:`PackedDataset.describe <ifmixup.training.packed.PackedDataset.describe>` gives,
            ``settings`` how it was trained, ``model`` and ``method`` the classes and their options
            (:class:`~ifmixup.components.ClassSpec`; never code), ``versions`` what was installed,
            ``measured`` the metrics on graphs that were held out.
        state: What :meth:`Trainer.state_dict <ifmixup.training.trainer.Trainer.state_dict>` gave:
            ``model`` has the weights, ``scaling`` what features and values were standardised by.
    """

    about: dict[str, Any]
    state: dict[str, Any]


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never half of it."""
    content = {"format": FORMAT, "version": VERSION, **vars(checkpoint)}
    path.parent.mkdir(parents=True, exist_ok=True)
    # Given a path, torch.save would write its name into the file, and no two would be the same.
    with atomically(path) as unfinished, unfinished.open("xb") as stream:
        torch.save(content, stream)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint. The file is not trusted: only tensors and plain values are loaded.

    Raises:
        CheckpointError: If the file is missing, not a checkpoint of ifmixup, or of another version.
    """
    try:
        content = load_tensors(path)
    except FileNotFoundError as error:
        raise CheckpointError(f"There is no checkpoint {path}.") from error
    except UnpicklingError as error:
        raise CheckpointError(
            f"{path} is not a checkpoint of ifmixup: it holds more than tensors and plain values, "
            f"which is not loaded ({printable(error)}). Is it a file of graphs, or of another "
            f"program?"
        ) from error
    except DatasetError as error:  # it is too large
        raise CheckpointError(f"{path}: {error}") from error
    # Of a file that is something else, the unpickler may raise nearly any error.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(
            f"{path} is not a checkpoint of ifmixup: {printable(reason)}"
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of ifmixup, but holds something else.")
    if content.get("version") != VERSION:
        raise CheckpointError(
            f"{path} is a checkpoint of version {short(content.get('version'))}; this ifmixup "
            f"reads version {VERSION}. Install the version that wrote it."
        )
    about, state = content.get("about"), content.get("state")
    if not isinstance(about, dict) or not isinstance(state, dict):
        raise CheckpointError(f"{path} is a damaged checkpoint: a part of it is missing.")
    return Checkpoint(about, state)
