"""A progress bar of epochs, with the loss and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ifmixup.training.task import TITLES
from ifmixup.training.trainer import Trainer


@contextmanager
def epoch_bar(epochs: int) -> Iterator[Callable[[Trainer], None]]:
    """A bar on stderr while it is open; what it gives is to be called after each epoch.

    Args:
        epochs: How many epochs there will be, at most.
    """
    with Progress(
        TextColumn("epoch {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        task = progress.add_task("", total=epochs, figures="")

        def show(training: Trainer) -> None:
            progress.update(task, completed=training.epoch, figures=figures(training))

        yield show


def figures(training: Trainer) -> str:
    """The loss of the last epoch, and the metric on each part that is looked at."""
    metric = training.data.metric
    told = f"loss {training.curves['train_loss'][-1]:.4f}"
    for part, measured in training.latest.items():
        told += f"  {part} {TITLES[metric]} {measured[metric]:.3f}"
    return told
