"""The rows of an untrusted table: CSV, CSV.gz or Parquet, one row at a time."""

from __future__ import annotations

import csv
import datetime
import gzip
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from ifmixup.errors import DatasetError, IfmixupError, import_extra
from ifmixup.safe_io import check_size, max_bytes
from ifmixup.values import listed

# The largest table.
MAX_BYTES = 2 * 1024**3  # of text, unpacked
MAX_ROWS = 5_000_000
MAX_LINE = 1024**2  # characters of a line, or of a cell of a Parquet file
MAX_BLANK = 10_000  # lines in a row that are blank or have empty cells only
_BLANK = ' \t\r\n,;"'
MAX_COLUMNS = 10_000  # of a Parquet file; those of a CSV file stand in one line

_AT_ONCE = 1000  # rows of a Parquet file


@dataclass(frozen=True)
class Row:
    """One row: its line, counted from 1, and its cells, or the problem if it has none."""

    line: int
    cells: list[str]
    problem: str | None = None


class Table:
    """A table in a ``.csv``, ``.csv.gz`` or ``.parquet`` file, whose rows are read one by one.

    Its ``columns`` are the names of its columns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_parquet = path.name.lower().endswith(".parquet")
        self.columns = self._header()
        twice = [name for name, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise DatasetError(f"{path} has the column {twice[0]!r} twice. Rename one of them.")

    def index(self, column: str) -> int:
        """The index of a column; an error lists those that there are."""
        if column not in self.columns:
            raise DatasetError(
                f"{self.path} has no column {column!r}. Its columns: {self.shown_columns}."
            )
        return self.columns.index(column)

    def indices(self, columns: str) -> list[int]:
        """The indices of several columns, separated by commas."""
        if columns in self.columns:  # a name may contain a comma
            return [self.index(columns)]
        return [self.index(column.strip()) for column in columns.split(",")]

    @property
    def shown_columns(self) -> str:
        """The names of the columns, for messages."""
        return listed([name[:60] for name in self.columns], 20)

    def rows(self, indices: Sequence[int]) -> Iterator[Row]:
        """The cells of the columns at ``indices``, row by row."""
        found = self._parquet_rows(indices) if self._is_parquet else self._csv_rows(indices)
        for count, row in enumerate(found):
            if count >= MAX_ROWS:
                raise DatasetError(f"{self.path} has more than the {MAX_ROWS} rows allowed.")
            yield row

    def _header(self) -> list[str]:
        if not self.path.is_file():
            raise DatasetError(f"There is no file {self.path}.")
        if self._is_parquet:
            names = [str(name) for name in self._parquet().schema_arrow.names]
            if len(names) > MAX_COLUMNS:
                raise DatasetError(
                    f"{self.path} has {len(names)} columns; at most {MAX_COLUMNS} are read."
                )
            return names
        header = next(self._records(), None)
        if header is None:
            raise DatasetError(f"{self.path} is empty; its first line must name the columns.")
        return [name.strip() for name in header[1]]

    def _csv_rows(self, indices: Sequence[int]) -> Iterator[Row]:
        records = self._records()
        next(records)
        for line, cells in records:
            if len(cells) == len(self.columns):
                yield Row(line, [cells[index] for index in indices])
            elif cells:
                expected = f"expected {len(self.columns)} columns, found {len(cells)}"
                yield Row(line, [",".join(cells)[:200]], expected)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The line on which each record ends, and its fields."""
        with self._read_as("CSV"), self._stream() as stream:
            reader = csv.reader(_lines(stream, self.path), strict=True)
            for cells in reader:
                yield reader.line_num, cells

    @contextmanager
    def _read_as(self, kind: str) -> Iterator[None]:
        """Whatever a damaged file makes a reader raise becomes an error of ours."""
        try:
            yield
        except IfmixupError:
            raise
        except UnicodeDecodeError as error:
            raise DatasetError(
                f"{self.path} is not UTF-8 text ({error.reason} at byte {error.start} of a block). "
                "Save it as UTF-8."
            ) from error
        except Exception as error:
            raise DatasetError(f"{self.path} cannot be read as {kind} ({error}).") from error

    def _stream(self) -> IO[str]:
        """The text, without the byte order mark that Excel writes."""
        if self.path.name.lower().endswith(".gz"):
            return gzip.open(self.path, "rt", encoding="utf-8-sig", newline="")
        return self.path.open(encoding="utf-8-sig", newline="")

    def _parquet(self, texts: Sequence[str] = ()) -> Any:
        """The open file. Columns named in ``texts`` store a repeated text once."""
        parquet = import_extra("pyarrow.parquet", "parquet")
        with self._read_as("Parquet"):
            file = parquet.ParquetFile(self.path, read_dictionary=list(texts))
            groups = range(file.metadata.num_row_groups)
            size = sum(file.metadata.row_group(i).total_byte_size for i in groups)
        check_size(str(self.path), size, MAX_BYTES)
        return file

    def _parquet_rows(self, indices: Sequence[int]) -> Iterator[Row]:
        names = [self.columns[index] for index in indices]
        schema = self._parquet().schema_arrow
        for name in names:
            kind = schema.field(name).type
            if kind.num_fields:  # a list or a structure
                raise DatasetError(
                    f"{self.path}: the column {name!r} holds {str(kind)[:60]}; texts and numbers "
                    "can be used."
                )
        file, line, total = self._parquet(names), 0, 0
        # The sizes that a file announces may be wrong: a few bytes can stand for many long texts.
        # So read few rows at once, cell by cell, and count the characters.
        with self._read_as("Parquet"):
            for batch in file.iter_batches(batch_size=_AT_ONCE, columns=names):
                columns = [batch.column(name) for name in names]
                for at in range(batch.num_rows):
                    line += 1
                    cells = [self._cell(column[at].as_py(), line) for column in columns]
                    total += sum(map(len, cells))
                    check_size(f"The text of {self.path}, so far,", total, MAX_BYTES)
                    yield Row(line, cells)

    def _cell(self, value: object, line: int) -> str:
        try:
            text = cell_text(value)
        except DatasetError as error:
            raise DatasetError(f"{self.path}, row {line}: {error}") from error
        if len(text) > MAX_LINE:
            raise DatasetError(
                f"{self.path}, row {line}: a cell of more than {MAX_LINE} characters."
            )
        return text


def cell_text(value: object) -> str:
    """A value as a cell of text; None and NaN are empty."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise DatasetError(
                f"a cell holds bytes that are not UTF-8 text ({value[:20]!r}). Save it as text."
            ) from error
    if value is None or (isinstance(value, float | Decimal) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict | set):
        raise DatasetError(f"a cell holds a {type(value).__name__}; give a text or a number.")
    return str(value)


def _lines(stream: Iterable[str], path: Path) -> Iterator[str]:
    """The lines of a text; an error if a line, or all of them, are too long."""
    total = blank = 0
    most = max_bytes(MAX_BYTES)
    while line := stream.readline(MAX_LINE + 1):  # type: ignore[attr-defined]
        total += len(line)
        blank = 0 if line.strip(_BLANK) else blank + 1
        if len(line) > MAX_LINE:
            raise DatasetError(f"{path} has a line of more than {MAX_LINE} characters.")
        if blank > MAX_BLANK:
            raise DatasetError(
                f"{path} has more than {MAX_BLANK} empty lines in a row. Is it a table?"
            )
        if total > most:
            check_size(f"The text of {path}, so far,", total, MAX_BYTES)
        yield line
