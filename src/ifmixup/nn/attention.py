"""What GAT and GATv2 have in common: attention that reads edge weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import zeros

from ifmixup.errors import InputError
from ifmixup.nn.aggregate import sum_at, without_loops
from ifmixup.nn.model import GraphModel
from ifmixup.nn.neighbours import Neighbours

NEGATIVE_SLOPE = 0.2  # of the LeakyReLU in the scores: both papers' value, and PyG's


def weighted_softmax(score: Tensor, edge_weight: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    r"""A softmax over the edges of each target node that counts every edge by its weight.

    .. math::
        \alpha_{ij} = \frac{e(i,j) \exp(s_{ij})}{\sum_k e(i,k) \exp(s_{ik})}

    Args:
        score: :math:`s` ``[E, H]``
        edge_weight: :math:`e` ``[E]``, not negative; each target needs an edge of weight above 0.
        target: ``[E]``
        num_nodes: ``N``

    Returns:
        ``[E, H]``
    """
    weight = edge_weight.unsqueeze(-1)
    # The largest score of the edges that count. Among the others may be a larger one, which would
    # make all that count underflow.
    top = (
        score.new_full((num_nodes, score.size(1)), -math.inf)
        .scatter_reduce(
            0,
            target.unsqueeze(-1).expand_as(score),
            score.detach().masked_fill(weight == 0, -math.inf),
            "amax",
        )
        .index_select(0, target)
    )
    # Only an edge of weight 0 can lie above its top. The bound keeps exp finite there, so that
    # 0 · exp is 0; below it, the gradient towards the zero weight is exact.
    bound = math.log(torch.finfo(score.dtype).max) / 2
    share = weight * (score - top).clamp(max=bound).exp()
    return share / sum_at(share, target, num_nodes).index_select(0, target)


class AttentionConv(nn.Module, ABC):
    r"""Attention over the neighbours and the node itself, heads side by side.

    .. math::
        \mathbf{h}'_i = \sum_{j \in \mathcal{N}(i) \cup \{i\}} \alpha_{ij} W \mathbf{h}_j
        + \mathbf{b}, \quad \alpha_{ij} \propto e(i,j) \exp(s_{ij})

    Args:
        out_channels: The width of the result, over all heads.
        heads: The number of heads ``H``.
    """

    def __init__(self, out_channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.bias = nn.Parameter(torch.empty(out_channels))

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        zeros(self.bias)

    @abstractmethod
    def messages(self, h: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """What flows along each edge ``[E, H, F]`` and the score of each edge ``[E, H]``."""

    def forward(self, h: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """Convolve ``h`` ``[N, in_channels]``; the edges are those of :func:`unit_loops`."""
        source, target = edge_index
        messages, score = self.messages(h, source, target)
        alpha = weighted_softmax(score, edge_weight, target, h.size(0))
        out = sum_at(alpha.unsqueeze(-1) * messages, target, h.size(0))
        return out.flatten(start_dim=1) + self.bias


def unit_loops(neighbours: Neighbours, edge_weight: Tensor) -> tuple[Tensor, Tensor]:
    """Give every node one self-loop of weight 1; those it already had get weight 0.

    Returns:
        ``edge_index`` ``[2, E + N]`` and the weights ``[E + N]``.
    """
    num_nodes = neighbours.num_nodes
    nodes = torch.arange(num_nodes, device=edge_weight.device)
    return (
        torch.stack([torch.cat([neighbours.source, nodes]), torch.cat([neighbours.target, nodes])]),
        torch.cat([without_loops(neighbours, edge_weight), edge_weight.new_ones(num_nodes)]),
    )


class AttentionModel(GraphModel):
    """A model of attention layers. :class:`~ifmixup.nn.GAT` describes the arguments."""

    conv: ClassVar[Callable[..., AttentionConv]]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        readout: str = "sum",
        norm: str = "batch",
        jk: str = "last",
        heads: int = 1,
    ) -> None:
        if heads < 1 or hidden_channels % heads != 0:
            raise InputError(
                f"hidden_channels={hidden_channels} cannot be shared out among heads={heads}. "
                "Choose heads that divide hidden_channels."
            )
        super().__init__(
            partial(type(self).conv, heads=heads),
            in_channels,
            hidden_channels,
            num_layers,
            out_channels,
            dropout=dropout,
            readout=readout,
            norm=norm,
            jk=jk,
        )

    def edges(
        self,
        x: Tensor,
        neighbours: Neighbours,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
    ) -> tuple[Any, ...]:
        """The edges and one self-loop of weight 1 for every node."""
        if edge_weight is None:
            edge_weight = x.new_ones(neighbours.num_edges)
        return unit_loops(neighbours, edge_weight)
