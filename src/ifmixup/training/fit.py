"""Training one model to keep: saved as it goes, and resumed where it stopped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from ifmixup.errors import CheckpointError
from ifmixup.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ifmixup.training.packed import Packed
from ifmixup.training.run import choose_device, reproducible
from ifmixup.training.run_spec import digest
from ifmixup.training.settings import Settings
from ifmixup.training.training import Training

SAVE_EVERY = 1.0  # seconds, at the end of an epoch; the first epoch is saved at once


def train(
    settings: Settings,
    data: Packed,
    *,
    train: Tensor,
    test: Tensor | None = None,
    seed: int = 0,
    device: str = "cpu",
    save: Path | None = None,
    resume: bool = False,
    each_epoch: Callable[[Training], None] | None = None,
) -> Training:
    """Train a model; with ``save`` it survives being stopped at any moment.

    Args:
        settings: How to train.
        data: The packed dataset.
        train: The graphs to train on, as places in the dataset.
        test: The graphs to look at after every epoch.
        seed: Seeds everything that is drawn.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        save: Where checkpoints go.
        resume: Go on from the checkpoint at ``save``, if there is one; the end is the same as
            without the interruption.
        each_epoch: Called after each epoch.
    """
    about = describe(settings, data, train, seed)
    with reproducible():
        training = Training(
            settings, data.to(choose_device(device)), train=train, test=test, seed=seed
        )
        if resume and save is not None and save.exists():
            checkpoint = load_checkpoint(save)
            _check_same(save, checkpoint.about, about)
            try:
                training.load_state_dict(checkpoint.state)
            except (KeyError, RuntimeError, TypeError, ValueError) as error:
                raise CheckpointError(f"{save} is a damaged checkpoint: {error}") from error
        saved = -math.inf
        while training.epoch < settings.epochs:
            training.run_epoch()
            if each_epoch is not None:
                each_epoch(training)
            if save is not None and time.monotonic() - saved > SAVE_EVERY:
                save_checkpoint(save, Checkpoint(about, training.state_dict()))
                saved = time.monotonic()
        if save is not None:
            save_checkpoint(save, Checkpoint(about, training.state_dict()))
    return training


def describe(settings: Settings, data: Packed, train: Tensor, seed: int) -> dict[str, Any]:
    """What a checkpoint says of itself: all that its weights depend on."""
    return {
        "dataset": data.name,
        "data": data.fingerprint,
        "num_features": data.num_features,
        "num_classes": data.num_classes,
        "edge_dim": data.edge_dim,
        "trained_on": digest(train.tolist()),
        "graphs": train.numel(),
        "seed": seed,
        "settings": settings.relevant(),
    }


def _check_same(path: Path, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    """See that a checkpoint is of this training: other settings would not resume it."""
    for name, value in wanted.items():
        old = stored.get(name)
        if name == "settings" and isinstance(old, dict):
            differ = sorted(k for k in {*old, *value} if old.get(k) != value.get(k))
            if differ:
                changes = ", ".join(f"{k} was {old.get(k)}, is {value.get(k)}" for k in differ)
                raise CheckpointError(
                    f"{path} was trained with other settings: {changes}. Resume with the same "
                    f"settings, or save to another file."
                )
        elif old != value:
            raise CheckpointError(
                f"{path} is of another training: {name} was {old}, is {value}. Resume with the "
                f"same, or save to another file."
            )
