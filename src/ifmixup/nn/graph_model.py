"""What the four models share: convolutions in layers, READOUT, and a head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from ifmixup.errors import InputError, unknown_name
from ifmixup.nn.aggregate import Neighbours
from ifmixup.nn.inputs import check_edges, check_nodes
from ifmixup.nn.norm import NodeWeight, make_norm, weigh_nodes
from ifmixup.nn.readout import READOUTS, ReadoutName, num_graphs

NormName = Literal["batch", "none"]
Jump = Literal["last", "sum"]


class PreparedEdges(NamedTuple):
    """Edges in the order of their targets, their weights, and what else a layer needs of them."""

    edges: Any
    edge_weight: Any
    other: Any = None


class WeightedConv(nn.Module):
    """A convolution that reads edge weights, and takes ``edge_index`` as a layer of PyG does.

    Several layers of one kind can share the work on the edges, as our models do:
    ``edges = conv.prepare(x, edge_index, edge_weight)``, then ``conv(h, edges)`` in each layer.
    """

    supports_edge_weight: ClassVar[bool] = True
    needs_edge_weight: ClassVar[bool] = True  # else it is None where it is not given
    edge_dim: int | None = None

    def prepare(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours | PreparedEdges,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> PreparedEdges:
        """The edges as :meth:`forward` takes them in place of ``edge_index``; checked.

        Args:
            x: Node features, of which the number and the type count ``[N, F]``.
            edge_index: ``[2, E]``, an ``EdgeIndex`` or :class:`~ifmixup.nn.Neighbours`; what is
                prepared already stays as it is.
            edge_weight: ``[E]``, not negative; None: every edge has weight 1.
            edge_attr: ``[E, edge_dim]``, for a layer that was made with ``edge_dim``.
        """
        if isinstance(edge_index, PreparedEdges):
            return edge_index
        check_edges(x, edge_index, edge_weight, edge_attr, self.edge_dim)
        if not isinstance(edge_index, Neighbours):
            edge_index = Neighbours.of(edge_index, x.size(0))
        # Degrees are sums: in bfloat16, 256 + 1 is 256.
        dtype = x.dtype if x.dtype.itemsize > 2 else torch.float32
        if edge_weight is not None:
            edge_weight = edge_index.sort(edge_weight.to(dtype))
        elif self.needs_edge_weight:
            edge_weight = torch.ones(edge_index.num_edges, dtype=dtype, device=x.device)
        if edge_attr is not None:
            edge_attr = edge_index.sort(edge_attr)
        return self._prepare(edge_index, edge_weight, edge_attr)

    def _prepare(self, neighbours: Neighbours, edge_weight: Any, edge_attr: Any) -> PreparedEdges:
        """The same; weights and attributes come in the order of ``neighbours``."""
        return PreparedEdges(neighbours, edge_weight, edge_attr)


class Layer(nn.Module):
    r"""One step of message passing.

    .. math::
        \mathbf{h}' = \mathrm{ReLU}(\mathrm{norm}(\mathrm{conv}(\mathbf{h}))) \; [+ S \mathbf{h}]

    With ``skip``, :math:`S` is the identity, or a linear map where the widths differ.
    """

    def __init__(
        self, conv: nn.Module, in_channels: int, out_channels: int, norm: str, *, skip: bool
    ) -> None:
        super().__init__()
        self.conv = conv
        self.norm = make_norm(norm, out_channels)
        self.skip: nn.Module | None = nn.Identity() if skip else None
        if skip and in_channels != out_channels:
            self.skip = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, h: Tensor, edges: Any) -> Tensor:
        """Map ``h`` ``[N, in_channels]`` to ``[N, out_channels]``."""
        out = self.norm(self.conv(h, edges)).relu_()  # nobody else sees what relu_ overwrites
        return out if self.skip is None else out + self.skip(h)


class SumHead(nn.Module):
    r"""Jumping knowledge as in `GIN <https://arxiv.org/abs/1810.00826>`_.

    .. math::
        \sum_k \mathrm{dropout}(W^k \mathbf{h}_G^k + \mathbf{b}^k)
    """

    def __init__(self, widths: list[int], out_channels: int, dropout: float) -> None:
        super().__init__()
        self.widths = widths
        self.linears = nn.ModuleList(nn.Linear(width, out_channels) for width in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor) -> Tensor:
        """Map the concatenated readouts ``[B, sum(widths)]`` to logits ``[B, C]``."""
        readouts = h.split(self.widths, dim=-1)
        logits = [self.dropout(lin(r)) for lin, r in zip(self.linears, readouts, strict=True)]
        return torch.stack(logits).sum(dim=0)


class GraphModel(nn.Module, ABC):
    """A graph classifier that reads edge weights and node weights.

    Edges are directed as in PyG: messages flow from ``edge_index[0]`` to ``edge_index[1]``.
    Weights must not be negative. An edge of weight 0 counts as absent, and a repeated edge
    counts with the sum of its weights. A node of weight 0 without edges is absent too: it counts
    neither in READOUT nor in batch norm.

    Args:
        in_channels: Number of node features.
        hidden_channels: Number of channels of every layer.
        num_layers: Number of layers.
        out_channels: Number of classes ``C``.
        dropout: Dropout probability after the dense layer of the head.
        readout: Sum, mean or maximum over the nodes of a graph: ``"sum"``, ``"mean"`` or ``"max"``.
        norm: Normalisation in every layer: ``"batch"`` or ``"none"``.
        jk: Jumping knowledge: ``"last"`` classifies the readout of the last layer, ``"sum"`` adds
            up linear heads on the readouts of the input and of every layer.
    """

    #: How papers write the model's name.
    title: ClassVar[str]
    adds_repeated_edges: ClassVar[bool] = True
    supports_edge_weight: ClassVar[bool] = True
    #: Whether a skip connection goes around every layer.
    skip: ClassVar[bool] = False
    #: The width of ``edge_attr``; None if the model does not read it.
    edge_dim: int | None = None

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
    ) -> None:
        super().__init__()
        for kind, given, allowed in (
            ("readout", readout, READOUTS),
            ("norm", norm, ("none", "batch")),
            ("jk", jk, ("last", "sum")),
        ):
            if given not in allowed:
                raise unknown_name(kind, given, allowed)
        if num_layers < 1:
            raise InputError(f"num_layers must be at least 1; got {num_layers}.")
        if not 0 <= dropout <= 1:
            raise InputError(f"dropout must be in [0, 1]; got {dropout}.")

        self.readout, self.norm, self.jk = readout, norm, jk
        self.in_channels, self.hidden_channels = in_channels, hidden_channels
        self.num_layers, self.out_channels = num_layers, out_channels
        widths = [in_channels] + [hidden_channels] * num_layers
        self.layers = nn.ModuleList(
            Layer(self.init_conv(before, after), before, after, norm, skip=self.skip)
            for before, after in pairwise(widths)
        )
        self.head: nn.Module
        if jk == "sum":
            self.head = SumHead(widths, out_channels, dropout)
        else:
            self.head = nn.Sequential(
                nn.Linear(hidden_channels, hidden_channels),
                nn.ReLU(),
                nn.Dropout(dropout),
                nn.Linear(hidden_channels, out_channels),
            )

    @abstractmethod
    def init_conv(self, in_channels: int, out_channels: int) -> WeightedConv:
        """The convolution of one layer."""

    def extra_repr(self) -> str:
        """The options of the model as a whole, for ``repr``."""
        return (
            f"{self.in_channels}, {self.hidden_channels}, {self.num_layers}, {self.out_channels}, "
            f"readout={self.readout!r}, jk={self.jk!r}"
        )

    def reset_parameters(self) -> None:
        """Reset all learnable parameters and the running statistics."""
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
        node_weight: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Classify every graph of a batch.

        Args:
            x: Node features ``[N, in_channels]``; those of mixed graphs are scaled by
                ``node_weight`` already.
            edge_index: Source and target of every edge ``[2, E]``; an ``EdgeIndex`` works too, and
                so does a :class:`Neighbours`, which saves the sorting.
            edge_weight: ``[E]``; every edge has weight 1 if it is not given.
            batch: The graph each node belongs to ``[N]``; a single graph if it is not given.
            edge_attr: ``[E, edge_dim]``, for a GIN that was made with ``edge_dim``.
            node_weight: How much each node counts in READOUT and in batch norm ``[N]``, from 0 to
                1; every node counts whole if it is not given.
            batch_size: The number of graphs ``B``; saves a device sync where it is known.

        Returns:
            Logits ``[B, C]``.
        """
        h = self.embed(
            x,
            edge_index,
            edge_weight,
            batch,
            edge_attr=edge_attr,
            node_weight=node_weight,
            batch_size=batch_size,
        )
        return self.classify(h)

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        node_weight: Tensor | None = None,
        batch_size: int | None = None,
        start: int = 0,
        earlier: Tensor | None = None,
        scaled: bool = True,
    ) -> Tensor:
        """The graph representations: the part of ``forward`` up to and with READOUT.

        The arguments are those of :meth:`forward`, and three more for methods that mix node states:

        .. code-block:: python

            h, earlier = model.encode_with_readouts(x, edge_index, edge_weight, batch, stop=2)
            ...  # mix the node states h, the edges, the node weights, and the rows of earlier
            h = model.embed(h, edge_index, edge_weight, batch, node_weight=node_weight, start=2,
                            earlier=earlier)
            logits = model.classify(h)

        Args:
            start: The first layer to run; with it ``x`` are the node states before that layer.
            earlier: The readouts of the states before ``x``, which ``jk="sum"`` needs ``[B, D']``.
            scaled: Whether ``x`` is scaled by ``node_weight`` already, as the features of mixed
                graphs and mixed node states are. READOUT does not scale such rows again.

        Returns:
            ``[B, hidden_channels]``; with ``jk="sum"`` the readouts of the input and of all layers
            side by side, ``[B, in_channels + num_layers * hidden_channels]``.
        """
        edges, size = (edge_index, edge_weight, edge_attr), num_graphs(batch, batch_size)
        _, readouts = self._run(x, edges, batch, node_weight, start, None, size, scaled=scaled)
        if self.jk == "sum":
            readouts = readouts if earlier is None else [earlier, *readouts]
            wanted = self.in_channels + self.num_layers * self.hidden_channels
            found = sum(each.size(1) for each in readouts)
            if found != wanted:
                raise InputError(
                    f"The readouts from layer {start} on have {found} columns, but jk='sum' needs "
                    f"those of all layers, {wanted}. Give earlier=, the second result of "
                    f"encode_with_readouts(..., stop={start})."
                )
        return torch.cat(readouts, dim=-1) if len(readouts) > 1 else readouts[0]

    def classify(self, h: Tensor) -> Tensor:
        """The part of ``forward`` after READOUT: what ``embed`` gives to logits ``[B, C]``."""
        return self.head(h)

    def encode(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        start: int = 0,
        stop: int | None = None,
        edge_attr: Tensor | None = None,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """The node states between two layers ``[N, hidden_channels]``.

        ``encode(x, ..., stop=k)`` runs the first k layers; ``encode(h, ..., start=k)`` continues
        from their result. The other arguments are those of :meth:`forward`.

        Args:
            start: The first layer to run, counted from 0.
            stop: The first layer not to run; None runs all.
        """
        edges = (edge_index, edge_weight, edge_attr)
        return self._run(x, edges, batch, node_weight, start, stop)[0]

    def encode_with_readouts(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        stop: int | None = None,
        edge_attr: Tensor | None = None,
        node_weight: Tensor | None = None,
        batch_size: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """What :meth:`encode` gives, and what ``jk="sum"`` needs of the states before it.

        Returns:
            The node states ``[N, hidden_channels]``, and the readouts of the states before them,
            side by side, which :meth:`embed` takes as ``earlier``: ``[B, D']``, and ``[B, 0]`` with
            ``jk="last"``.
        """
        edges, size = (edge_index, edge_weight, edge_attr), num_graphs(batch, batch_size)
        h, (*readouts, _) = self._run(x, edges, batch, node_weight, 0, stop, size)
        return h, torch.cat(readouts, dim=-1) if readouts else h.new_empty(size, 0)

    def _run(
        self,
        x: Tensor,
        given: tuple[Any, ...],
        batch: Tensor | None,
        node_weight: Tensor | None,
        start: int,
        stop: int | None,
        size: int | None = None,
        *,
        scaled: bool = True,
    ) -> tuple[Tensor, list[Tensor]]:
        """The states after the last layer, and for ``size`` graphs the readouts that ``jk`` needs.

        Mixed features and mixed states, which come in, are ``scaled`` by their node weight already.
        """
        stop = self.num_layers if stop is None else stop
        if not 0 <= start <= stop <= self.num_layers:
            raise InputError(
                f"start={start} and stop={stop} are not layers of this model: "
                f"0 <= start <= stop <= {self.num_layers}."
            )
        width = self.hidden_channels if start > 0 else self.in_channels
        check_nodes(x, batch, width, node_weight)
        weights = NodeWeight.of(node_weight)
        node_weight = None if weights is None else weights.weight
        # Worked out once, not in every layer.
        conv: Any = self.layers[0].conv
        edges = conv.prepare(x, *given)
        h, readouts = x, []
        pool = partial(READOUTS[self.readout], batch=batch, size=size, node_weight=node_weight)
        with weigh_nodes(self.layers, weights):
            for index in range(start, stop + 1):
                if size is not None and (self.jk == "sum" or index == stop):
                    readouts.append(pool(h, scaled=scaled and index == start))
                if index < stop:
                    h = self.layers[index](h, edges)
        return h, readouts
