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
    NO_DEFAULT,
    SPLIT,
    EngineGroup,
    SettingsGroup,
    Source,
    SourceGroup,
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
        settings: How to train. Defaults differ for some datasets; --dry-run prints them.
        reading: How the SOURCE is read.
        engine: Where runs execute.
        models: Names (gcn, gin, gat, gatv2), your own classes (nets.py:Net), or variants
            ('gin3=gin(num_layers=3)').
        methods: Names, all, your own classes (noise.py:Noise), or variants
            ('wide=ifmixup(alpha=1,beta=1)'). Each is compared with none, or with the first.
        protocols: holdout (honest), paper (optimistic) or last (the last epoch).
        folds: Number of folds; 1 is a single 80/10/10 split.
        repeats: Number of cross-validations, each with new folds; with a single split, the number
            of seeds.
        seed: Seed of the folds and runs.
        split: random (stratified), scaffold (Bemis-Murcko), group:COLUMN, column:COLUMN (its cells
            are train, val or test), or a JSON file with train, val and test.
        grid: TOML or YAML file with lists of settings and options to choose from, or paper for the
            paper's grid.
        search: grid runs the whole grid; halving runs a fraction of it and is a little optimistic.
        margin: Largest difference that does not matter, in points, or in per cent of the mean
            of none for RMSE and other errors.
        name: Name of the study; results are stored in ifmixup-runs/NAME.
        folder: Folder for the results, instead of ifmixup-runs/NAME.
        root: Folder to look for named datasets in.
        retry_failed: Run failed runs again.
        baselines: Also measure two baselines: the majority class, or the mean, and a random forest.
        dry_run: Print the settings, the number of runs and the expected time, and stop.
        time_limit: Run as many whole folds as fit into this time, such as 30m or 2h.
        print_config: Print the options as TOML, for --config, and stop.
    """

    source: Source
    settings: SettingsGroup
    reading: SourceGroup
    engine: EngineGroup
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
    """Train every model with every method on the same folds, and report what helps.

    Every run is stored when it ends. The same command continues where it stopped.

    With --config FILE, options are read from TOML or YAML; typed options override them.
    """
    models, methods = resolve_all("model", options.models), resolve_all("method", options.methods)
    changes: dict[str, Any] = split_options(class_options, [*models, *methods], vars(options))
    config = resolved(options, changes)
    from ifmixup.study.choose_split import columns_of
    from ifmixup.study.compare import compare as run_compare
    from ifmixup.training.mapped import is_packed

    for name in changes.keys() & signature(run_compare).parameters.keys():
        raise InputError(
            f"{name!r} is also an argument of ifmixup.compare. Rename the option of the class, or "
            f"set it in a variant: 'Net({name}=...)'."
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
        console.print("Stopped. Finished runs are stored; the same command continues from there.")
        return 130
    if options.dry_run:
        return 0
    console.print(found.rich_table())
    print_answer(found, config, console)
    found.save()
    console.print(
        f"{len(found.runs)} run{'s' * (len(found.runs) != 1)} and the table in csv, md, tex and "
        f"json: {found.folder}"
    )
    for record in found.failed:
        spec = record.spec
        console.print(
            f"Failed: {spec.model.name} {spec.method.name} repeat {spec.repeat} fold {spec.fold}: "
            f"{record.error}"
        )
    if found.failed:
        failed = "1 run" if len(found.failed) == 1 else f"{len(found.failed)} runs"
        console.print(f"{failed} failed. --retry-failed tries them again.")
        return 1
    return 0
