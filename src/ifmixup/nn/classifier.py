"""Graph classifiers from encoders of nodes, such as PyG's ready-made models."""

from __future__ import annotations

import warnings
from typing import Any

from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from ifmixup.errors import unknown_name
from ifmixup.nn.graph_model import GraphModel
from ifmixup.nn.inputs import forward_names
from ifmixup.nn.norm import weigh_nodes
from ifmixup.nn.readout import READOUTS, ReadoutName


class Classifier(nn.Module):
    """A graph classifier from a node-level model: the encoder, READOUT, dropout, a linear layer.

    The encoder is a ready-made model of PyG (``torch_geometric.nn.GCN``, ``GraphSAGE``, ``PNA``), a
    ``torch_geometric.nn.Sequential``, or any module with ``forward(x, edge_index, ...)``. Of
    ``edge_weight``, ``edge_attr``, ``batch``, ``batch_size`` and ``node_weight`` it gets what its
    ``forward`` names. A model of PyG whose layers ignore edge weights says so
    (``supports_edge_weight = False``): it gets none, with a warning. Node weights count in READOUT,
    and in every :class:`~ifmixup.nn.BatchNorm` inside the encoder.

    Args:
        encoder: The node-level model, ``[N, in_channels]`` to ``[N, hidden_channels]``.
        hidden_channels: The width of its result.
        out_channels: The number of classes ``C``.
        readout: ``"mean"``, ``"sum"`` or ``"max"`` over the nodes of a graph.
        dropout: Dropout before the linear layer.

    Example:
        A class that every command takes as a model (``--models nets.py:Net``):

        >>> import torch, torch_geometric
        >>> class Net(Classifier):
        ...     def __init__(self, in_channels, out_channels, hidden_channels=64, num_layers=3):
        ...         encoder = torch_geometric.nn.GCN(in_channels, hidden_channels, num_layers)
        ...         super().__init__(encoder, hidden_channels, out_channels, readout="mean")
        >>> net = Net(in_channels=7, out_channels=2)
        >>> net(torch.ones(3, 7), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 0.5])).shape
        torch.Size([1, 2])
    """

    def __init__(
        self,
        encoder: nn.Module,
        hidden_channels: int,
        out_channels: int,
        *,
        readout: ReadoutName = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if readout not in READOUTS:
            raise unknown_name("readout", readout, READOUTS)
        self.encoder, self.readout = encoder, readout
        self.dropout = nn.Dropout(dropout)
        self.lin = nn.Linear(hidden_channels, out_channels)
        named = forward_names(encoder)
        self._takes = {n for n in named if getattr(encoder, f"supports_{n}", True) is not False}
        self._warned = False

    @property
    def supports_edge_weight(self) -> bool:
        """Whether the encoder takes edge weights."""
        return "edge_weight" in self._takes

    def extra_repr(self) -> str:
        """READOUT, and whether edge weights are read, for ``repr``."""
        return f"readout={self.readout!r}, supports_edge_weight={self.supports_edge_weight}"

    def reset_parameters(self) -> None:
        """Reset all learnable parameters."""
        reset(self.encoder)
        self.lin.reset_parameters()

    forward = GraphModel.forward  # classify(embed(...)), with the same arguments

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        node_weight: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The graph representations ``[B, hidden_channels]``."""
        if edge_weight is not None and not self.supports_edge_weight and not self._warned:
            self._warned = True
            warnings.warn(
                f"{type(self.encoder).__name__} does not read edge weights: mixed edges count "
                f"fully. ifmixup.check_model tells you what to change.",
                stacklevel=2,
            )
        given: dict[str, Any] = {
            "edge_weight": edge_weight,
            "edge_attr": edge_attr,
            "batch": batch,
            "batch_size": batch_size,
            "node_weight": node_weight,
        }
        taken = {name: value for name, value in given.items() if name in self._takes}
        with weigh_nodes(self.encoder, node_weight):
            h = self.encoder(x, edge_index, **taken)
        return READOUTS[self.readout](h, batch, batch_size, node_weight=node_weight)

    def classify(self, h: Tensor) -> Tensor:
        """From what :meth:`embed` gives to logits ``[B, C]``."""
        return self.lin(self.dropout(h))
