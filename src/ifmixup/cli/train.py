"""``ifmixup train``: train one model and keep it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ifmixup.cli.class_options import split_options
from ifmixup.cli.config import print_config
from ifmixup.cli.console import PlainConsole, print_skipped
from ifmixup.cli.options import (
    NO_DEFAULT,
    SettingsGroup,
    Source,
    SourceGroup,
    resolved,
    typed,
)
from ifmixup.components import check_complete, resolve
from ifmixup.errors import InputError
from ifmixup.values import check_seed

if TYPE_CHECKING:
    from ifmixup.training.packed import PackedDataset
    from ifmixup.training.run_spec import Fold


_SPLIT = tyro.conf.arg(
    metavar="all|random|scaffold|group:COLUMN|column:COLUMN|FILE",
    help_behavior_hint="(default: the dataset's own, else all)",
)


@dataclass(frozen=True)
class TrainOptions:
    """What to train, how, and where it goes.

    Attributes:
        source: The graphs.
        settings: How to train. Defaults differ for some datasets; --print-config prints them.
        reading: How the SOURCE is read.
        model: A name (gcn, gin, gat, gatv2) or your own class (nets.py:Net).
        method: A name (none, ifmixup, ...) or your own class (noise.py:Noise).
        save: File to save the model to.
        resume: Continue from the file given by --save.
        split: all (train on all graphs), random (stratified), scaffold (Bemis-Murcko),
            group:COLUMN, column:COLUMN (its cells are train, val or test), or a JSON file with
            train, val and test.
        fold: Fold to hold out and test on, instead of training on all graphs or on the training
            part of a single split.
        folds: Number of folds.
        patience: Number of epochs without improvement on validation graphs after which training
            stops; the best weights are kept. Needs --fold or a single split.
        seed: Seed of the folds and the training.
        device: auto, cpu, cuda or mps.
        root: Folder to look for named datasets in.
        print_config: Print the options as TOML, for --config, and stop.
    """

    source: Source
    settings: SettingsGroup
    reading: SourceGroup
    model: str = "gcn"
    method: str = "none"
    save: Path = Path("model.pt")
    resume: bool = False
    split: Annotated[str | None, _SPLIT] = None
    fold: Annotated[int | None, NO_DEFAULT] = None
    folds: int = 10
    patience: Annotated[int | None, NO_DEFAULT] = None
    seed: int = 0
    device: str = "auto"
    root: Annotated[Path | None, NO_DEFAULT] = None
    print_config: bool = False


def train(options: TrainOptions, class_options: Sequence[str] = ()) -> int:
    """Train one model, on all graphs or with one fold held out, and save it.

    A training that was interrupted continues with --resume, and ends with the same weights.

    With --config FILE, options are read from TOML or YAML; typed options override them.
    """
    check_seed(options.seed)
    model, method = resolve("model", options.model), resolve("method", options.method)
    changes = split_options(class_options, [model, method], vars(options))
    from ifmixup.study.choose_split import columns_of
    from ifmixup.study.numbers import metric_text
    from ifmixup.training.checkpoint import load_checkpoint
    from ifmixup.training.edge_attributes import unread_note
    from ifmixup.training.fit import epoch_bar
    from ifmixup.training.fit import train as run_training
    from ifmixup.training.metric import resolve_metrics, shown
    from ifmixup.training.packed import pack
    from ifmixup.training.recommended import decided, starting_point
    from ifmixup.training.task import is_fraction, is_ours, title_of

    console = PlainConsole()
    dataset = options.reading.load(options.source, options.root, columns=columns_of(options.split))
    data = pack(dataset)
    if options.print_config:
        start = starting_point(data, model, method, {**typed(options.settings), **changes})
        shared, said = decided([start])
        print_config({**shared, **resolved(options, changes)}, said)
        return 0
    print_skipped(dataset, console)
    metrics = resolve_metrics(options.reading.metric, data)
    if is_ours(metrics[0]):  # a model file names it
        data = replace(data, metric=metrics[0].name)
    if data.num_classes == 1:
        raise InputError(
            f"All graphs of {data.name} have the same class, so there is nothing to learn."
        )
    start = starting_point(data, model, method, {**typed(options.settings), **changes})
    for component in (start.model, start.method):
        check_complete(component)
    unread = unread_note(data, [model])
    if unread is not None:
        console.print(f"Note: {unread}")
    fold = _fold(options, data, console)
    if options.resume and not options.save.exists():
        console.print(f"{options.save} does not exist; starting at epoch 0.")
    if options.save.exists() and not options.resume:
        raise InputError(
            f"{options.save} already exists. Continue with --resume, or --save to another file."
        )

    try:
        with epoch_bar(start.settings.epochs) as told:
            trained = run_training(
                start.settings,
                start.model.spec,
                start.method.spec,
                data,
                train=fold.indices("train"),
                validation=fold.indices("validation"),
                test=fold.indices("test"),
                patience=options.patience,
                metrics=metrics,
                seed=options.seed,
                device=options.device,
                save=options.save,
                resume=options.resume,
                **told,
            )
    except KeyboardInterrupt:
        if options.save.exists():
            epoch = load_checkpoint(options.save).state["epoch"]
            console.print(
                f"Stopped; {options.save} holds epoch {epoch}. The same command with --resume "
                f"continues from there."
            )
        else:
            console.print("Stopped before the end of the first epoch; nothing was saved.")
        return 130
    console.print(
        f"Trained {start.model.name} with {start.method.name} on {len(fold.train)} graphs of "
        f"{data.name}: {trained.epoch} epoch{'s' * (trained.epoch != 1)}, "
        f"{trained.seconds:.1f} s, training loss {trained.curves['train_loss'][-1]:.4f}."
    )
    if "test" in trained.latest:
        values = trained.all_metrics(*trained.predicted("test"))
        part = f"fold {options.fold}" if options.fold is not None else "the test part"
        first, *others = shown(metrics, data.task)
        title = title_of(first)
        texts = {
            name: metric_text(name, value, value) + " %" * (is_fraction(name) and isfinite(value))
            for name, value in values.items()
        }
        more = "".join(f", {title_of(name)} {texts[name]}" for name in others)
        console.print(
            f"{title[0].upper()}{title[1:]} on the {len(fold.test)} graphs of {part}: "
            f"{texts[first]}{more}"
        )
    console.print(f"Saved to {options.save}")
    return 0


def _fold(options: TrainOptions, data: PackedDataset, console: PlainConsole) -> Fold:
    """Which graphs are trained on, which choose the epoch, and which judge."""
    from ifmixup.study.choose_split import choose_splits
    from ifmixup.training.run_spec import PARTS, Fold

    if options.split == "all" and options.fold is not None:
        raise InputError("--split all trains on all graphs: leave out --fold, or name a split.")
    if options.split in (None, "all") and options.fold is None:
        if options.split is None and data.split is not None:
            own = {part: data.split[part].tolist() if part in data.split else () for part in PARTS}
            return Fold(0, 0, **{part: tuple(index) for part, index in own.items()})
        if options.patience is not None:
            raise InputError(
                "--patience needs validation graphs. Choose the fold to hold out with --fold."
            )
        return Fold(0, 0, tuple(range(len(data))), (), ())
    splits = choose_splits(data, options.split or "random", folds=options.folds, seed=options.seed)
    folds = splits.folds
    if options.fold is None and len(folds) > 1:
        raise InputError(
            f"--split {options.split} gives {len(folds)} folds. Choose the one to hold out and "
            f"test on, such as --fold 0, or make a single split with --folds 1."
        )
    if options.fold is not None and not 0 <= options.fold < len(folds):
        raise InputError(f"--fold must be from 0 to {len(folds) - 1}; got {options.fold}.")
    for note in splits.notes:
        console.print(note)
    if options.fold is None:
        return folds[0]
    fold = folds[options.fold]
    return fold.without_validation if options.patience is None else fold
