"""``ifmixup train``: train one model and keep it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro

from ifmixup.cli.config import to_toml
from ifmixup.cli.plain_console import PlainConsole
from ifmixup.cli.settings_options import SettingsOptions, typed
from ifmixup.cli.source_options import SourceOptions
from ifmixup.data.dataset import summary
from ifmixup.errors import InputError
from ifmixup.study.splits import make_splits
from ifmixup.training import Fold, PackedDataset, Settings, load_checkpoint, pack
from ifmixup.training import train as run_training
from ifmixup.training.epoch_bar import epoch_bar
from ifmixup.training.recommended import recommended
from ifmixup.training.task import TITLES


@dataclass(frozen=True)
class TrainOptions:
    """What to train, how, and where it goes.

    Attributes:
        source: A name (MUTAG, ogb:ogbg-molhiv), molecules.csv:smiles:label (or .csv.gz, .parquet),
            a folder of TU, GraphML or JSON files, or a .pt file of PyG graphs.
        settings: How to train; what is not typed is as recommended for dataset, model and method.
        reading: How the SOURCE is read.
        save: Where the model goes.
        resume: Go on from the file given by --save.
        fold: Leave this fold out and test on it; None trains on all graphs, or on the training
            part of a dataset that comes with a split of its own.
        folds: How many folds there are.
        patience: Stop after so many epochs without a better one on validation graphs, which are
            not trained on, and keep the best; needs --fold or a split of the dataset's own.
        seed: Seeds the folds and the training.
        device: auto, cpu, cuda or mps.
        root: Where datasets with names lie.
        print_config: Print the options that would be used, as TOML, and stop.
    """

    source: tyro.conf.Positional[str]
    settings: Annotated[SettingsOptions, tyro.conf.arg(name="")]
    reading: Annotated[SourceOptions, tyro.conf.arg(name="")]
    save: Path = Path("model.pt")
    resume: bool = False
    fold: int | None = None
    folds: int = 10
    patience: int | None = None
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
        print(to_toml({**typed(options.settings), **vars(options.reading), **plain}), end="")
        return 0
    console = PlainConsole()
    dataset = options.reading.load(options.source, options.root)
    for line in summary(dataset.skipped):
        console.print(f"Skipped {line}")
    data = pack(dataset)
    if data.num_classes == 1:
        raise InputError(f"All graphs of {data.name} are of one class: there is nothing to learn.")
    settings = _settings(options, data)
    fold = _fold(options, data)
    if options.resume and not options.save.exists():
        console.print(f"There is no {options.save} to go on from: starting at epoch 0.")
    if options.save.exists() and not options.resume:
        raise InputError(
            f"{options.save} is there already. Go on with --resume, or --save to another file."
        )

    try:
        with epoch_bar(settings.epochs) as show:
            trained = run_training(
                settings,
                data,
                train=fold.train,
                validation=fold.validation,
                test=fold.test,
                patience=options.patience,
                seed=options.seed,
                device=options.device,
                save=options.save,
                resume=options.resume,
                each_epoch=show,
            )
    except KeyboardInterrupt:
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
        f"Trained {settings.model} with {settings.method} on {len(fold.train)} "
        f"graphs of {data.name}: {trained.epoch} epochs, {trained.seconds:.1f} s, "
        f"training loss {trained.curves['train_loss'][-1]:.4f}."
    )
    if "test" in trained.latest:
        value = trained.latest["test"][data.metric]
        where = f"fold {options.fold}" if options.fold is not None else "the test part"
        title = TITLES[data.metric]
        console.print(
            f"{title[0].upper()}{title[1:]} on the {len(fold.test)} graphs of {where}: {value:.3f}"
        )
    console.print(f"Saved to {options.save}")
    return 0


_NOT_PRINTED = ("source", "settings", "reading", "print_config")


def _settings(options: TrainOptions, data: PackedDataset) -> Settings:
    """What is recommended, changed by what was typed."""
    plain, changes = Settings(), typed(options.settings)
    model, method = changes.get("model", plain.model), changes.get("method", plain.method)
    return recommended(data.name, model, method).with_(**changes)


def _fold(options: TrainOptions, data: PackedDataset) -> Fold:
    """Which graphs are trained on, which choose the epoch, and which judge."""
    none = torch.empty(0, dtype=torch.long)
    if options.fold is not None:
        if not 0 <= options.fold < options.folds:
            raise InputError(f"--fold must be from 0 to {options.folds - 1}; got {options.fold}.")
        fold = make_splits(data, folds=options.folds, seed=options.seed).fold(0, options.fold)
        if options.patience is None:
            return Fold(torch.cat([fold.train, fold.validation]), none, fold.test)
        return fold
    if data.split is not None:
        return Fold(*(data.split.get(part, none) for part in ("train", "validation", "test")))
    if options.patience is not None:
        raise InputError("--patience needs graphs to look at. Say which fold to leave out: --fold.")
    return Fold(torch.arange(len(data)), none, none)
