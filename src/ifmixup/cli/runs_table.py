"""Runs and studies as tables that fit into 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from ifmixup.errors import StoreError
from ifmixup.safe_io import printable
from ifmixup.study.record import Record
from ifmixup.study.store import Store


def print_runs(records: Sequence[Record], console: Console) -> None:
    """A row a run, why runs failed, and a summary."""
    if not records:
        console.print("No runs.")
        return
    table = _table("dataset", "model", "method", "protocol", "status")
    for column in ("repeat", "fold", _metric(records), "seconds"):
        table.add_column(column, justify="right")
    for record in records:
        result = record.result
        score = None if result is None else result.metrics.get(_metric([record]))
        table.add_row(
            *(printable(text, None) for text in marks(record).values()),
            str(record.spec.repeat),
            str(record.spec.fold),
            "" if score is None else f"{score:.4f}",
            "" if result is None else f"{result.seconds:.1f}",
        )
    console.print(table)
    failed = [record for record in records if record.result is None]
    for record in failed:
        run = " ".join([*marks(record).values()][:4])
        spec = record.spec
        console.print(
            f"{printable(run, None)}, repeat {spec.repeat}, fold {spec.fold} failed: "
            f"{printable(record.error or 'no reason is known', None)}"
        )
    seconds = sum(record.result.seconds for record in records if record.result is not None)
    done = len(records) - len(failed)
    console.print(f"{done} done, {len(failed)} failed, {seconds:,.1f} s of training.")
    if done:
        console.print(f"{_metric(records)}: on the test fold after the last epoch, nothing chosen.")


def print_studies(folders: Iterable[Path], console: Console) -> None:
    """A row a study; one that cannot be read is named and does not hide the others."""
    table = _table("study")
    for column in ("done", "failed"):
        table.add_column(column, justify="right")
    broken = []
    for folder in folders:
        try:
            with Store(folder, read_only=True) as store:
                counts = [str(len(store.keys(status))) for status in ("done", "failed")]
            table.add_row(printable(folder, None), *counts)
        except StoreError as error:
            broken.append(str(error))
    console.print(table)
    for message in broken:
        console.print(f"Broken: {printable(message, None)}")


def marks(record: Record) -> dict[str, str]:
    """What runs are chosen by."""
    spec = record.spec
    return {
        "dataset": spec.dataset,
        "model": spec.settings.model,
        "method": spec.settings.method,
        "protocol": spec.protocol,
        "status": record.status,
    }


def _metric(records: Sequence[Record]) -> str:
    """The metric that all these runs have, of several the most telling; or a word for it."""
    results = [record.result for record in records if record.result is not None]
    names = ("roc_auc", "average_precision", "accuracy", "mae")
    shared = [name for name in names if all(name in result.metrics for result in results)]
    return shared[0] if results and shared else "metric"


def _table(*columns: str) -> Table:
    # One space between columns: the longest names of ours then just fit.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
