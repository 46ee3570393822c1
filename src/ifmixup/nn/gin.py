"""GIN with weighted edges, and with edge attributes where asked for."""

from __future__ import annotations

import torch
from torch import Tensor
from torch import nn as torch_nn
from torch_geometric.nn.inits import reset

from ifmixup.components import MODELS
from ifmixup.errors import InputError
from ifmixup.nn.aggregate import Neighbours, sum_at, weighted_sum
from ifmixup.nn.graph_model import GraphModel, Jump, NormName, PreparedEdges, WeightedConv
from ifmixup.nn.norm import make_norm, weigh_nodes
from ifmixup.nn.readout import ReadoutName


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

    needs_edge_weight = False

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

    def reset_parameters(self) -> None:
        """Reset all learnable parameters, ε to its initial value."""
        reset(self.nn)
        self.eps.data.fill_(self.initial_eps)
        if self.lin is not None:
            self.lin.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours | PreparedEdges,
        edge_weight: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """Convolve ``x`` ``[N, in_channels]`` to ``[N, out_channels]``; see :meth:`prepare`.

        ``node_weight`` ``[N]`` tells how much each node counts in batch norm; None: whole.
        """
        neighbours, edge_weight, edge_attr = self.prepare(x, edge_index, edge_weight, edge_attr)
        if self.lin is None:
            h = weighted_sum(x, neighbours, edge_weight, 1 + self.eps)
        else:
            messages = (x.index_select(0, neighbours.source) + self.lin(edge_attr)).relu_()
            if edge_weight is not None:
                messages = messages * edge_weight.to(messages.dtype).unsqueeze(-1)
            h = (1 + self.eps) * x + sum_at(messages, neighbours.target, x.size(0))
        with weigh_nodes(self.nn, node_weight):
            return self.nn(h)


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
    """Graph isomorphism layers (:class:`GINConv`) with edge weights.

    A self-loop is an edge like any other, as it is for PyG. The arguments are those of
    :class:`GraphModel`, with batch norm also inside every MLP, and one more.

    Args:
        edge_dim: The width of ``edge_attr``, which the model then needs (GINE); ``None`` for none.
    """

    title = "GIN"

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
        self.edge_dim = edge_dim  # of the layers, which the base makes
        sizes = in_channels, hidden_channels, num_layers, out_channels
        super().__init__(*sizes, dropout=dropout, readout=readout, norm=norm, jk=jk)

    def init_conv(self, in_channels: int, out_channels: int) -> GINConv:
        """An MLP of two layers; batch norm, inside it and after it, takes a bias away again."""
        bias = self.norm == "none"
        mlp = torch_nn.Sequential(
            torch_nn.Linear(in_channels, out_channels, bias=bias),
            make_norm(self.norm, out_channels),
            torch_nn.ReLU(inplace=True),
            torch_nn.Linear(out_channels, out_channels, bias=bias),
        )
        return GINConv(mlp, train_eps=True, edge_dim=self.edge_dim)
