"""Does a model read ``edge_weight`` and ``node_weight``? One that does not trains all the same."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Data

from ifmixup.edges import shape_of
from ifmixup.errors import InputError, InputTypeError, ModelError
from ifmixup.nn.inputs import CALL_HINT, Call, find_call, unwrap
from ifmixup.nn.norm import BatchNorm

REDRAWS = 3  # how often parameters are drawn anew before a model is said to ignore the weights


@dataclass(frozen=True)
class ModelCheck:
    """What :func:`check_model` found of a model that reads ``edge_weight``.

    Attributes:
        called: How the model was called.
        change: The largest change of a logit when the weights changed.
        redrawn: Whether the logits changed only after the parameters of a copy were drawn anew:
            the model as it is starts, or ended, with weights that have no effect.
        reads_node_weight: Whether nodes count by their weight: in training mode, a node of weight 0
            without features and edges changes no logits. A model need not.
        node_advice: What to change in a model that does not.
    """

    called: str
    change: float
    redrawn: bool = False
    reads_node_weight: bool = False
    node_advice: str = ""

    def __str__(self) -> str:
        where = " (with new random parameters)" if self.redrawn else ""
        return (
            f"The model reads edge_weight: called as {self.called}, its logits change by up to "
            f"{self.change:.2g} with the weights{where}. "
            + ("It reads node_weight too." if self.reads_node_weight else self.node_advice)
        )


def check_model(model: nn.Module, batch: Data, *, call: Call | None = None) -> ModelCheck:
    """Check that the logits of a model change with the edge weights, and with the node weights.

    The model is called as its ``forward`` wants it: each parameter gets what the batch has under
    its name (``x``, ``edge_index``, ``edge_weight``, ``batch``, ...), a ``forward(data)`` with a
    single parameter the batch itself; these four go in by position where ``forward`` takes
    ``*args``, or has other names for them before ``batch``. Where there is ``edge_attr`` but no
    ``edge_weight``, the weights go there as ``[E, 1]``, unless the batch already has attributes.
    Logits may be of graphs or of nodes.

    A copy is called, without gradients: the model, its running statistics and the random numbers to
    come stay as they are. Weights that have no effect yet (a last layer of zeros, a dead ReLU) are
    no reason to complain: before it does, the check draws the parameters of the copy anew. Lazy
    parameters are initialised in the copy. A model that ignores node weights is only told.

    Args:
        model: The model; one that is compiled or wrapped for data-parallel training too.
        batch: Some graphs, as a ``DataLoader`` gives them, mixed or not.
        call: How to call it, where ``forward`` does not tell: takes the model and a batch that has
            ``edge_weight``, and returns the logits.

    Raises:
        ModelError: The model ignores the weights, cannot be called or does not return logits.
    """
    if not isinstance(model, nn.Module):
        raise InputTypeError(f"Expected a torch.nn.Module; got {type(model).__name__}.")
    model = _copy(unwrap(model)).eval()
    batch = _with_weights(batch, next(model.parameters(), None))
    given = (call, "call(model, batch)") if call else None
    call, called = given or find_call(model, batch, _edge_advice(model))
    if any(nn.parameter.is_lazy(each) for each in (*model.parameters(), *model.buffers())):
        _logits(call, called, model, batch)

    generator = torch.Generator().manual_seed(0)  # of our own: the global one is not touched
    weights = batch.edge_weight
    other = weights * _uniform(weights, generator)
    other_weights = copy.copy(batch).update({"edge_weight": other})
    # Features of other nodes stay valid where they are numbers of categories.
    x = batch.x[torch.randperm(batch.x.size(0), generator=generator).to(batch.x.device)]
    x = x * _uniform(x, generator) if x.is_floating_point() else x
    other_x = copy.copy(batch).update({"x": x})
    reads_x = False
    for attempt in range(1 + REDRAWS):
        if attempt > 0:
            _draw_parameters(model, generator)
        logits = _logits(call, called, model, batch)
        if attempt == 0 and not bool(logits.isfinite().all()):
            raise ModelError(f"Called as {called}, the model returns logits that are not finite.")
        # Kernels that add in any order, and rounding, are not effects of the weights.
        noise = _distance(_logits(call, called, model, batch), logits)
        noise = 10 * (noise + torch.finfo(logits.dtype).eps * float(logits.abs().max()))
        change = _distance(_logits(call, called, model, other_weights), logits)
        if change > noise:
            advice = _node_advice(model, batch, given, generator)
            return ModelCheck(called, change, attempt > 0, advice is None, advice or "")
        reads_x |= _distance(_logits(call, called, model, other_x), logits) > noise
    if reads_x:
        raise ModelError(
            f"The model ignores edge_weight: called as {called}, its logits stay the same when the "
            f"weights change. {_edge_advice(model)}"
        )
    raise ModelError(
        f"Called as {called}, the model returns the same logits whatever the edge weights and the "
        f"node features x are. Check that its last layer uses what it computes from the graph."
    )


def _edge_advice(model: nn.Module) -> str:
    """What to change in a model that ignores edge weights."""
    modules = [type(each) for each in model.modules()]
    found = {cls.__name__ for cls in modules if cls.__module__.startswith("torch_geometric.nn.")}
    lost = "ifMixup mixes edges by their weights, so half of the method is lost without them."
    if models := ", ".join(sorted(found & {"GIN", "GAT"})):
        return f"{lost} Change one import: from ifmixup.nn import {models}, graph classifiers."
    convs = sorted(found & {"GINConv", "GATConv", "GATv2Conv"})
    if convs:
        by = "edge_weight" if "GINConv" in convs else "edge_weight=edge_weight"
        return (
            f"{lost} Change one import: from ifmixup.nn import {', '.join(convs)}; and pass the "
            f"weights to every layer: conv(x, edge_index, {by})."
        )
    return (
        f"{lost} Use a model of ifmixup.nn (GCN, GIN, GAT, GATv2), or layers that read weights, "
        f"such as its GCNConv, GINConv, GATConv and GATv2Conv or PyG's GCNConv and GraphConv, and "
        f"pass edge_weight to every one of them."
    )


def _node_advice(
    model: nn.Module, batch: Data, given: tuple[Call, str] | None, generator: torch.Generator
) -> str | None:
    """What to change in a model that ignores node weights, wholly or in part; else None."""
    ones = torch.ones(batch.x.size(0), dtype=batch.edge_weight.dtype, device=batch.x.device)
    whole = copy.copy(batch).update({"node_weight": ones})
    some = copy.copy(batch).update({"node_weight": (1 + _uniform(ones, generator)) / 2})
    model.train()  # where batch norm counts the nodes
    try:
        call, called = given or find_call(model, whole, "")
        with _NoDropout():
            logits, other, null = (
                _logits(call, called, model, each)
                for each in (whole, some, _with_null_nodes(whole))
            )
    except ModelError as error:
        return f"Whether it reads node_weight is unknown. In training mode: {error}"
    bound = math.sqrt(torch.finfo(logits.dtype).eps) * float(logits.abs().max())
    change = "use ifmixup.nn.BatchNorm and global_mean_pool(x, batch, node_weight=node_weight)"
    if not _distance(other, logits) > bound:
        return (
            f"It ignores node_weight: a node that only one of two mixed graphs has counts fully. "
            f"To weigh it, take node_weight=None in forward and {change} of ifmixup.nn."
        )
    if _distance(null[: len(logits)], logits) <= bound:
        return None
    norms = {n: m for n, m in model.named_modules() if isinstance(m, nn.BatchNorm1d)}
    names = [name for name, norm in norms.items() if not isinstance(norm, BatchNorm)]
    where = f" ({', '.join(names)}: every node counts fully)" if names else ""
    return f"It reads node_weight in part{where}: {change}, and pass the weights to every one."


class _NoDropout(TorchFunctionMode):
    """Leaves dropout out, however it is called: it would draw differently for more nodes."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if "dropout" in getattr(func, "__name__", ""):
            return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))


def _with_null_nodes(batch: Data) -> Data:
    """As many nodes again in the last graph: of weight 0, without features and edges."""
    count, more = batch.x.size(0), copy.copy(batch)
    for name in filter(batch.is_node_attr, list(batch.to_dict())):
        value = batch[name]
        if isinstance(value, Tensor):
            new = value[-1:].expand_as(value) if name == "batch" else torch.zeros_like(value)
            more[name] = torch.cat([value, new])
    if batch.get("ptr") is not None:
        more.ptr = torch.cat([batch.ptr[:-1], batch.ptr[-1:] + count])
    if "num_nodes" in batch:
        more.num_nodes = 2 * count
    return more


def _copy(model: nn.Module) -> nn.Module:
    """A copy: what a forward pass leaves behind is not left in the model."""
    # Tensors with a history, such as attention kept from the last pass, refuse to be copied.
    kept = [value for part in model.modules() for value in vars(part).values()]
    tensors = [value for value in kept if isinstance(value, Tensor) and not value.is_leaf]
    memo: dict[int, Any] = {id(value): value.detach() for value in tensors}
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:
        raise InputError(
            f"The model cannot be copied, which the check needs in order not to change it: "
            f"{error} Check it when it is new, before training."
        ) from error


def _with_weights(batch: Data, like: Tensor | None) -> Data:
    """The batch with edge weights, on the device of the model; the one given is not changed."""
    if not isinstance(batch, Data):
        raise InputTypeError(
            f"Expected a PyG Batch, such as a DataLoader returns, or a Data; got "
            f"{type(batch).__name__}."
        )
    if batch.x is None:
        raise InputError("The batch has no node features x, which the check changes too.")
    if batch.edge_index is None or batch.edge_index.size(1) == 0:
        raise InputError("The batch has no edges: no weight can have an effect.")
    batch = copy.copy(batch)
    if like is not None:
        batch = batch.to(like.device)
    if batch.edge_weight is None:
        dtype = batch.x.dtype if batch.x.is_floating_point() else torch.get_default_dtype()
        batch.edge_weight = torch.ones(batch.num_edges, dtype=dtype, device=batch.x.device)
    return batch


def _logits(call: Call, called: str, model: nn.Module, batch: Data) -> Tensor:
    device = batch.edge_index.device
    devices = [] if device.type == "cpu" else [device]  # the state of the CPU is always kept
    # A model that draws in eval mode draws the same every time, and nobody notices.
    with torch.no_grad(), torch.random.fork_rng(devices, device_type=device.type):
        try:
            found = call(model, copy.copy(batch))
        except Exception as error:
            raise ModelError(
                f"The model cannot be called as {called}: {type(error).__name__}: {error} If it "
                f"is called in another way, pass that call: {CALL_HINT}"
            ) from error
    if isinstance(found, (tuple, list)) and found:
        found = found[0]  # logits, and something beside them
    if not isinstance(found, Tensor) or not found.is_floating_point() or found.numel() == 0:
        raise ModelError(
            f"Called as {called}, the model returns {shape_of(found)} where floating-point logits "
            f"are needed. Say how to get them: {CALL_HINT}"
        )
    return found.detach().cpu()


def _uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    """Factors in [0, 1), different from edge to edge: a norm takes a common factor away again."""
    return torch.rand(like.shape, generator=generator).to(like)


def _draw_parameters(model: nn.Module, generator: torch.Generator) -> None:
    """Parameters with which hardly anything is zero: normal, divided by √(input width)."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                drawn = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(drawn / math.sqrt(parameter.shape[-1:].numel() or 1))


def _distance(a: Tensor, b: Tensor) -> float:
    """The largest difference; infinite where the shapes differ, NaN (never larger) with NaN."""
    return float((a.double() - b.double()).abs().max()) if a.shape == b.shape else math.inf
