"""``ifmixup runs``: the studies and the runs of a folder; export and import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ifmixup.cli.console import PlainConsole, print_table
from ifmixup.cli.options import NO_DEFAULT
from ifmixup.errors import InputError, StoreError, unknown_name
from ifmixup.safe_io import printable

if TYPE_CHECKING:
    from ifmixup.study.store import Store
    from ifmixup.study.study import Study

_NAMES = ("dataset", "model", "method")
_MOST_READ = 2000  # runs whose curves are read to say what was chosen; the curves of many take long
_METRICS = ("roc_auc", "average_precision", "accuracy", "mae")  # where no study says which


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
    """List, export and import the runs of a FOLDER.

    The exit code is 1 if a line of an import was refused, or a run is damaged.

    Args:
        folder: Folder of a study, or a folder of such folders.
        dataset: Only runs on this dataset.
        model: Only runs of the model with this name.
        method: Only runs of the method with this name.
        status: Only runs that are done, or failed.
        repeat: Only runs of this repeat.
        fold: Only runs of this fold.
        export: Write the runs to this .jsonl (complete), .csv or .parquet file instead of listing
            them.
        thin: Export only the curves that the protocols need, with fewer digits.
        import_: Add the runs of this .jsonl or .sqlite file or folder instead of listing.
    """
    from ifmixup.study.store import FILE_NAME, Store
    from ifmixup.study.study import load_studies

    filters: dict[str, Any] = {"dataset": dataset, "model": model, "method": method}
    filters |= {"status": status, "repeat": repeat, "fold": fold}
    wanted = {name: value for name, value in filters.items() if value is not None}
    for name in ("repeat", "fold"):
        if not 0 <= wanted.get(name, 0) < 2**31:
            raise InputError(f"--{name} must be a number from 0; got {wanted[name]}.")
    console = PlainConsole()
    if export is not None:
        from ifmixup.study.exchange import check_output

        check_output(export)
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
        rows = list(store.overview(**wanted))
        if not rows:
            _check_filters(store, wanted)
        if export is not None:
            from ifmixup.study import exchange

            found = store.records(**wanted)
            count = exchange.export(map(exchange.thinned, found) if thin else found, export)
            console.print(f"Exported {count} runs to {export}.")
        else:
            done = store.keys("done")
            studies = load_studies(folder)
            for study in () if wanted else studies:
                count = len(study.trials)
                console.print(
                    f"Study {printable(study.title)}: {count} trial{'s' if count != 1 else ''}, "
                    f"{len(study.keys & done)} of {len(study.keys)} runs done."
                )
                _print_chosen(study, store, console)
            _print_runs(rows, console, [study.metric for study in studies])
        for line in store.damage():
            console.print(line)
        complete = complete and not store.damaged
    return 0 if complete else 1


def _print_chosen(study: Study, store: Store, console: PlainConsole) -> None:
    """Print what was chosen of a grid for each trial that has one."""
    searched = [trial for trial in study.trials if len(trial.candidates) > 1]
    keys = [key for trial in searched for several in trial.keys for key in several]
    if not searched:
        return
    if len(keys) > _MOST_READ:
        console.print(
            "  The settings that were chosen from its grid are in the report: ifmixup report "
            "FOLDER."
        )
        return
    from ifmixup.study.comparison import Comparison

    part = replace(study, trials=tuple(searched))
    for row in Comparison(part, list(store.get(keys).values())).rows:
        console.print(f"  {row.trial.name} ({row.trial.protocol}) chose {row.chosen_text()}.")


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


def _check_filters(store: Store, wanted: Mapping[str, Any]) -> None:
    """An error for the value that no run has, with those that there are."""
    for name, value in wanted.items():
        present = store.values(name)
        if present and str(value) not in present:
            raise unknown_name(f"{name} in {store.path.parent}:", str(value), present)


def _print_folders(folders: Iterable[Path], console: PlainConsole) -> None:
    """One row per folder; one that cannot be read is named and does not hide the others."""
    from ifmixup.study.store import Store
    from ifmixup.study.study import load_studies

    rows, broken = [], []
    for folder in folders:
        try:
            with Store(folder, read_only=True) as store:
                counts = [len(store.keys(status)) for status in ("done", "failed")]
            counts = [len(load_studies(folder)), *counts]
            rows.append([printable(folder, None), *map(str, counts)])
        except StoreError as error:
            broken.append(str(error))
    print_table(["folder", "studies", "done", "failed"], rows, console, left=["folder"])
    for message in broken:
        console.print(f"Damaged: {printable(message, None)}")


def _print_runs(
    rows: Sequence[Mapping[str, Any]], console: PlainConsole, metrics: Sequence[str]
) -> None:
    """One row per run, why runs failed, and a summary.

    The metric is that of a study, of ``metrics``, where all runs have it.
    """
    if not rows:
        console.print("No runs.")
        return
    done = [row for row in rows if row["status"] == "done"]
    usual = dict.fromkeys([*metrics, *_METRICS])
    shared = [name for name in usual if done and all(name in row["metrics"] for row in done)]
    metric = shared[0] if shared else "metric"
    names = (*_NAMES, "repeat", "fold", "status")
    cells = []
    for row in rows:
        found = row["metrics"]
        score = next((found[name] for name in shared or _METRICS if name in found), None)
        seconds = "" if row["seconds"] is None else f"{row['seconds']:.1f}"
        text = [printable(row[name], None) for name in names]
        cells.append([*text, "" if score is None else f"{score:.4f}", seconds])
    print_table([*names, metric, "seconds"], cells, console, left=[*_NAMES, "status"])
    for row in rows:
        if row["status"] != "done":
            run = " ".join(row[name] for name in _NAMES)
            console.print(
                f"{printable(run, None)}, repeat {row['repeat']}, fold {row['fold']} failed: "
                f"{printable(row['error'] or 'unknown reason', None)}"
            )
    total = sum(row["seconds"] or 0.0 for row in done)
    failed = len(rows) - len(done)
    console.print(f"{len(done)} done, {failed} failed, {total:,.1f} s of training.")
    if done:
        console.print(f"{metric}: on the test graphs after the last epoch.")
