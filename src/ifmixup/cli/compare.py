"""``ifmixup compare``: does a method help on these graphs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import tyro

from ifmixup.cli.class_options import split_options
from ifmixup.cli.config import print_config
from ifmixup.cli.console import PlainConsole, print_answer, print_skipped
from ifmixup.cli.options import (
    GROUP,
    NO_DEFAULT,
    SPLIT,
    EngineOptions,
    SettingsOptions,
    Source,
    SourceOptions,
    default,
    resolved,
    shareable,
    typed,
)
from ifmixup.components import resolve_all
from ifmixup.errors import InputError


@dataclass(frozen=True)
class CompareOptions:
    """What to compare, how, and where the results go.

    Attributes:
        source: The graphs.
        settings: How to train.
        reading: How the SOURCE is read.
        engine: Where runs execute.
        models: Names (gcn, gin, gat, gatv2), classes of your own (nets.py:Net), or variants
            ('gin3=gin(num_layers=3)').
        methods: Names, all, classes of your own (noise.py:Noise), or variants
            ('wide=ifmixup(alpha=1,beta=1)'); each is compared with none, else with the first.
        protocols: holdout (honest), paper (optimistic) and last (last epoch); paper and last share
            their runs.
        folds: Number of folds; with 1, one split of 80/10/10.
        repeats: Number of cross-validations, each with other folds. One split is trained on so many
            times, with other seeds.
        seed: Seeds folds and runs.
        split: random (stratified), scaffold (whole Bemis-Murcko scaffolds), group:COLUMN (whole
            groups), column:COLUMN (train, val or test), or a JSON file with train, val and test.
        grid: paper, or a TOML or YAML file with lists of values by name: the settings and options
            to choose from.
        search: grid runs the whole grid; halving a fraction of it, and is a little optimistic.
        margin: The largest difference that does not matter, in points (for RMSE and the like in per
            cent of the baseline's mean): smaller ones are "no difference larger than 1 point".
        name: The name of the study; the results go to ifmixup-runs/NAME.
        folder: Where the results go instead.
        root: Where datasets with names are.
        retry_failed: Run again what failed before.
        baselines: Measure what a guess without the graphs' structure gets on the same folds.
        dry_run: Print the settings, how many runs there are and how long they take, and stop.
        time_limit: Such as 30m or 2h: run as many folds as fit, each for all models and methods.
        print_config: Print the options as TOML, for --config, and stop.
    """

    source: Source
    settings: Annotated[SettingsOptions, GROUP]
    reading: Annotated[SourceOptions, GROUP]
    engine: Annotated[EngineOptions, GROUP]
    models: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODEL ...")] = ("gcn",)
    methods: Annotated[tuple[str, ...], tyro.conf.arg(metavar="METHOD ...")] = ("none", "ifmixup")
    protocols: Annotated[tuple[str, ...], tyro.conf.arg(metavar="PROTOCOL ...")] = ("holdout",)
    folds: int = 10
    repeats: int = 1
    seed: int = 0
    split: Annotated[str | None, SPLIT] = None
    grid: Annotated[str | None, NO_DEFAULT] = None
    search: str = "grid"
    margin: float = 1.0
    name: Annotated[str | None, default("the name of the dataset")] = None
    folder: Annotated[Path | None, NO_DEFAULT] = None
    root: Annotated[Path | None, NO_DEFAULT] = None
    retry_failed: bool = False
    baselines: bool = True
    dry_run: bool = False
    time_limit: Annotated[str | None, NO_DEFAULT] = None
    print_config: bool = False


def compare(options: CompareOptions, class_options: Sequence[str] = ()) -> int:
    """Train every chosen model with every chosen method on the same folds, and say what helps.

    Every run is stored when it ends: the same command continues where it stopped. A setting that is
    not typed is as recommended for a dataset of the paper, else the default. --config FILE reads
    options from TOML or YAML; typed options override it, and relative paths in it are relative to
    the current folder.
    """
    models, methods = resolve_all("model", options.models), resolve_all("method", options.methods)
    changes: dict[str, Any] = split_options(class_options, [*models, *methods], vars(options))
    config = resolved(options, changes)
    from ifmixup.study.choose_split import columns_of
    from ifmixup.study.compare import compare as run_compare
    from ifmixup.training.mapped import is_packed

    for name in changes.keys() & signature(run_compare).parameters.keys():
        raise InputError(
            f"ifmixup.compare has an argument {name!r} of its own. Rename the option of the class, "
            f"or set it in a variant: 'Net({name}=...)'."
        )
    console = PlainConsole()
    dataset: Any = options.source
    if not is_packed(options.source):
        columns = columns_of(options.split)
        dataset = options.reading.load(options.source, options.root, columns=columns)
    if options.print_config:
        from ifmixup.study.grid import check_grid, load_grid
        from ifmixup.training.mapped import open_packed
        from ifmixup.training.packed import pack
        from ifmixup.training.recommended import decided, starting_point

        given = {**typed(options.settings), **changes}
        data = open_packed(dataset) if is_packed(dataset) else pack(dataset)
        starts = [starting_point(data, a, b, given) for a in models for b in methods]
        searched = [name for names in check_grid(load_grid(options.grid)) for name in names]
        shared, said = decided(starts, searched)
        print_config({**shared, **config}, said)
        return 0
    if not is_packed(options.source):
        print_skipped(dataset, console)
    try:
        found = run_compare(
            dataset,
            models,
            methods,
            protocols=options.protocols,
            folds=options.folds,
            repeats=options.repeats,
            seed=options.seed,
            split=options.split,
            grid=options.grid,
            search=options.search,
            engine=options.engine.make(),
            margin=options.margin,
            name=options.name,
            folder=options.folder,
            retry_failed=options.retry_failed,
            metric=options.reading.metric,
            baselines=options.baselines,
            dry_run=options.dry_run,
            time_limit=options.time_limit,
            config=shareable({"command": "compare", **config}),
            **typed(options.settings),
            **changes,
        )
    except KeyboardInterrupt:
        console.print("Stopped. What was finished is stored; the same command continues from it.")
        return 130
    if options.dry_run:
        return 0
    console.print(found.rich_table())
    print_answer(found, config, console)
    found.save()
    console.print(f"{len(found.runs)} runs and the table in csv, md, tex and json: {found.folder}")
    for record in found.failed:
        spec = record.spec
        console.print(
            f"Failed: {spec.model.name} {spec.method.name} repeat {spec.repeat} fold {spec.fold}: "
            f"{record.error}"
        )
    if found.failed:
        console.print(f"{len(found.failed)} runs failed. --retry-failed tries them again.")
        return 1
    return 0
