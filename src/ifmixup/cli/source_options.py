"""The options that say how a SOURCE of graphs is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ifmixup.data import GraphDataset, load


@dataclass(frozen=True)
class SourceOptions:
    """How a SOURCE is read.

    Attributes:
        smiles: The column of a table that holds SMILES.
        label: The column, or columns separated by commas, that hold the labels; in graph files
            the attribute.
        identifier: The column or attribute that identifies a graph.
        task: classes, labels (several yes-or-no) or values (numbers); None looks at the labels.
        metric: accuracy, roc_auc, average_precision or mae; None takes the usual one of the task.
        strict: Stop at the first line that cannot be used instead of skipping it.
    """

    smiles: str | None = None
    label: str | None = None
    identifier: str | None = None
    task: str | None = None
    metric: str | None = None
    strict: bool = False

    def load(self, source: str, root: Path | None = None, **known: Any) -> GraphDataset:
        """The graphs of a SOURCE; ``known`` is what :func:`ifmixup.data.load` takes besides."""
        return load(source, root, **vars(self), **known)
