"""Tables in memory: DataFrames of pandas or polars, Series, arrays and lists of SMILES.

Neither pandas nor polars is imported: what is used of them, they share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data, Dataset

from ifmixup.data.table import Row, Table, cell_text
from ifmixup.errors import DatasetError, InputError, InputTypeError

SMILES = "smiles"  # the column of a list of SMILES


def is_frame(source: Any) -> bool:
    """Whether something is a DataFrame: it has columns by name."""
    if isinstance(source, Data | Dataset | Tensor):
        return False
    return hasattr(source, "columns") and hasattr(source, "__getitem__")


def is_smiles(source: Any) -> bool:
    """Whether something is a list, tuple, array or Series of texts; other kinds are graphs."""
    if isinstance(source, str | bytes | Data | Dataset | Tensor) or is_frame(source):
        return False
    if not isinstance(source, Sequence | np.ndarray) and not hasattr(source, "to_list"):
        return False
    if getattr(source, "ndim", 1) != 1 or not len(source):
        return False
    return all(isinstance(each, str) or _missing(each) for each in source) and any(
        isinstance(each, str) for each in source
    )


class Frame(Table):
    """A DataFrame, or a list of SMILES, with the interface of a table in a file.

    Rows are counted from 1, as lines of a file are; a missing value (None, NaN, NA) is an empty
    cell.

    Args:
        source: What :func:`is_frame` or :func:`is_smiles` knows.
        labels: One label, or one row of labels, for each row, where the source does not hold them.
        name: The column of these labels; several are called ``label[0]``, ``label[1]``, ...
    """

    def __init__(self, source: Any, labels: Any = None, name: str = "label") -> None:
        self._values: dict[str, list[Any]] = {}
        self.labels: list[str] = []  # the columns of the given labels
        if is_frame(source):
            for column in source.columns:
                if not isinstance(column, str):
                    raise InputTypeError(
                        f"The columns of a DataFrame need texts as names; got {column!r}. Rename "
                        f"it: frame.rename(columns=str)."
                    )
                if column in self._values:
                    raise DatasetError(f"The DataFrame has the column {column!r} twice.")
                self._values[column] = list(source[column])
        else:
            self._values[SMILES] = list(source)
        count = len(next(iter(self._values.values()), []))
        if labels is not None:
            self._add_labels(labels, name, count)
        self.columns = list(self._values)
        self.path = Path("the DataFrame" if is_frame(source) else "the list of SMILES")

    def rows(self, indices: Sequence[int]) -> Iterator[Row]:
        """The cells of the columns at ``indices``, row by row."""
        chosen = [self._values[self.columns[index]] for index in indices]
        for line, values in enumerate(zip(*chosen, strict=True), 1):
            try:
                cells = ["" if _missing(value) else cell_text(value) for value in values]
            except DatasetError as error:
                raise DatasetError(f"{self.path}, row {line}: {error}") from error
            yield Row(line, cells)

    def name(self, columns: Sequence[int]) -> str:
        """A name made of the content: two tables in memory do not share a study."""
        hasher = hashlib.sha256()
        for row in self.rows(columns):
            hasher.update("\x1f".join(row.cells).encode(errors="surrogatepass") + b"\n")
        return f"molecules-{hasher.hexdigest()[:8]}"

    def _add_labels(self, labels: Any, name: str, count: int) -> None:
        values = np.asarray(labels.detach().cpu() if isinstance(labels, Tensor) else labels)
        if values.ndim not in (1, 2) or len(values) != count:
            raise InputError(
                f"The labels have the shape {values.shape}; for {count} molecules ({count},) or "
                f"({count}, T) is needed."
            )
        name = str(getattr(labels, "name", None) or name)
        rows = values.reshape(count, -1)
        names = [name] if values.ndim == 1 else [f"{name}[{i}]" for i in range(rows.shape[1])]
        names = [str(each) for each in getattr(labels, "columns", names)]
        for each, column in zip(names, rows.T, strict=True):
            self._values[each] = column.tolist()
        self.labels = names


def _missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or pandas' NA, which is equal to nothing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value
