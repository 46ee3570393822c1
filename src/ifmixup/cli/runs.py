"""``ifmixup runs``: what a study has run; export and import."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ifmixup.cli.plain_console import PlainConsole
from ifmixup.cli.runs_table import marks, print_runs, print_studies
from ifmixup.errors import InputError, unknown_name
from ifmixup.safe_io import printable
from ifmixup.study.exchange import import_runs
from ifmixup.study.export import check_output, thinned
from ifmixup.study.export import export as export_runs
from ifmixup.study.store import FILE_NAME, Store


def runs(
    study: Annotated[Path, tyro.conf.Positional] = Path("ifmixup-runs"),
    *,
    dataset: str | None = None,
    model: str | None = None,
    method: str | None = None,
    protocol: str | None = None,
    status: str | None = None,
    export: Path | None = None,
    thin: bool = False,
    import_: Annotated[Path | None, tyro.conf.arg(name="import")] = None,
) -> int:
    """List the runs of a study, or the studies of a folder; export and import runs.

    The exit code is 1 if a line of an import was refused.

    Args:
        study: The folder of a study, or one that holds studies.
        dataset: Only runs on this dataset.
        model: Only runs of this model.
        method: Only runs with this method.
        protocol: Only runs of this protocol, holdout or paper.
        status: Only runs that are done, or failed.
        export: Write the runs to this .jsonl (everything), .csv or .parquet and list none.
        thin: Export of the curves only those that numbers are read from, in five digits.
        import_: First add the runs of this .jsonl, .sqlite or study's folder, and list none.
    """
    console = PlainConsole()
    if export is not None:
        check_output(export)
    if not (study / FILE_NAME).exists():
        inside = sorted(path.parent for path in study.glob(f"*/{FILE_NAME}"))
        if inside and not any((dataset, model, method, protocol, status, export, import_)):
            print_studies(inside, console)
            return 0
        if inside:
            names = ", ".join(map(str, inside))
            raise InputError(f"{str(study)!r} holds studies, not runs. Name one of: {names}.")
        if import_ is None:
            raise InputError(
                f"There are no runs in {str(study)!r}. Name the folder of a study, such as "
                f"ifmixup-runs/NAME; ifmixup compare makes one."
            )
    complete = _import(study, import_, console) if import_ is not None else True
    if import_ is not None and export is None:
        return 0 if complete else 1

    with Store(study, read_only=True) as store:
        wanted = partial(
            store.records,
            dataset=dataset,
            model=model,
            method=method,
            protocol=protocol,
            status=status,
        )
        records = list(wanted(curves=False))
        if not records:
            _say_what_there_is(store, **wanted.keywords)
        if export is not None:
            count = export_runs(map(thinned, wanted()) if thin else wanted(), export)
            console.print(f"Exported {count} runs to {export}.")
        else:
            print_runs(records, console)
    return 0 if complete else 1


def _import(study: Path, source: Path, console: Console) -> bool:
    """Import and say how it went; whether nothing was refused."""
    if not source.exists():  # before a folder is made for nothing
        raise InputError(f"There is nothing at {str(source)!r} to import.")
    with Store(study) as store:
        done = import_runs(store, source)
    console.print(
        f"Imported into {study}: {done.added} added, {done.already_there} already there, "
        f"{len(done.failed_lines)} refused."
    )
    for line in done.failed_lines:
        console.print(f"  {printable(line, None)}")
    return not done.failed_lines


def _say_what_there_is(store: Store, **wanted: str | None) -> None:
    """An error for the value that no run has, with those that there are."""
    there = [marks(record) for record in store.records(curves=False)]
    for name, value in wanted.items():
        present = sorted({mark[name] for mark in there})
        if there and value is not None and value not in present:
            raise unknown_name(f"{name} in {store.path.parent}:", value, present)
