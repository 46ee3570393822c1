"""``ifmixup runs``: the studies and the runs of a folder; export and import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import NO_DEFAULT
from ifmixup.errors import InputError, StoreError, unknown_name
from ifmixup.safe_io import printable

if TYPE_CHECKING:
    from rich.table import Table

    from ifmixup.components import ClassSpec
    from ifmixup.study.record import Record
    from ifmixup.study.store import Store
    from ifmixup.study.study import Study

FILTERS = ("dataset", "model", "method", "status", "repeat", "fold")
_METRICS = ("roc_auc", "average_precision", "accuracy", "mae")  # the first that all runs have

# What the user's classes are in the last study that has them: the digests of their code.
_Sources = Mapping[tuple[str, str], set[str | None]]


def runs(
    folder: Annotated[Path, tyro.conf.Positional] = Path("ifmixup-runs"),
    *,
    dataset: Annotated[str | None, NO_DEFAULT] = None,
    model: Annotated[str | None, NO_DEFAULT] = None,
    method: Annotated[str | None, NO_DEFAULT] = None,
    status: Annotated[str | None, NO_DEFAULT] = None,
    repeat: Annotated[int | None, NO_DEFAULT] = None,
    fold: Annotated[int | None, NO_DEFAULT] = None,
    export: Annotated[Path | None, NO_DEFAULT] = None,
    thin: bool = False,
    import_: Annotated[Path | None, NO_DEFAULT, tyro.conf.arg(name="import")] = None,
) -> int:
    """List the studies and runs of a FOLDER, or the folders in it; export and import runs.

    The exit code is 1 if a line of an import was refused.

    Args:
        folder: The folder of a study, or one that holds such folders.
        dataset: Only runs on this dataset.
        model: Only runs of the model with this name.
        method: Only runs of the method with this name.
        status: Only runs that are done, or failed.
        repeat: Only runs of this repeat.
        fold: Only runs of this fold.
        export: Write the runs to this .jsonl (everything), .csv or .parquet instead of listing.
        thin: Export only the curves that protocols read, with a few digits.
        import_: First add the runs of this .jsonl, .sqlite or folder; then list nothing.
    """
    from ifmixup.study import exchange
    from ifmixup.study.store import FILE_NAME, Store
    from ifmixup.study.study import load_studies

    values = (dataset, model, method, status, repeat, fold)
    wanted = {n: value for n, value in zip(FILTERS, values, strict=True) if value is not None}
    console = PlainConsole()
    if export is not None:
        exchange.check_output(export)
    if not (folder / FILE_NAME).exists():
        inside = sorted(path.parent for path in folder.glob(f"*/{FILE_NAME}"))
        if inside and not wanted and export is None and import_ is None:
            _print_folders(inside, console)
            return 0
        if inside:
            names = ", ".join(map(str, inside))
            raise InputError(f"{str(folder)!r} holds folders of runs. Name one of: {names}.")
        if import_ is None:
            raise InputError(
                f"There are no runs in {str(folder)!r}. Name the folder of a study, such as "
                f"ifmixup-runs/NAME; ifmixup compare makes one."
            )
    complete = _import(folder, import_, console) if import_ is not None else True
    if import_ is not None and export is None:
        return 0 if complete else 1

    with Store(folder, read_only=True) as store:
        records = list(store.records(**wanted, curves=False))  # type: ignore[arg-type]
        if not records:
            _check_filters(store, wanted)
        if export is not None:
            found = store.records(**wanted)  # type: ignore[arg-type]
            count = exchange.export(map(exchange.thinned, found) if thin else found, export)
            console.print(f"Exported {count} runs to {export}.")
        else:
            studies = load_studies(folder)
            if not wanted:
                _print_studies(studies, store.keys("done"), console)
            _print_runs(records, _sources(studies), console)
    return 0 if complete else 1


def _import(folder: Path, source: Path, console: PlainConsole) -> bool:
    """Import and say how it went; whether nothing was refused."""
    from ifmixup.study.exchange import import_runs
    from ifmixup.study.store import Store

    if not source.exists():  # before a folder is made for nothing
        raise InputError(f"There is nothing at {str(source)!r} to import.")
    with Store(folder) as store:
        done = import_runs(store, source)
    console.print(
        f"Imported into {folder}: {done.added} added, {done.already_there} already there, "
        f"{len(done.failed_lines)} refused."
    )
    for line in done.failed_lines:
        console.print(f"  {printable(line, None)}")
    return not done.failed_lines


def _check_filters(store: Store, wanted: Mapping[str, str | int]) -> None:
    """An error for the value that no run has, with those that there are."""
    there = [_values(record) for record in store.records(curves=False)]
    for name, value in wanted.items():
        present = sorted({values[name] for values in there})
        if there and str(value) not in present:
            raise unknown_name(f"{name} in {store.path.parent}:", str(value), present)


def _print_folders(folders: Iterable[Path], console: PlainConsole) -> None:
    """One row per folder; one that cannot be read is named and does not hide the others."""
    from ifmixup.study.store import Store
    from ifmixup.study.study import load_studies

    table = _table(["folder"], ["studies", "done", "failed"])
    broken = []
    for folder in folders:
        try:
            with Store(folder, read_only=True) as store:
                counts = [len(store.keys(status)) for status in ("done", "failed")]
            counts = [len(load_studies(folder)), *counts]
            table.add_row(printable(folder, None), *map(str, counts))
        except StoreError as error:
            broken.append(str(error))
    console.print(table)
    for message in broken:
        console.print(f"Broken: {printable(message, None)}")


def _print_studies(studies: Iterable[Study], done: set[str], console: PlainConsole) -> None:
    for study in studies:
        count = len(study.trials)
        console.print(
            f"Study {printable(study.title)}: {count} trial{'s' if count != 1 else ''}, "
            f"{len(study.keys & done)} of {len(study.keys)} runs done."
        )


def _print_runs(records: Sequence[Record], sources: _Sources, console: PlainConsole) -> None:
    """One row per run, why runs failed, and a summary."""
    if not records:
        console.print("No runs.")
        return
    metric = _metric(records)
    table = _table(
        ["dataset", "model", "method"], ["repeat", "fold", "status", metric or "metric", "seconds"]
    )
    older = False
    for record in records:
        values, result = _values(record), record.result
        for kind, spec in (("model", record.spec.model), ("method", record.spec.method)):
            if _is_older(kind, spec, sources):
                values[kind] += "†"
                older = True
        score = None if result is None else result.metrics.get(metric or _metric([record]) or "")
        table.add_row(
            *(printable(values[name], None) for name in ("dataset", "model", "method")),
            values["repeat"],
            values["fold"],
            values["status"],
            "" if score is None else f"{score:.4f}",
            "" if result is None else f"{result.seconds:.1f}",
        )
    console.print(table)
    if older:
        console.print("† of older code than the last study with this class.")
    failed = [record for record in records if record.result is None]
    for record in failed:
        values = _values(record)
        run = " ".join(values[name] for name in ("dataset", "model", "method"))
        console.print(
            f"{printable(run, None)}, repeat {values['repeat']}, fold {values['fold']} failed: "
            f"{printable(record.error or 'the reason is not known', None)}"
        )
    seconds = sum(record.result.seconds for record in records if record.result is not None)
    done = len(records) - len(failed)
    console.print(f"{done} done, {len(failed)} failed, {seconds:,.1f} s of training.")
    if done:
        console.print(f"{metric or 'metric'}: on the test graphs after the last epoch.")


def _values(record: Record) -> dict[str, str]:
    """What runs are chosen by, as text."""
    spec = record.spec
    return {
        "dataset": spec.dataset,
        "model": spec.model.name,
        "method": spec.method.name,
        "status": record.status,
        "repeat": str(spec.repeat),
        "fold": str(spec.fold),
    }


def _sources(studies: Iterable[Study]) -> _Sources:
    """The code of each of the user's classes in the last study that has it."""
    found: dict[tuple[str, str], set[str | None]] = {}
    for study in studies:
        mine: dict[tuple[str, str], set[str | None]] = {}
        for trial in study.trials:
            for candidate in trial.candidates:
                for kind, spec in (("model", candidate.model), ("method", candidate.method)):
                    mine.setdefault((kind, spec.class_name), set()).add(spec.source)
        found |= mine
    return found


def _is_older(kind: str, spec: ClassSpec, sources: _Sources) -> bool:
    known = sources.get((kind, spec.class_name))
    return spec.source is not None and known is not None and spec.source not in known


def _metric(records: Sequence[Record]) -> str | None:
    """The metric that all these runs have; None where there is none."""
    results = [record.result for record in records if record.result is not None]
    shared = (name for name in _METRICS if all(name in result.metrics for result in results))
    return next(shared, None) if results else None


def _table(names: Sequence[str], numbers: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    # One space between columns: our longest names then fit into 80 columns.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    for column in names:
        table.add_column(column, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="left" if column == "status" else "right")
    return table
