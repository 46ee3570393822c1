"""What the four models have in common: layers, readout, head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from ifmixup.errors import InputError, unknown_name
from ifmixup.nn.head import LastHead, SumHead
from ifmixup.nn.inputs import check_edges, check_nodes
from ifmixup.nn.layer import Layer
from ifmixup.nn.neighbours import Neighbours
from ifmixup.nn.norm import NORMS
from ifmixup.nn.readout import READOUTS, num_graphs

JUMPS = ("last", "sum")


class GraphModel(nn.Module, ABC):
    """A graph classifier that reads edge weights.

    Edges are directed as in PyG: messages flow from ``edge_index[0]`` to ``edge_index[1]``.
    Weights must not be negative. An edge of weight 0 is no edge, and an edge that stands twice
    counts with the sum of its weights.

    Args:
        conv: Makes the convolution of one layer from its input and output width.
        in_channels: The width of the node features.
        hidden_channels: The width of every layer.
        num_layers: The number of layers.
        out_channels: The number of classes ``C``.
        dropout: Dropout after the dense layer of the head.
        readout: ``"mean"``, ``"sum"`` or ``"max"`` over the nodes of a graph.
        norm: ``"batch"`` for batch norm in every layer, or ``"none"``.
        jk: ``"last"`` classifies the last layer's readout; ``"sum"`` (jumping knowledge) puts a
            linear head on the readout of the input and of every layer, and sums the logits.
        skip: Whether a skip connection goes around every layer.
        edge_dim: The width of ``edge_attr``, or ``None`` if the model does not read it.
    """

    adds_repeated_edges = True

    def __init__(
        self,
        conv: Callable[[int, int], nn.Module],
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        *,
        dropout: float,
        readout: str,
        norm: str,
        jk: str,
        skip: bool = False,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__()
        for kind, given, allowed in (
            ("readout", readout, READOUTS),
            ("norm", norm, NORMS),
            ("jk", jk, JUMPS),
        ):
            if given not in allowed:
                raise unknown_name(kind, given, allowed)
        if num_layers < 1:
            raise InputError(f"num_layers is {num_layers}, but a model needs at least 1 layer.")
        if not 0 <= dropout <= 1:
            raise InputError(f"dropout is {dropout}, but it is a share: from 0 to 1.")

        self.readout, self.jk, self.edge_dim = readout, jk, edge_dim
        self.in_channels = in_channels
        widths = [in_channels] + [hidden_channels] * num_layers
        self.layers = nn.ModuleList(
            Layer(conv(before, after), before, after, norm, skip=skip)
            for before, after in pairwise(widths)
        )
        self.head: nn.Module
        if jk == "last":
            self.head = LastHead(hidden_channels, out_channels, dropout)
        else:
            self.head = SumHead(widths, out_channels, dropout)

    def reset_parameters(self) -> None:
        """Draw all weights anew and forget the running statistics."""
        for child in self.children():
            reset(child)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Classify every graph of a batch.

        Args:
            x: Node features ``[N, in_channels]``.
            edge_index: Source and target of every edge ``[2, E]``; an ``EdgeIndex`` works too, and
                so does a :class:`Neighbours`, which saves the sorting.
            edge_weight: ``[E]``; every edge has weight 1 if it is not given.
            batch: The graph each node belongs to ``[N]``; a single graph if it is not given.
            edge_attr: ``[E, edge_dim]``, for a GIN that was made with ``edge_dim``.
            batch_size: The number of graphs ``B``; saves a device sync where it is known.

        Returns:
            Logits ``[B, C]``.
        """
        return self.classify(
            self.embed(
                x, edge_index, edge_weight, batch, edge_attr=edge_attr, batch_size=batch_size
            )
        )

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The graph representations: the part of ``forward`` up to and with READOUT.

        Returns:
            ``[B, hidden_channels]``; with ``jk="sum"`` the readouts of the input and of all layers
            side by side, ``[B, in_channels + num_layers * hidden_channels]``.
        """
        check_nodes(x, batch, self.in_channels)
        check_edges(x.size(0), edge_index, edge_weight, edge_attr, self.edge_dim)
        if isinstance(edge_index, Neighbours):
            neighbours = edge_index
        else:
            neighbours = Neighbours.of(edge_index, x.size(0))
        if edge_weight is not None:
            edge_weight = neighbours.sort(edge_weight.to(x.dtype))
        if edge_attr is not None:
            edge_attr = neighbours.sort(edge_attr)

        edges = self.edges(x, neighbours, edge_weight, edge_attr)
        pool, size = READOUTS[self.readout], num_graphs(batch, batch_size)
        readouts = [pool(x, batch, size)] if self.jk == "sum" else []
        h = x
        for layer in self.layers:
            h = layer(h, *edges)
            if self.jk == "sum":
                readouts.append(pool(h, batch, size))
        return torch.cat(readouts, dim=-1) if readouts else pool(h, batch, size)

    def classify(self, h: Tensor) -> Tensor:
        """The part of ``forward`` after READOUT: what ``embed`` gives to logits ``[B, C]``."""
        return self.head(h)

    @abstractmethod
    def edges(
        self,
        x: Tensor,
        neighbours: Neighbours,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
    ) -> tuple[Any, ...]:
        """What every convolution takes after ``h``; worked out once, not in every layer.

        Weights and attributes come in the order of ``neighbours``.
        """
