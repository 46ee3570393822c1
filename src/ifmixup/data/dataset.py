"""The dataset object: PyG's own in-memory dataset, with what a user needs to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.skipped import Skipped
from ifmixup.errors import InputError, unknown_name

METRICS = {
    "classes": ("accuracy", "roc_auc", "average_precision"),
    "labels": ("roc_auc", "average_precision", "accuracy"),
    "values": ("mae",),
}
"""The metrics that fit each task, the usual one first."""

TASKS = tuple(METRICS)
"""What ``y`` is: one class of several, several yes-or-no labels, or numbers."""


class GraphDataset(InMemoryDataset):
    """Graphs held in memory; indexing, slicing and loading are PyG's.

    Args:
        name: What to call it.
        data: All graphs, one after the other.
        slices: Where each graph begins and ends, for each attribute of ``data``.
        ids: An identifier for each graph; ``"0"``, ``"1"``, ... where there are none.
        task: ``"classes"`` (``y`` is a class number), ``"labels"`` (``y`` is ``[1, T]``, each 0, 1
            or NaN where it is not known) or ``"values"`` (``y`` is ``[1, T]``, NaN where it is not
            known).
        metric: How predictions are judged; by default accuracy, roc_auc or mae, as the task asks.
        class_names: What the classes are called, or the ``T`` columns of ``y``.
        encoder: How node and edge features were made, to make them alike for other graphs.
        skipped: What was in the source but could not be used.
        split: The dataset's own ``"train"``, ``"validation"`` and ``"test"`` graphs.
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
    ) -> None:
        super().__init__(root=None)
        self.name = name
        self.data, self.slices = data, slices
        self.task = check_task(task)
        self.metric = check_metric(metric, task)
        self.class_names = None if class_names is None else list(class_names)
        self.encoder = encoder
        self.skipped = list(skipped)
        self._ids = [str(i) for i in range(len(self))] if ids is None else list(ids)
        self._split = None if split is None else dict(split)
        if len(self._ids) != len(self):
            raise InputError(f"{len(self._ids)} identifiers were given for {len(self)} graphs.")

    @classmethod
    def of(cls, name: str, graphs: Sequence[Data], **known: object) -> GraphDataset:
        """A dataset of graphs that are in a list; ``known`` is what the class takes besides."""
        if not graphs:
            raise InputError(f"{name} has no graphs. A dataset needs at least one.")
        return cls(name, *cls.collate(list(graphs)), **known)  # type: ignore[arg-type]

    @property
    def ids(self) -> list[str]:
        """An identifier for each graph, or for each of those that were selected."""
        return [self._ids[i] for i in self.indices()]

    @property
    def split(self) -> dict[str, Tensor] | None:
        """The dataset's own parts, as places of graphs; a selection of graphs has none."""
        return self._split if self._indices is None else None

    @property
    def num_classes(self) -> int:
        """The number of classes, or of the columns of ``y``."""
        if self.task != "classes":
            y = self._data.get("y")
            return 0 if y is None else y.size(-1)
        return super().num_classes if self.class_names is None else len(self.class_names)

    def copy(self, idx: Sequence[int] | Tensor | None = None) -> GraphDataset:
        """The graphs, or those that are selected, as a dataset of its own."""
        chosen = self if idx is None else self.index_select(idx)
        copied = super().copy(idx)
        copied._ids = chosen.ids
        copied._split = chosen.split
        return copied

    def __repr__(self) -> str:
        return f"{self.name}({len(self)})"


def check_task(task: str) -> str:
    """``task`` if there is such a task."""
    if task not in TASKS:
        raise unknown_name("task", str(task), TASKS)
    return task


def check_metric(metric: str | None, task: str) -> str:
    """``metric`` if it fits ``task``; the usual metric of that task if it is None."""
    fitting = METRICS[check_task(task)]
    if metric is None:
        return fitting[0]
    known = dict.fromkeys(name for names in METRICS.values() for name in names)
    if metric not in known:
        raise unknown_name("metric", str(metric), known)
    if metric not in fitting:
        raise InputError(
            f"The metric {metric!r} does not fit the task {task!r}. Use {' or '.join(fitting)}."
        )
    return metric
