"""Training one model to keep: saved as it goes, and resumed where it stopped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypedDict

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from ifmixup.components import ClassSpec, foreign
from ifmixup.errors import CheckpointError, InputError
from ifmixup.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ifmixup.training.early_stopping import BestWeights
from ifmixup.training.edge_attributes import with_edge_attr
from ifmixup.training.metrics import number_known
from ifmixup.training.packed import PackedDataset
from ifmixup.training.preflight import preflight
from ifmixup.training.run import choose_device, reproducible, versions
from ifmixup.training.run_spec import digest
from ifmixup.training.settings import Settings
from ifmixup.training.task import is_ours, title_of
from ifmixup.training.trainer import Trainer
from ifmixup.values import check_seed

SAVE_EVERY = 1.0  # seconds, at the end of an epoch; the first epoch is saved at once


def train(
    settings: Settings,
    model: ClassSpec,
    method: ClassSpec,
    data: PackedDataset,
    *,
    train: Tensor,
    validation: Tensor | None = None,
    test: Tensor | None = None,
    patience: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    save: Path | None = None,
    resume: bool = False,
    each_epoch: Callable[[Trainer], None] | None = None,
    each_fit: Callable[[float], None] | None = None,
    metrics: Sequence[ClassSpec] = (),
) -> Trainer:
    """Train a model; with ``save`` it survives being stopped at any moment.

    A model or a method of the user's is tried on a few graphs first. The arguments that are not
    named here are those of :class:`~ifmixup.training.trainer.Trainer`.

    Args:
        validation: The graphs that choose the epoch: the trained model has the weights of the best
            one. Without them it has those of the last one.
        test: The graphs to evaluate after every epoch, which choose nothing.
        patience: Stop after so many epochs without a better one; needs ``validation``.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        save: Where checkpoints go.
        resume: Go on from the checkpoint at ``save``, if there is one; the result is the same as
            without the interruption.
        each_epoch: Called after each epoch.
        each_fit: Called with the share of the method's fit that is done, as that goes on.
        metrics: What chooses the epoch, and others to measure; by default the dataset's own.
    """
    check_seed(seed)
    best = _best_weights(data, validation, patience)
    settings = with_edge_attr(settings, model, data)  # a saved model says what it reads
    about: dict[str, Any] = {  # everything that the weights depend on
        "data": data.describe(),
        "fingerprint": data.fingerprint,
        "trained_on": digest(train.tolist()),
        "graphs": train.numel(),
        "seed": seed,
        "settings": settings.to_dict(),
        "model": model.to_dict(),
        "method": method.to_dict(),
    }
    if others := [spec.to_dict() for spec in metrics if not is_ours(spec)]:
        about["metrics"] = others
    if best is not None and validation is not None:
        about |= {"validated_on": digest(validation.tolist()), "patience": patience}
    if foreign(model) or foreign(method):
        preflight(settings, model, method, data)
    with reproducible():
        trainer = Trainer(
            settings,
            model,
            method,
            data.to(choose_device(device)),
            train=train,
            validation=validation,
            test=test,
            seed=seed,
            each_fit=each_fit,
            metrics=metrics,
        )
        if resume and save is not None and save.exists():
            _resume(save, about, trainer, best)
        saved = -math.inf
        while trainer.epoch < settings.epochs and not (best is not None and best.over):
            trainer.run_epoch()
            if best is not None:
                best.update(trainer)
            if each_epoch is not None:
                each_epoch(trainer)
            if save is not None and time.monotonic() - saved > SAVE_EVERY:
                save_checkpoint(save, _checkpoint(about, trainer, best))
                saved = time.monotonic()
        if best is not None:
            best.restore(trainer)
        if save is not None:
            save_checkpoint(save, _checkpoint(about, trainer, best))
    return trainer


def _best_weights(
    data: PackedDataset, validation: Tensor | None, patience: int | None
) -> BestWeights | None:
    if validation is not None and validation.numel():
        known = number_known(data.y[validation.to(data.y.device)])
        if data.task != "classes" and not int(known):
            raise InputError(
                f"None of the {validation.numel()} validation graphs of {data.name} has a known "
                f"target y, so no epoch is better than another. Choose others."
            )
        return BestWeights(patience)
    if patience is not None:
        raise InputError(
            "patience needs validation graphs, to see whether an epoch was better. Give "
            "validation=, or leave patience out."
        )
    return None


def _checkpoint(about: dict[str, Any], trainer: Trainer, best: BestWeights | None) -> Checkpoint:
    state = trainer.state_dict()
    if best is not None:
        state["best"] = best.state_dict()
    about = {
        **about,
        "parameters": sum(each.numel() for each in trainer.model.parameters()),
        "versions": versions(),
        "saved": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "measured": _measured(trainer, best),
    }
    return Checkpoint(about, state)


def _measured(trainer: Trainer, best: BestWeights | None) -> dict[str, Any] | None:
    """The metrics of the model's weights on graphs that were held out; None if there are none.

    Those on the graphs that chose the epoch, which flatter it, only where there are no others.
    """
    for part in ("test", "validation"):
        if part in trainer.latest:
            return {
                "part": part,
                "graphs": trainer.evaluated[part].numel(),
                "epoch": best.epoch if best is not None and best.restored else trainer.epoch,
                "metric": trainer.metric,
                "metrics": trainer.latest[part],
            }
    return None


def _resume(path: Path, about: dict[str, Any], trainer: Trainer, best: BestWeights | None) -> None:
    checkpoint = load_checkpoint(path)
    _check_same(path, checkpoint.about, about)
    try:
        trainer.load_state_dict(checkpoint.state)
        if best is not None:
            best.load_state_dict(checkpoint.state["best"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is a damaged checkpoint: {error}") from error


def _check_same(path: Path, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Check that a checkpoint is of this training: with anything else it cannot go on."""
    for name in dict.fromkeys([*wanted, "validated_on", "metrics"]):
        old, new = stored.get(name), wanted.get(name)
        if name in ("model", "method"):
            old, new = _identity(old), _identity(new)
        if old == new:
            continue
        problem = f"belongs to another training: {name} was {old}, is {new}"
        if isinstance(old, dict) and isinstance(new, dict):
            differ = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
            changes = ", ".join(f"{key} was {old.get(key)}, is {new.get(key)}" for key in differ)
            problem = f"was trained with other {name}: {changes}"
        raise CheckpointError(
            f"{path} {problem}. Resume with the same {name}, or save to another file."
        )


def _identity(values: Any) -> Any:
    """What the weights depend on of a model or a method, by name: neither label nor path."""
    if not isinstance(values, dict) or not isinstance(values.get("options"), dict):
        return values
    name = str(values.get("target")).rpartition(":")[2]
    return {"class": name, "code": values.get("source"), **values["options"]}


class Told(TypedDict, total=False):
    """What :func:`train` calls while it goes on."""

    each_epoch: Callable[[Trainer], None]
    each_fit: Callable[[float], None]


@contextmanager
def epoch_bar(epochs: int) -> Iterator[Told]:
    """A progress bar on stderr; it gives what :func:`train` calls."""
    with Progress(
        TextColumn("epoch {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        task = progress.add_task("", total=epochs, figures="")

        def show(trainer: Trainer) -> None:
            metric = trainer.metric
            text = f"loss {trainer.curves['train_loss'][-1]:.4f}"
            for part, measured in trainer.latest.items():
                value = f"{measured[metric]:.3f}".replace("-", "−")
                text += f"  {part} {title_of(metric)} {value}"
            progress.update(task, completed=trainer.epoch, figures=text)

        def show_fit(share: float) -> None:
            progress.update(task, figures=f"fitting the method: {100 * share:.0f} %")

        yield {"each_epoch": show, "each_fit": show_fit}
