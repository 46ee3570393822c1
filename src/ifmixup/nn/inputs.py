"""What models are given: graphs for any model, and checks of shapes and types (no device sync)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.data import Data

from ifmixup.edges import shape_of
from ifmixup.errors import InputError, ModelError
from ifmixup.graphs import Graphs
from ifmixup.nn.aggregate import Neighbours
from ifmixup.source_code import user_code

Call = Callable[[nn.Module, Any], Any]
_POSITIONAL = ("x", "edge_index", "edge_weight", "batch")
CALL_HINT = "check_model(model, batch, call=lambda model, batch: model(batch.x, ...))"


class GraphsModel:
    """A model that takes :class:`~ifmixup.graphs.Graphs`, for training and for methods' ``loss``.

    A model of :mod:`ifmixup.nn` is called the fastest way. Any other model is called as
    ``model(x, edge_index, edge_weight, batch)``, and gets ``edge_attr`` and ``node_weight`` by
    keyword where its ``forward`` names them and the graphs have them.

    Args:
        model: The model; it may be compiled or wrapped for data-parallel training.
        undirected: Whether all graphs are :func:`~ifmixup.graphs.is_undirected`, which saves our
            models sorting the edges.
        node_weight: Whether a model that takes node weights is given them.
    """

    def __init__(
        self, model: nn.Module, *, undirected: bool = False, node_weight: bool = True
    ) -> None:
        from ifmixup.nn.graph_model import GraphModel  # which imports the checks below

        self.model = model
        self.undirected, self.node_weight = undirected, node_weight
        self._inner = unwrap(model)
        self._is_ours = isinstance(self._inner, GraphModel)
        self._named = forward_names(self._inner)
        self._part_names: dict[str, list[str]] = {}

    def __call__(self, graphs: Graphs) -> Tensor:
        """The logits ``[B, C]``."""
        out = self._call(self.model, "forward", self._named, graphs, {})
        if not self._is_ours:
            self._check_rows(out, graphs)
        return out

    def embed(self, graphs: Graphs, **options: Any) -> Tensor:
        """The graph representations ``[B, D]``, from a model that has ``embed``."""
        return self._part("embed", graphs, options)

    def classify(self, h: Tensor) -> Tensor:
        """From what :meth:`embed` gives to logits ``[B, C]``."""
        function = self._find("classify")
        with user_code(f"{type(self._inner).__name__}.classify", type(self._inner)):
            return function(h)

    def encode(self, graphs: Graphs, **options: Any) -> Tensor:
        """The node states ``[N, hidden_channels]`` between layers ``start`` and ``stop``.

        With ``start``, the ``x`` of ``graphs`` are the node states before that layer.
        """
        return self._part("encode", graphs, options)

    def encode_with_readouts(self, graphs: Graphs, **options: Any) -> tuple[Tensor, Tensor]:
        """What :meth:`encode` gives, and the earlier readouts that :meth:`embed` takes."""
        return self._part("encode_with_readouts", graphs, options)

    def inputs(self, graphs: Graphs) -> dict[str, Any]:
        """What the model's ``forward`` is given, by name; the first four go by position."""
        return self._inputs(graphs, self._named)

    def _inputs(self, graphs: Graphs, named: list[str]) -> dict[str, Any]:
        edge_index: Tensor | Neighbours = graphs.edge_index
        if self._is_ours and self.undirected:
            edge_index = Neighbours.mirrored(graphs.edge_index, graphs.num_nodes)
        found: dict[str, Any] = {
            "x": graphs.nodes.get("x"),
            "edge_index": edge_index,
            "edge_weight": graphs.edges.get("edge_weight"),
            "batch": graphs.node_graph,
        }
        reads_attr = not self._is_ours or self._inner.edge_dim is not None
        optional = {
            "edge_attr": graphs.edges.get("edge_attr") if reads_attr else None,
            "node_weight": graphs.nodes.get("node_weight") if self.node_weight else None,
            "batch_size": graphs.num_graphs if self._is_ours else None,
        }
        given = {name: value for name, value in optional.items() if value is not None}
        return found | {name: value for name, value in given.items() if name in named}

    def _call(self, function: Any, name: str, named: list[str], graphs: Graphs, more: Any) -> Any:
        inputs = self._inputs(graphs, named)
        first = [inputs.pop(each) for each in _POSITIONAL]
        with user_code(f"{type(self._inner).__name__}.{name}", type(self._inner)):
            return function(*first, **inputs, **more)

    def _part(self, name: str, graphs: Graphs, options: dict[str, Any]) -> Any:
        function = self._find(name)
        if name not in self._part_names:  # reading a signature takes a while
            self._part_names[name] = _named_arguments(function)
        return self._call(function, name, self._part_names[name], graphs, options)

    def _find(self, name: str) -> Any:
        found = getattr(self._inner, name, None)
        if found is None:
            raise ModelError(
                f"{type(self._inner).__name__} has no method {name!r}, which this augmentation "
                f"needs. Use a model of ifmixup.nn, or give yours embed(x, edge_index, "
                f"edge_weight, batch) and classify(h), as ifmixup.nn.GraphModel documents them."
            )
        return found

    def _check_rows(self, out: Any, graphs: Graphs) -> None:
        name = type(self._inner).__name__
        if not isinstance(out, Tensor) or not out.is_floating_point():
            kind = out.dtype if isinstance(out, Tensor) else type(out).__name__
            raise ModelError(f"{name} returns {kind}; it must return logits, a float tensor.")
        if out.dim() != 2 or out.size(0) != graphs.num_graphs:
            of_nodes = out.dim() == 2 and out.size(0) == graphs.num_nodes
            raise ModelError(
                f"{name} returns {list(out.shape)} for {graphs.num_graphs} graphs; it must return "
                f"one row of logits per graph."
                + (" Make it a graph classifier with ifmixup.nn.Classifier." if of_nodes else "")
            )


def unwrap(model: nn.Module) -> nn.Module:
    """The model inside ``torch.compile`` and data-parallel wrappers: its ``forward`` has names."""
    while True:
        if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def forward_names(model: nn.Module) -> list[str]:
    """The names of the arguments that a model's ``forward`` takes."""
    if isinstance(model, pyg.Sequential):  # whose forward may be (*args, **kwargs)
        return list(model.signature.param_dict)
    return _named_arguments(model.forward)


def _named_arguments(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def find_call(model: nn.Module, batch: Data, advice: str) -> tuple[Call, str]:
    """How to call a model with a batch of PyG's, by the names in its ``forward``; and in words.

    Each parameter gets what the batch has under its name, a ``forward(data)`` the batch itself.
    The ``advice`` is for the error where a model takes no edge weights.
    """
    parameters = inspect.signature(model.forward).parameters.values()
    names = _named_arguments(model.forward)
    needed = [p.name for p in parameters if p.name in names and p.default is p.empty]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    shown = f"forward({', '.join(names)})"

    by_position = names[3:4] == ["batch"] and not {"edge_weight", "edge_attr"} & set(names)
    if (not names and takes_any) or (by_position and set(needed) <= set(names[:4])):
        called = f"model({', '.join(_POSITIONAL)})"
        return lambda m, b: m(*(b.get(name) for name in _POSITIONAL)), called
    if len(needed) == 1 and "edge_index" not in names and "edge_weight" not in names:
        return lambda m, b: m(b), "model(batch)"

    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = list(dict.fromkeys([*names, "edge_weight"]))
    source = {name: name for name in (*needed, "edge_weight", "batch") if name in names}
    if "node_weight" in names and batch.get("node_weight") is not None:
        source["node_weight"] = "node_weight"
    if getattr(model, "edge_dim", None) and "edge_attr" in names:
        source["edge_attr"] = "edge_attr"  # optional in the signature, but this one needs it
    if "edge_weight" not in names:
        if "edge_attr" in names and batch.edge_attr is None:
            source["edge_attr"] = "edge_weight"
        else:
            raise ModelError(
                f"The model does not take edge_weight: {shown}. {advice} If its parameter has "
                f"another name, pass the call: {CALL_HINT}"
            )
    missing = [name for name, key in source.items() if batch.get(key) is None]
    if missing and missing != ["batch"]:
        raise ModelError(
            f"The model needs {', '.join(missing)}, which the batch does not have: {shown}. "
            f"Say how it is called: {CALL_HINT}"
        )

    def by_name(model: nn.Module, batch: Data) -> Any:
        values = {name: batch.get(key) for name, key in source.items()}
        if source.get("edge_attr") == "edge_weight":
            values["edge_attr"] = values["edge_attr"].view(-1, 1)
        return model(**values)

    order = [name for name in names if name in source]
    # By position as long as no parameter is left out; what comes after one must be named.
    same = (a == b and source[a] == a for a, b in zip(order, names, strict=False))
    count = len(list(takewhile(bool, same)))
    shown = ", ".join([*order[:count], *(f"{n}={source[n]}" for n in order[count:])])
    return by_name, f"model({shown})"


def check_nodes(
    x: Tensor | None, batch: Tensor | None, width: int, node_weight: Tensor | None = None
) -> None:
    """Nodes must be floating point ``[N, width]``, ``batch`` and ``node_weight`` ``[N]``."""
    if x is None:
        raise InputError(
            "x is None: the graphs have no node features. Make some first, for example with "
            "torch_geometric.transforms.Constant or OneHotDegree."
        )
    if x.dim() != 2 or x.size(1) != width or not x.is_floating_point():
        raise InputError(
            f"x is {shape_of(x)}, but the model was made for floating-point node features "
            f"[N, {width}]."
        )
    if batch is not None and batch.shape != x.shape[:1]:
        raise InputError(
            f"batch is {shape_of(batch)}, but needs one graph number for each of the "
            f"{x.size(0)} nodes."
        )
    _check_weights("node_weight", node_weight, x.size(0), "nodes.")


def check_edges(
    x: Tensor,
    edge_index: Tensor | Neighbours,
    edge_weight: Tensor | None,
    edge_attr: Tensor | None,
    edge_dim: int | None,
) -> None:
    """Weights must be floating point ``[E]``; attributes are ``[E, edge_dim]`` or not there.

    Both an attribute that nothing would read and a missing one are errors, because a model that
    leaves out part of its input still trains.
    """
    if not isinstance(x, Tensor):
        raise InputError(
            f"x is a {type(x).__name__}, but these layers take one tensor of node features. "
            "Graphs with two kinds of nodes need PyG's layers."
        )
    if isinstance(edge_index, Neighbours):
        num_edges = edge_index.num_edges
        if edge_index.num_nodes != x.size(0):
            raise InputError(
                f"The Neighbours have {edge_index.num_nodes} nodes, but x has {x.size(0)} rows."
            )
    elif not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
        raise InputError(
            f"edge_index is a {type(edge_index).__name__} with another layout than [2, E]. Give "
            "edge_index [2, E] and edge_weight [E] instead of a sparse matrix."
        )
    elif edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(f"edge_index is {shape_of(edge_index)}, but needs the shape [2, E].")
    else:
        num_edges = edge_index.size(1)
    hint = "edges. (The batch vector is a model's fourth argument.)"
    _check_weights("edge_weight", edge_weight, num_edges, hint)
    if edge_attr is None:
        if edge_dim is not None:
            raise InputError(
                f"The model was made with edge_dim={edge_dim}, but edge_attr is missing. "
                "Give edge_attr, or make the model without edge_dim."
            )
    elif edge_dim is None:
        raise InputError(
            "edge_attr was given to a model that does not read it. Use GIN(edge_dim=...), or move "
            "the attributes into the node features with the transform EdgeAttrToNodes."
        )
    elif edge_attr.shape != (num_edges, edge_dim) or not edge_attr.is_floating_point():
        raise InputError(
            f"edge_attr is {shape_of(edge_attr)}, but the model was made for floating-point "
            f"attributes [{num_edges}, {edge_dim}]."
        )


def _check_weights(name: str, weight: Tensor | None, count: int, of_what: str) -> None:
    # The count goes into a text only if it is wrong: torch.compile would take it as a constant.
    if weight is not None and (weight.shape != (count,) or not weight.is_floating_point()):
        raise InputError(
            f"{name} is {shape_of(weight)}, but needs one floating-point weight for each of the "
            f"{count} {of_what}"
        )
