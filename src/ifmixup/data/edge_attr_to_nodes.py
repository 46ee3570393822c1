"""Edge attributes as node features: the paper's other way of using them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from ifmixup.edges import shape_of
from ifmixup.errors import InputError, InputTypeError, unknown_name


class EdgeAttrToNodes(BaseTransform):
    r"""Append to each node's features the attributes of the edges that arrive at it.

    .. math:: \mathbf{x}'_i = \mathbf{x}_i \,\Vert\, \sum_{(j, i) \in E} \mathbf{e}_{ji}

    ifMixup mixes node features and edge weights, not edge attributes. This transform moves them to
    the nodes before mixing, and removes ``edge_attr``. A node without arriving edges gets zeros.

    Args:
        reduce: ``"sum"``, or ``"mean"`` over the edges that arrive.

    Example:
        >>> dataset = load("MUTAG")
        >>> dataset.transform = EdgeAttrToNodes()
        >>> dataset.num_features  # 7 atoms and 4 bonds
        11
    """

    def __init__(self, reduce: str = "sum") -> None:
        if reduce not in ("sum", "mean"):
            raise unknown_name("reduce", str(reduce), ("sum", "mean"))
        self.reduce = reduce

    def forward(self, data: Data) -> Data:
        """Change a shallow copy, which ``BaseTransform.__call__`` makes of the user's graph."""
        if not isinstance(data, Data):
            raise InputTypeError(
                f"EdgeAttrToNodes needs a Data or a Batch, not a {type(data).__name__}."
            )
        x, edge_attr = _columns(data, "x"), _columns(data, "edge_attr")
        if data.edge_index is None or len(edge_attr) != data.edge_index.size(1):
            edges = 0 if data.edge_index is None else data.edge_index.size(1)
            raise InputError(
                f"edge_attr has {len(edge_attr)} rows, but edge_index has {edges} edges; it needs "
                "one row per edge."
            )
        arriving = scatter(
            edge_attr.to(x.dtype), data.edge_index[1], dim_size=len(x), reduce=self.reduce
        )
        data.x = torch.cat([x, arriving], dim=1)
        del data.edge_attr
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(reduce={self.reduce!r})"


def _columns(data: Data, key: str) -> Tensor:
    """An attribute as a matrix of floats."""
    value = data.get(key)
    if value is None or not value.is_floating_point() or value.dim() not in (1, 2):
        raise InputError(
            f"EdgeAttrToNodes needs floats {key} of one or two dimensions; got {shape_of(value)}. "
            "The numbers of categories cannot be added: one-hot encode them first with "
            "torch_geometric.utils.one_hot(...)."
        )
    return value.unsqueeze(-1) if value.dim() == 1 else value
