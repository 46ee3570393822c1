"""Predictions for the rows of a source, in its order, and their way into CSV or JSON lines."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO

from ifmixup.data.load import Part
from ifmixup.errors import InputError
from ifmixup.prediction.predictor import BATCH_SIZE, Predictor
from ifmixup.safe_io import atomically, printable
from ifmixup.values import listed

STDOUT = "-"
_JSON_NAMES = {"classes": "probabilities", "labels": "probabilities", "values": "values"}


@dataclass(frozen=True)
class Prediction:
    """The prediction of one row."""

    id: str
    output: list[float] | None  # C or T probabilities, or T values; None where there is no graph
    problem: str | None = None  # why there is no output, or what makes it doubtful
    cells: Mapping[str, str] = field(default_factory=dict)  # of the row of the table, by column

    @property
    def best(self) -> int | None:
        """The number of the most probable class."""
        return None if self.output is None else self.output.index(max(self.output))


def predictions(
    predictor: Predictor,
    parts: Iterable[Part],
    *,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
) -> Iterator[Prediction]:
    """Predict the rows of a source; one part of it is in memory at a time.

    Each part that :func:`~ifmixup.data.load.read_in_parts` gives is checked before its first graph
    is predicted. The options are those of :meth:`Predictor.predict`.
    """
    seen = 0
    for part in _explained(parts, predictor):
        predictor.check_encoder(part.encoder)
        graphs = predictor.prepared(part.graphs, seen)
        seen += len(graphs)
        doubts = iter([predictor.doubt(graph) for graph in graphs])
        batches = predictor.answer(graphs, batch_size, device=device)
        outputs = (row.tolist() for batch in batches for row in batch)
        cells = part.cells or [{}] * len(part)
        for name, problem, own in zip(part.ids, part.problems, cells, strict=True):
            if problem is not None:
                yield Prediction(name, None, problem, own)
            else:
                yield Prediction(name, next(outputs), next(doubts), own)


def save_predictions(
    rows: Iterable[Prediction],
    output: str,
    *,
    task: str,
    names: Sequence[str],
    as_json: bool = False,
) -> tuple[int, int]:
    """Write predictions one by one, as CSV or as one JSON object per line.

    Of a table, each row keeps its own columns, which come first; in JSON they are its ``row``.

    ``output`` is a file, which is replaced when all is written, or ``-`` for standard output;
    ``names`` are those of the classes or columns.

    Returned are the number of rows, and of those without a prediction.
    """
    count = failed = 0
    # The first one before anything is written: it shows most that can be wrong with a source.
    rows = iter(rows)
    first = list(islice(rows, 1))
    rows = chain(first, rows)
    own = list(first[0].cells) if first else []
    with _opened(output) as stream:
        table = csv.writer(stream, lineterminator="\n")
        if not as_json:
            added, usual = columns(task, names, own), columns(task, names)
            clash = [f"{a} ({b})" for a, b in zip(added, usual, strict=True) if a != b]
            if clash:
                warnings.warn(
                    f"The table already has some of our columns, so ours are renamed: "
                    f"{listed(clash)}.",
                    stacklevel=1,
                )
            table.writerow(_shown([*own, *added], stream))
        for row in rows:
            if as_json:
                stream.write(json.dumps(_as_object(row, task, names)) + "\n")
            else:
                cells = [*row.cells.values(), *_cells(row, task, names)]
                table.writerow(_shown(cells, stream))
            count += 1
            failed += row.output is None
    return count, failed


def columns(task: str, names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """The columns that predictions add: ``id``, the predicted ones, ``problem``.

    A name that is ``taken``, by a column of the input or by one of ours, gets ``_predicted``, as
    often as it takes: the true ``toxic`` of a table stays beside ``toxic_predicted``.
    """
    predicted = list(names)
    if task == "classes":
        predicted = ["prediction", *(f"probability_{name}" for name in names)]
    used = set(taken)

    def free(name: str) -> str:
        while name in used:
            name += "_predicted"
        used.add(name)
        return name

    first, last = free("id"), free("problem")
    return [first, *map(free, predicted), last]


def check_output(output: str) -> None:
    """Check that a file can be written, before the work of predicting."""
    if output == STDOUT:
        return
    path = Path(output)
    if path.is_dir():
        raise InputError(f"{output} is a folder. Name a file in it, such as predictions.csv.")
    if not path.parent.is_dir():
        raise InputError(f"The folder {str(path.parent)!r} does not exist. Make it first.")


def _explained(parts: Iterable[Part], predictor: Predictor) -> Iterator[Part]:
    """The parts; an error in encoding them for the model says what it was trained on."""
    try:
        yield from parts
    except InputError as error:
        raise InputError(f"{error} {predictor.trained_on()}") from error


def _cells(row: Prediction, task: str, names: Sequence[str]) -> list[str]:
    cells = [row.id]
    if task == "classes":
        cells.append("" if row.best is None else names[row.best])
    numbers = [""] * len(names) if row.output is None else [f"{value:.6g}" for value in row.output]
    return [*cells, *numbers, row.problem or ""]


def _shown(cells: list[str], stream: IO[str]) -> list[str]:
    """A terminal obeys control characters, which a file keeps; JSON escapes them anyway."""
    return [printable(cell, None) for cell in cells] if stream.isatty() else cells


def _as_object(row: Prediction, task: str, names: Sequence[str]) -> dict[str, object]:
    told: dict[str, object] = {"id": row.id}
    if task == "classes":
        told["prediction"] = None if row.best is None else names[row.best]
    numbers = None if row.output is None else dict(zip(names, row.output, strict=True))
    found = {**told, _JSON_NAMES[task]: numbers, "problem": row.problem}
    return {**found, "row": dict(row.cells)} if row.cells else found


@contextmanager
def _opened(output: str) -> Iterator[IO[str]]:
    if output == STDOUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with (
            atomically(Path(output)) as unfinished,
            # An identifier may hold what UTF-8 cannot encode, such as a lone surrogate.
            unfinished.open("x", encoding="utf-8", errors="backslashreplace", newline="") as stream,
        ):
            yield stream
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error}.") from error
