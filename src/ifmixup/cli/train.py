"""``ifmixup train``: train one model and keep it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ifmixup.cli.config import to_toml
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.study.splits import make_splits
from ifmixup.training import Settings, Training, load_checkpoint, pack
from ifmixup.training import train as run_training


@dataclass(frozen=True)
class TrainOptions:
    """What to train, how, and where it goes.

    Attributes:
        dataset: A dataset's name, such as MUTAG.
        settings: How to train.
        save: Where the model goes.
        resume: Go on from the file given by --save.
        fold: Leave this fold out and test on it; None trains on all graphs.
        folds: How many folds there are.
        seed: Seeds the folds and the training.
        device: auto, cpu, cuda or mps.
        root: Where the dataset lies.
        print_config: Print the options that would be used, as TOML, and stop.
    """

    dataset: tyro.conf.Positional[str]
    settings: Annotated[Settings, tyro.conf.arg(name="")]
    save: Path = Path("model.pt")
    resume: bool = False
    fold: int | None = None
    folds: int = 10
    seed: int = 0
    device: str = "auto"
    root: Path | None = None
    print_config: bool = False


def train(options: Annotated[TrainOptions, tyro.conf.arg(name="")]) -> int:
    """Train one model, on all graphs or without one fold, and save it as it goes.

    Stopped by Ctrl-C or killed, the same command with --resume goes on and ends with the same
    weights. --config FILE reads options from TOML or YAML; options that are typed override it.
    """
    if options.print_config:
        plain = {key: value for key, value in vars(options).items() if key not in _NOT_PRINTED}
        print(to_toml({**asdict(options.settings), **plain}), end="")
        return 0
    console = Console()
    data = pack(load(options.dataset, options.root))
    train_on, test = torch.arange(len(data)), None
    if options.fold is not None:
        if not 0 <= options.fold < options.folds:
            raise InputError(f"--fold must be from 0 to {options.folds - 1}; got {options.fold}.")
        split = make_splits(data, folds=options.folds, seed=options.seed).fold(0, options.fold)
        train_on, test = torch.cat([split.train, split.validation]), split.test
    if options.resume and not options.save.exists():
        console.print(f"There is no {options.save} to go on from: starting at epoch 0.")
    if options.save.exists() and not options.resume:
        raise InputError(
            f"{options.save} is there already. Go on with --resume, or --save to another file."
        )

    with _progress() as progress:
        task = progress.add_task("", total=options.settings.epochs, figures="")

        def show(training: Training) -> None:
            figures = f"loss {training.curves['train_loss'][-1]:.4f}"
            if "test_accuracy" in training.curves:
                figures += f"  test accuracy {training.curves['test_accuracy'][-1]:.3f}"
            progress.update(task, completed=training.epoch, figures=figures)

        try:
            trained = run_training(
                options.settings,
                data,
                train=train_on,
                test=test,
                seed=options.seed,
                device=options.device,
                save=options.save,
                resume=options.resume,
                each_epoch=show,
            )
        except KeyboardInterrupt:
            progress.stop()
            if options.save.exists():
                epoch = load_checkpoint(options.save).state["epoch"]
                console.print(
                    f"Stopped; {options.save} holds epoch {epoch}. The same command with --resume "
                    f"goes on from there."
                )
            else:
                console.print("Stopped before the first epoch was done: nothing is saved.")
            return 130
    console.print(
        f"Trained {options.settings.model} with {options.settings.method} on {len(train_on)} "
        f"graphs of {data.name}: {trained.epoch} epochs, {trained.seconds:.1f} s, "
        f"training loss {trained.curves['train_loss'][-1]:.4f}."
    )
    if test is not None:
        accuracy = trained.curves["test_accuracy"][-1]
        console.print(f"Accuracy on the {len(test)} graphs of fold {options.fold}: {accuracy:.3f}")
    console.print(f"Saved to {options.save}")
    return 0


_NOT_PRINTED = ("settings", "print_config")


def _progress() -> Progress:
    return Progress(
        TextColumn("epoch {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
