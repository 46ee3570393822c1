"""GIN with weighted edges, and with edge attributes where asked for."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch import nn as torch_nn
from torch_geometric.nn.inits import reset

from ifmixup.components import MODELS
from ifmixup.errors import InputError
from ifmixup.nn.aggregate import Neighbours, sum_at, weighted_sum
from ifmixup.nn.graph_model import GraphModel, Jump, NormName, WeightedConv
from ifmixup.nn.norm import make_norm, weigh_nodes
from ifmixup.nn.readout import ReadoutName


class GINEdges(NamedTuple):
    """Edges, their weights and their attributes, sorted by target."""

    neighbours: Neighbours
    edge_weight: Tensor | None
    edge_attr: Tensor | None


class GINConv(WeightedConv):
    r"""The isomorphism operator of `GIN <https://arxiv.org/abs/1810.00826>`_ with edge weights.

    .. math::
        \text{MLP} \left( (1 + \epsilon) \cdot \mathbf{h}_i
        + \sum_{j \in \mathcal{N}(i)} e(i, j) \cdot \mathbf{h}_j \right)

    It replaces :class:`torch_geometric.nn.GINConv`, which ignores edge weights: change
    the import and pass the weights. On weights of 1 both give the same, with the same parameters.

    .. code-block:: python

        from ifmixup.nn import GINConv  # instead of: from torch_geometric.nn import GINConv

        h = self.conv(x, edge_index, edge_weight)

    With edge attributes :math:`\mathbf{a}_{ij}` the message is, as in
    `GINE <https://arxiv.org/abs/1905.12265>`_,
    :math:`e(i, j) \cdot \mathrm{ReLU}(\mathbf{h}_j + W_a \mathbf{a}_{ij} + \mathbf{b}_a)`.

    Node weights go to every :class:`~ifmixup.nn.BatchNorm` inside ``nn``, however deep
    (:class:`~ifmixup.nn.weigh_nodes`). Torch's own ``BatchNorm1d`` counts every node whole.

    Args:
        nn: The MLP, any module from ``[N, in_channels]`` to ``[N, out_channels]``. Its parameters
            are taken as they are.
        eps: :math:`\epsilon`, or where it starts.
        train_eps: Whether :math:`\epsilon` is learnt.
        edge_dim: The width of the edge attributes, or ``None`` for none.
    """

    def __init__(
        self,
        nn: torch_nn.Module,
        eps: float = 0.0,
        train_eps: bool = False,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__()
        self.nn, self.initial_eps, self.edge_dim = nn, eps, edge_dim
        self.eps: Tensor
        if train_eps:
            self.eps = torch_nn.Parameter(torch.full((1,), float(eps)))
        else:
            self.register_buffer("eps", torch.full((1,), float(eps)))
        self.lin = None if edge_dim is None else torch_nn.Linear(edge_dim, _in_channels(nn))

    @property
    def supports_edge_attr(self) -> bool:  # type: ignore[override]
        """Whether the layer was made with ``edge_dim``."""
        return self.edge_dim is not None

    def reset_parameters(self) -> None:
        """Draw the weights anew; ε starts where it did."""
        reset(self.nn)
        self.eps.data.fill_(self.initial_eps)
        if self.lin is not None:
            self.lin.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours | GINEdges,
        edge_weight: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """Convolve ``x`` ``[N, in_channels]``.

        Args:
            x: ``[N, in_channels]``
            edge_index: ``[2, E]``, an ``EdgeIndex``, :class:`~ifmixup.nn.Neighbours`, or what
                :meth:`prepare` gives.
            edge_weight: ``[E]``, not negative; None: every edge has weight 1.
            edge_attr: ``[E, edge_dim]``, for a layer that was made with ``edge_dim``.
            node_weight: How much each node counts in batch norm ``[N]``; None: whole.

        Returns:
            ``[N, out_channels]``
        """
        if isinstance(edge_index, GINEdges):
            edges = edge_index
        else:
            edges = self.prepare(x, edge_index, edge_weight, edge_attr)
        neighbours, edge_weight, edge_attr = edges
        if self.lin is None:
            h = weighted_sum(x, neighbours, edge_weight, 1 + self.eps)
        else:
            messages = (x.index_select(0, neighbours.source) + self.lin(edge_attr)).relu_()
            if edge_weight is not None:
                messages = messages * edge_weight.to(messages.dtype).unsqueeze(-1)
            h = (1 + self.eps) * x + sum_at(messages, neighbours.target, x.size(0))
        if node_weight is None:
            return self.nn(h)
        with weigh_nodes(self.nn, node_weight):
            return self.nn(h)

    def _prepare(
        self,
        neighbours: Neighbours,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
        dtype: torch.dtype,
    ) -> GINEdges:
        return GINEdges(neighbours, edge_weight, edge_attr)


def _in_channels(module: torch_nn.Module) -> int:
    """The width that an MLP takes: that of the first layer inside it that tells."""
    for each in module.modules():
        for name in ("in_features", "in_channels"):
            if getattr(each, name, 0) > 0:
                return int(getattr(each, name))
    raise InputError(
        f"The width that {type(module).__name__} takes is not known, which edge_dim needs. Use an "
        f"MLP that starts with torch.nn.Linear(in_features, ...)."
    )


@MODELS.register("gin", hidden_channels=64, num_layers=5, dropout=0.5)
class GIN(GraphModel):
    r"""Graph isomorphism layers with edge weights.

    .. math::
        \mathbf{h}^{k}_i = \text{MLP}^{k} \left( (1 + \epsilon^{k}) \cdot \mathbf{h}_i^{k-1}
        + \sum_{j \in \mathcal{N}(i)} e(i, j) \cdot \mathbf{h}_j^{k-1} \right)

    A self-loop is an edge like any other, as it is for PyG.

    Args:
        in_channels: The width of the node features.
        hidden_channels: The width of every layer.
        num_layers: The number of layers.
        out_channels: The number of classes.
        dropout: Dropout after the dense layer of the head.
        readout: ``"mean"``, ``"sum"`` or ``"max"``.
        norm: ``"batch"`` (inside every MLP and after it) or ``"none"``.
        jk: ``"last"``, or ``"sum"`` for jumping knowledge.
        edge_dim: The width of ``edge_attr``, which the model then needs (GINE); ``None`` for none.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        readout: ReadoutName = "sum",
        norm: NormName = "batch",
        jk: Jump = "last",
        edge_dim: int | None = None,
    ) -> None:
        def conv(before: int, after: int) -> GINConv:
            bias = norm == "none"  # batch norm, here and after the MLP, takes a bias away again
            mlp = torch_nn.Sequential(
                torch_nn.Linear(before, after, bias=bias),
                make_norm(norm, after),
                torch_nn.ReLU(inplace=True),
                torch_nn.Linear(after, after, bias=bias),
            )
            return GINConv(mlp, train_eps=True, edge_dim=edge_dim)

        super().__init__(
            conv,
            in_channels,
            hidden_channels,
            num_layers,
            out_channels,
            dropout=dropout,
            readout=readout,
            norm=norm,
            jk=jk,
            edge_dim=edge_dim,
        )
