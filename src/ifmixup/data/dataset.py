"""The dataset object: PyG's in-memory dataset, with its task, its metric and what was skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from ifmixup.data.encoder import FeatureEncoder
from ifmixup.errors import DatasetError, InputError, unknown_name
from ifmixup.safe_io import printable

_OF_CLASSES = (
    "accuracy", "balanced_accuracy", "f1_macro", "mcc", "roc_auc", "average_precision", "nll",
    "brier", "ece",
)  # fmt: skip
METRICS = {
    "classes": _OF_CLASSES,
    "labels": ("roc_auc", *(name for name in _OF_CLASSES if name != "roc_auc")),
    "values": ("mae", "rmse", "r2", "spearman"),
}
"""The metrics that fit each task, the usual one first."""

IMBALANCED = 0.8
"""With a larger part of the graphs in one class, accuracy is not the usual metric."""

ALIASES = {
    "log_loss": "nll",
    "neg_log_loss": "nll",
    "matthews_corrcoef": "mcc",
    "roc_auc_ovr": "roc_auc",
    "neg_brier_score": "brier",
    "neg_mean_absolute_error": "mae",
    "neg_root_mean_squared_error": "rmse",
}
"""Other names of metrics, scikit-learn's among them."""

TASKS = tuple(METRICS)
"""What ``y`` is: one class of several, several yes-or-no labels, or numbers."""

_SHOWN = 10  # skipped lines that are listed before the rest is only counted
_LONGEST = 60  # characters of a skipped line that are shown


class NoGraphError(Exception):
    """A line or a file that is not a graph; the message says why it is skipped."""


@dataclass(frozen=True)
class Skipped:
    """One line of a user's file that was not used.

    Attributes:
        line: The line of a text file or the row of a table, counted from 1.
        text: Its content, shortened.
        reason: Why it was not used.
        identifier: The identifier that the graph would have; None where that is not known.
    """

    line: int
    text: str
    reason: str
    identifier: str | None = None

    def __str__(self) -> str:
        return f"line {self.line}: '{printable(self.text)}': {self.reason}"


@dataclass(frozen=True)
class Rows:
    """What a source says of its graphs besides the graphs themselves; no training reads it.

    Attributes:
        index: The row of each graph in the source, counted from 0, skipped rows included.
        smiles: The SMILES of each graph, as the source writes it; None where there are none.
        columns: Other columns of a table, or attributes of graphs, by name: one text per graph.
        total: The number of rows of the source; 0 for one row per graph.
    """

    index: Sequence[int]
    smiles: Sequence[str] | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    total: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.total or len(self.index))

    def select(self, graphs: Sequence[int]) -> Rows:
        """Those of the graphs numbered ``graphs``."""
        return Rows(
            [self.index[i] for i in graphs],
            None if self.smiles is None else [self.smiles[i] for i in graphs],
            {name: [cells[i] for i in graphs] for name, cells in self.columns.items()},
            self.total,
        )


class Skips:
    """Collects the skipped ``lines`` while the file ``where`` is read; if strict, stops at one."""

    def __init__(self, where: str, strict: bool = False) -> None:
        self.where = where
        self.strict = strict
        self.lines: list[Skipped] = []

    def add(self, line: int, text: str, reason: str, identifier: str | None = None) -> None:
        """Skip a line; an error if ``strict``."""
        short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
        skipped = Skipped(line, short, reason, identifier)
        if self.strict:
            raise DatasetError(
                f"{self.where}, {skipped}. Correct the line, or load without strict (--strict) to "
                f"skip it."
            )
        self.lines.append(skipped)

    def nothing_left(self, graphs: str = "graph") -> DatasetError:
        """The error for a source of which every line was skipped."""
        first = f", the first: {self.lines[0]}" if self.lines else ""
        return DatasetError(
            f"{self.where} has no {graphs} that can be used; {len(self.lines)} were skipped{first}."
        )


def summary(skipped: Sequence[Skipped]) -> list[str]:
    """One line of text for each skipped line in the order of the file, then ``and n more``."""
    lines = [str(one) for one in sorted(skipped, key=lambda one: one.line)]
    rest = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"and {rest} more"] if rest > 0 else lines


class GraphDataset(InMemoryDataset):
    """Graphs held in memory; indexing, slicing and loading are PyG's.

    Args:
        name: Its name.
        data: All graphs, one after the other.
        slices: Where each graph begins and ends, for each attribute of ``data``.
        ids: An identifier for each graph; ``"0"``, ``"1"``, ... where there are none.
        task: ``"classes"`` (``y`` is a class number), ``"labels"`` (``y`` is ``[1, T]``, each 0, 1
            or NaN where it is not known) or ``"values"`` (``y`` is ``[1, T]``, NaN where it is not
            known).
        metric: How predictions are judged; by default that of :func:`usual_metric`.
        class_names: The names of the classes, or of the ``T`` columns of ``y``.
        encoder: How node and edge features were made, to encode other graphs in the same way.
        skipped: The lines of the source that could not be used.
        split: The dataset's own ``"train"``, ``"validation"`` and ``"test"`` graphs.
        rows: What the source says of each graph besides, such as its SMILES.
    """

    def __init__(
        self,
        name: str,
        data: Data,
        slices: dict[str, Tensor],
        *,
        ids: Sequence[str] | None = None,
        task: str = "classes",
        metric: str | None = None,
        class_names: Sequence[str] | None = None,
        encoder: FeatureEncoder | None = None,
        skipped: Sequence[Skipped] = (),
        split: Mapping[str, Tensor] | None = None,
        rows: Rows | None = None,
    ) -> None:
        super().__init__(root=None)
        self.name = name
        self.data, self.slices = data, slices
        self.task = check_task(task)
        y = data.get("y")
        self.metric = usual_metric(task, y) if metric is None else check_metric(metric, task)
        self.class_names = None if class_names is None else list(class_names)
        self.encoder = encoder
        self.skipped = list(skipped)
        self._ids = [str(i) for i in range(len(self))] if ids is None else list(ids)
        self._split = None if split is None else dict(split)
        self._rows = rows or Rows(range(len(self)))
        if len(self._ids) != len(self):
            raise InputError(f"{len(self._ids)} identifiers were given for {len(self)} graphs.")

    @classmethod
    def of(cls, name: str, graphs: Sequence[Data], **known: object) -> GraphDataset:
        """A dataset from a list of graphs; ``known`` are the other arguments of the class."""
        if not graphs:
            raise InputError(f"{name} has no graphs. A dataset needs at least one.")
        return cls(name, *cls.collate(list(graphs)), **known)  # type: ignore[arg-type]

    @property
    def ids(self) -> list[str]:
        """An identifier for each graph, or for each of those that were selected."""
        return [self._ids[i] for i in self.indices()]

    @property
    def split(self) -> dict[str, Tensor] | None:
        """The dataset's own parts, as indices of graphs; a selection of graphs has none."""
        return self._split if self._indices is None else None

    @property
    def rows(self) -> Rows:
        """What the source says of each graph, or of each of those that were selected."""
        return self._rows if self._indices is None else self._rows.select(self._indices)

    @property
    def smiles(self) -> list[str] | None:
        """The SMILES of each graph; None where the source has none."""
        smiles = self.rows.smiles
        return None if smiles is None else list(smiles)

    @property
    def num_classes(self) -> int:
        """The number of classes, or of the columns of ``y``."""
        if self.task != "classes":
            y = self._data.get("y")
            return 0 if y is None else y.size(-1)
        return super().num_classes if self.class_names is None else len(self.class_names)

    def copy(self, idx: Sequence[int] | Tensor | None = None) -> GraphDataset:
        """The graphs, or the selected ones, as a separate dataset."""
        chosen = self if idx is None else self.index_select(idx)
        copied = super().copy(idx)
        copied._ids = chosen.ids
        copied._split = chosen.split
        copied._rows = chosen.rows
        return copied

    def __repr__(self) -> str:
        return f"{self.name}({len(self)})"


def check_task(task: str) -> str:
    """``task`` if there is such a task."""
    if task not in TASKS:
        raise unknown_name("task", str(task), TASKS)
    return task


def usual_metric(task: str, y: Tensor | None = None) -> str:
    """The metric of a task: accuracy for classes, ROC-AUC for labels, MAE for values.

    Where the largest class holds more than 80 % of the graphs it is not accuracy, which hardly
    tells a model from a guess there. Of two classes it is ROC-AUC: it ranks the graphs, and does
    not depend on a threshold that few graphs of the rare class may ever reach. Of more classes it
    is balanced accuracy.
    """
    name = METRICS[check_task(task)][0]
    if task != "classes" or y is None or largest_share(y) <= IMBALANCED:
        return name
    classes = y.unique().numel()
    return name if classes < 2 else "roc_auc" if classes == 2 else "balanced_accuracy"


def largest_share(y: Tensor) -> float:
    """The fraction of graphs in the largest class; ``y`` are class numbers ``[B]``."""
    return float(y.unique(return_counts=True)[1].max() / y.numel()) if y.numel() else 0.0


def check_metric(metric: str | None, task: str) -> str:
    """``metric`` if it fits ``task``; the usual metric of that task if it is None."""
    fitting = METRICS[check_task(task)]
    if metric is None:
        return fitting[0]
    metric = ALIASES.get(metric, metric)
    known = dict.fromkeys(name for names in METRICS.values() for name in names)
    if metric not in known:
        raise unknown_name("metric", str(metric), known)
    if metric not in fitting:
        raise InputError(
            f"The metric {metric!r} does not fit the task {task!r}. Use {', '.join(fitting[:-1])} "
            f"or {fitting[-1]}."
        )
    return metric
