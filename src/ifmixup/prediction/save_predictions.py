"""Predictions as CSV or as lines of JSON, in a file that is there whole or not at all."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO

from ifmixup.errors import InputError
from ifmixup.prediction.predictions import Prediction
from ifmixup.safe_io import atomically, printable

STDOUT = "-"
_JSON_NAMES = {"classes": "probabilities", "labels": "probabilities", "values": "values"}


def save_predictions(
    rows: Iterable[Prediction],
    output: str,
    *,
    task: str,
    names: Sequence[str],
    as_json: bool = False,
) -> tuple[int, int]:
    """Write predictions as they come.

    Args:
        rows: The predictions.
        output: A file, which is replaced when all is written, or ``-`` for standard output.
        task: ``classes``, ``labels`` or ``values``.
        names: The names of the classes or columns.
        as_json: An object a line instead of CSV.

    Returns:
        The number of rows, and the number of those without a prediction.
    """
    count = failed = 0
    # The first one before anything is written: what is wrong with a source shows there.
    rows = iter(rows)
    rows = chain(list(islice(rows, 1)), rows)
    with _opened(output) as stream:
        table = csv.writer(stream, lineterminator="\n")
        # A terminal obeys what a file only holds; JSON escapes it anyway.
        shown = _printable_cells if stream.isatty() else list
        if not as_json:
            table.writerow(shown(columns(task, names)))
        for row in rows:
            if as_json:
                stream.write(json.dumps(_as_object(row, task, names)) + "\n")
            else:
                table.writerow(shown(_cells(row, task, names)))
            count += 1
            failed += row.output is None
    return count, failed


def columns(task: str, names: Sequence[str]) -> list[str]:
    """The header of the CSV: ``id``, what is predicted, ``problem``."""
    if task == "classes":
        return ["id", "prediction", *(f"probability_{name}" for name in names), "problem"]
    # A column of the user's may be called as one of ours.
    taken = ("id", "problem")
    own = [f"{name}_predicted" if name in taken else name for name in names]
    return ["id", *own, "problem"]


def check_output(output: str) -> None:
    """See that a file can be written, before the work of predicting."""
    if output == STDOUT:
        return
    path = Path(output)
    if path.is_dir():
        raise InputError(f"{output} is a folder. Name a file in it, such as predictions.csv.")
    if not path.parent.is_dir():
        raise InputError(f"The folder {str(path.parent)!r} does not exist. Make it first.")


def _cells(row: Prediction, task: str, names: Sequence[str]) -> list[str]:
    cells = [row.id]
    if task == "classes":
        cells.append("" if row.best is None else names[row.best])
    numbers = [""] * len(names) if row.output is None else [f"{value:.6g}" for value in row.output]
    return [*cells, *numbers, row.problem or ""]


def _printable_cells(cells: Iterable[str]) -> list[str]:
    return [printable(cell, None) for cell in cells]


def _as_object(row: Prediction, task: str, names: Sequence[str]) -> dict[str, object]:
    told: dict[str, object] = {"id": row.id}
    if task == "classes":
        told["prediction"] = None if row.best is None else names[row.best]
    numbers = None if row.output is None else dict(zip(names, row.output, strict=True))
    return {**told, _JSON_NAMES[task]: numbers, "problem": row.problem}


@contextmanager
def _opened(output: str) -> Iterator[IO[str]]:
    if output == STDOUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with (
            atomically(Path(output)) as unfinished,
            # An identifier may hold what UTF-8 cannot say, such as half of a pair of surrogates.
            unfinished.open("x", encoding="utf-8", errors="backslashreplace", newline="") as stream,
        ):
            yield stream
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error}.") from error
