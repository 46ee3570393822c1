"""``ifmixup compare``: does a method help on these graphs?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ifmixup.cli.config import to_toml
from ifmixup.cli.engine_options import EngineOptions
from ifmixup.cli.plain_console import PlainConsole
from ifmixup.cli.settings_options import SettingsOptions, typed
from ifmixup.cli.source_options import SourceOptions
from ifmixup.cli.typed_words import TYPED
from ifmixup.data.dataset import summary
from ifmixup.errors import InputError
from ifmixup.study.commands import note_command
from ifmixup.study.compare import compare as run_compare
from ifmixup.study.table import rich_table


@dataclass(frozen=True)
class CompareOptions:
    """What to compare, how, and where.

    Attributes:
        source: A name (MUTAG, ogb:ogbg-molhiv), molecules.csv:smiles:label (or .csv.gz, .parquet),
            a folder of TU, GraphML or JSON files, or a .pt file of PyG graphs.
        settings: How to train; what is not typed is as recommended for dataset, model and method.
        reading: How the SOURCE is read.
        models: Which models: gcn, gin, gat, gatv2.
        methods: Which methods; none is what the others are compared with.
        protocols: holdout (honest) and paper (optimistic); each has its own runs.
        folds: How many folds.
        repeats: How many times the cross-validation is repeated with other folds.
        seed: Seeds folds and runs.
        splits: A file with folds to use instead of drawing them.
        grid: paper, or a TOML or YAML file with lists of values: the settings to choose from.
        search: grid runs the whole grid; halving a fraction of it, and is a little optimistic.
        engine: Where runs execute.
        name: What to call the study; the results go to ifmixup-runs/NAME.
        folder: Where the results go instead.
        root: Where datasets with names lie.
        retry_failed: Run again what failed before.
        print_config: Print the options that would be used, as TOML, and stop.
    """

    source: tyro.conf.Positional[str]
    settings: Annotated[SettingsOptions, tyro.conf.arg(name="")]
    reading: Annotated[SourceOptions, tyro.conf.arg(name="")]
    engine: Annotated[EngineOptions, tyro.conf.arg(name="")]
    models: tuple[str, ...] = ("gcn",)
    methods: tuple[str, ...] = ("none", "ifmixup")
    protocols: tuple[str, ...] = ("holdout",)
    folds: int = 10
    repeats: int = 1
    seed: int = 0
    splits: Path | None = None
    grid: str | None = None
    search: str = "grid"
    name: str | None = None
    folder: Path | None = None
    root: Path | None = None
    retry_failed: bool = False
    print_config: bool = False


def compare(options: Annotated[CompareOptions, tyro.conf.arg(name="")]) -> int:
    """Train every chosen model with every chosen method on the same folds, and say what helps.

    Every run is stored as it ends: the same command goes on where it stopped. --config FILE reads
    options from TOML or YAML; options that are typed override it.
    """
    if options.print_config:
        hidden = ("settings", "reading", "engine", "print_config", "source")
        shown = {key: value for key, value in vars(options).items() if key not in hidden}
        others = {**vars(options.reading), **vars(options.engine)}
        print(to_toml({**typed(options.settings), **shown, **others}), end="")
        return 0
    changes = typed(options.settings)
    if {"model", "method"} & changes.keys():
        raise InputError("compare takes --models and --methods, several of each.")
    console = PlainConsole()
    dataset = options.reading.load(options.source, options.root)
    for line in summary(dataset.skipped):
        console.print(f"Skipped {line}")
    try:
        found = run_compare(
            dataset,
            options.models,
            options.methods,
            protocols=options.protocols,
            folds=options.folds,
            repeats=options.repeats,
            seed=options.seed,
            splits=options.splits,
            grid=options.grid,
            search=options.search,
            engine=options.engine.make(),
            name=options.name,
            folder=options.folder,
            retry_failed=options.retry_failed,
            **changes,
        )
    except KeyboardInterrupt:
        console.print("Stopped. What was finished is stored; the same command goes on from there.")
        return 130
    console.print(rich_table(found.rows()))
    console.print(found.verdict())
    found.save()
    note_command(found.folder, TYPED.get())
    console.print(f"{len(found.runs)} runs and the table in csv, md, tex and json: {found.folder}")
    for record in found.failed:
        spec = record.spec
        console.print(
            f"Failed: {spec.settings.model} {spec.settings.method} repeat {spec.repeat} fold "
            f"{spec.fold}: {record.error}"
        )
    if found.failed:
        console.print(f"{len(found.failed)} runs failed. --retry-failed tries them again.")
        return 1
    return 0
