"""How features are made: learned on the training graphs, used on all that come after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from ifmixup.data.columns import Column
from ifmixup.data.one_hot import Unseen, encode, learn, warn_about
from ifmixup.errors import InputError


@dataclass(frozen=True)
class FeatureEncoder:
    r"""Makes float features of categories, the same way for every graph.

    .. math:: \mathbf{x}_i = \mathrm{onehot}(k_{i1}) \,\Vert\, \dots \,\Vert\, \mathbf{f}_i

    where :math:`k_{ij}` are categories (integer columns of ``x``, or the texts of ``node_kinds``,
    a row for each node) and :math:`\mathbf{f}_i` float columns, which pass unchanged. The same goes
    for ``edge_attr`` and ``edge_kinds``. A category that was not there when the encoder was learned
    becomes zeros, and a warning counts and names them.

    Attributes:
        nodes: The columns that nodes carry.
        edges: The columns that edges carry; None where they carry nothing.
    """

    nodes: tuple[Column, ...]
    edges: tuple[Column, ...] | None = None

    @classmethod
    def fit(
        cls,
        graphs: Iterable[Data],
        *,
        node_names: Sequence[str] | None = None,
        edge_names: Sequence[str] | None = None,
    ) -> FeatureEncoder:
        """Learn the categories of some graphs.

        Args:
            graphs: The training graphs, all with the same columns.
            node_names: What the columns of the nodes are called.
            edge_names: What the columns of the edges are called.
        """
        graphs = list(graphs)
        if not graphs:
            raise InputError("An encoder is learned on graphs, but there are none.")
        nodes = learn(graphs, "node", node_names)
        if nodes is None:
            raise InputError(
                "The graphs have no node features x. Give them some, such as the degree: "
                "torch_geometric.utils.degree(...)."
            )
        return cls(nodes, learn(graphs, "edge", edge_names))

    def transform(self, graphs: Iterable[Data]) -> list[Data]:
        """The same graphs with float ``x`` and ``edge_attr``; the given ones are not changed.

        Raises:
            InputError: If a graph does not have the columns that the encoder knows.
        """
        found = [copy(graph) for graph in graphs]
        unseen: Unseen = Counter()
        encode(found, "node", self.nodes, unseen)
        if self.edges is not None:
            encode(found, "edge", self.edges, unseen)
        else:  # what the training graphs did not have, a model cannot use
            for graph in found:
                for key in ("edge_attr", "edge_kinds"):
                    if key in graph:
                        del graph[key]
        warn_about(unseen)
        return found

    @property
    def num_features(self) -> int:
        """The width of ``x``."""
        return sum(column.width for column in self.nodes)

    @property
    def feature_names(self) -> list[str]:
        """What the columns of ``x`` are called."""
        return [name for column in self.nodes for name in column.feature_names]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, to be saved beside a model."""
        return {
            "nodes": [_plain(column) for column in self.nodes],
            "edges": None if self.edges is None else [_plain(column) for column in self.edges],
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> FeatureEncoder:
        """The inverse of :meth:`to_dict`."""
        try:
            nodes, edges = values["nodes"], values["edges"]
            return cls(
                tuple(_column(column) for column in nodes),
                None if edges is None else tuple(_column(column) for column in edges),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"These values are not those of a FeatureEncoder ({error})."
            ) from error


def _plain(column: Column) -> dict[str, Any]:
    return {"name": column.name, "kinds": None if column.kinds is None else list(column.kinds)}


def _column(values: Mapping[str, Any]) -> Column:
    name, kinds = values["name"], values["kinds"]
    if not isinstance(name, str):
        raise TypeError(f"a name is a text, not {name!r}")
    if kinds is None:
        return Column(name)
    for kind in kinds:
        if isinstance(kind, bool) or not isinstance(kind, int | str):
            raise TypeError(f"a category is a whole number or a text, not {kind!r}")
    if len(set(kinds)) != len(kinds):
        raise ValueError(f"{name} has a category twice")
    return Column(name, tuple(kinds))
