"""Does a model read ``edge_weight``? One that does not is silently trained on half a method."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from ifmixup.errors import InputError, InputTypeError, ModelError

Call = Callable[[nn.Module, Any], Any]

REDRAWS = 3  # how often parameters are drawn anew before a model is said to ignore the weights

ADVICE = (
    "ifMixup mixes edges in their weights, and half of the method would be lost. PyG's GINConv, "
    "GIN and SAGEConv silently ignore edge_weight, and its GATConv reads edge_attr only. Change "
    "the import: from ifmixup.nn import GINConv (or GCNConv, GATConv, GATv2Conv), and pass "
    "edge_weight to every convolution: conv(x, edge_index, edge_weight=edge_weight). PyG's GCNConv "
    "and GraphConv read it too, and so do the models of ifmixup.nn."
)
CALL_HINT = "check_model(model, batch, call=lambda model, batch: model(batch.x, ...))"


@dataclass(frozen=True)
class ModelCheck:
    """What :func:`check_model` found of a model that reads ``edge_weight``.

    Attributes:
        called: How the model was called.
        change: The largest change of a logit when the weights changed.
        redrawn: Whether the logits changed only after the parameters of a copy were drawn anew:
            the model as it is starts, or ended, with weights that have no effect.
    """

    called: str
    change: float
    redrawn: bool = False

    def __str__(self) -> str:
        where = " (with parameters drawn anew)" if self.redrawn else ""
        return (
            f"The model reads edge_weight: called as {self.called}, its logits change by up to "
            f"{self.change:.2g} with the weights{where}."
        )


def check_model(model: nn.Module, batch: Data, *, call: Call | None = None) -> ModelCheck:
    """See that the logits of a model change when the edge weights change.

    The model is called as its ``forward`` wants it: each parameter gets what the batch has under
    its name (``x``, ``edge_index``, ``edge_weight``, ``batch``, ...), a ``forward(data)`` with a
    single parameter the batch itself; these four go in by place where ``forward`` takes
    ``*args``, or has other names for them before ``batch``. Where there is ``edge_attr`` but no
    ``edge_weight``, the weights go there as ``[E, 1]``, unless the batch has attributes of its own.
    Logits may be of graphs or of nodes.

    It is a copy in ``eval`` mode that is called, without gradients: the model, its running
    statistics and the random numbers to come stay as they are. Weights that have no effect yet (a
    last layer of zeros, a dead ReLU) are no reason to complain: before it does, the check draws the
    parameters of the copy anew.

    Args:
        model: The model; one that is compiled or wrapped for data-parallel training too.
        batch: Some graphs, as a ``DataLoader`` gives them, mixed or not.
        call: How to call it, where ``forward`` does not tell: takes the model and a batch that has
            ``edge_weight``, and returns the logits.

    Returns:
        How the model was called, and how much the logits changed.

    Raises:
        ModelError: The model ignores the weights, cannot be called or does not return logits.
    """
    if not isinstance(model, nn.Module):
        raise InputTypeError(f"Expected a torch.nn.Module; got {type(model).__name__}.")
    model = _copy(_unwrap(model)).eval()
    batch = _with_weights(batch, next(model.parameters(), None))
    call, called = (call, "call(model, batch)") if call else _find_call(model, batch)

    generator = torch.Generator().manual_seed(0)  # of our own: the global one is not touched
    weights = batch.edge_weight
    other_weights = _changed(batch, "edge_weight", weights * _uniform(weights, generator))
    other_x = _changed(batch, "x", _other_features(batch.x, generator))
    reads_x = False
    for attempt in range(1 + REDRAWS):
        if attempt > 0:
            _draw_parameters(model, generator)
        logits = _logits(call, called, model, batch)
        if attempt == 0 and not bool(logits.isfinite().all()):
            raise ModelError(f"Called as {called}, the model returns logits that are not finite.")
        # Kernels that add in any order, and rounding, are no effect of the weights.
        noise = _distance(_logits(call, called, model, batch), logits)
        noise = 10 * (noise + torch.finfo(logits.dtype).eps * float(logits.abs().max()))
        change = _distance(_logits(call, called, model, other_weights), logits)
        if change > noise:
            return ModelCheck(called, change, redrawn=attempt > 0)
        reads_x |= _distance(_logits(call, called, model, other_x), logits) > noise
    if reads_x:
        raise ModelError(
            f"The model ignores edge_weight: called as {called}, its logits stay the same when the "
            f"weights change. {ADVICE}"
        )
    raise ModelError(
        f"Called as {called}, the model returns the same logits whatever the edge weights and the "
        f"node features x are. Is what it computes from the graph handed on to its last layer?"
    )


def _unwrap(model: nn.Module) -> nn.Module:
    """The model inside ``torch.compile`` and data-parallel wrappers: its ``forward`` has names."""
    while True:
        if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def _copy(model: nn.Module) -> nn.Module:
    """A copy, so that nothing that a forward pass leaves behind is left in the model."""
    if any(nn.parameter.is_lazy(parameter) for parameter in model.parameters()):
        raise InputError(
            "The model has parameters whose width is not known yet. Call it once, then check it."
        )
    # Tensors with a history, such as attention kept from the last pass, refuse to be copied.
    kept = [value for part in model.modules() for value in vars(part).values()]
    memo: dict[int, Any] = {
        id(value): value.detach()
        for value in kept
        if isinstance(value, Tensor) and not value.is_leaf
    }
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:
        raise InputError(
            f"The model cannot be copied, and the check leaves the model itself alone: {error} "
            f"Check it when it is new, before training."
        ) from error


def _with_weights(batch: Data, like: Tensor | None) -> Data:
    """The batch with edge weights, on the device of the model; the one given is not changed."""
    if not isinstance(batch, Data):
        raise InputTypeError(
            f"Expected a PyG Batch, such as a DataLoader gives, or a Data; "
            f"got {type(batch).__name__}."
        )
    if batch.x is None:
        raise InputError("The batch has no node features x, which the check changes too.")
    if batch.edge_index is None or batch.edge_index.size(1) == 0:
        raise InputError("The batch has no edges, so that no weight can have an effect.")
    batch = copy.copy(batch)
    if like is not None:
        batch = batch.to(like.device)
    if batch.edge_weight is None:
        dtype = batch.x.dtype if batch.x.is_floating_point() else torch.get_default_dtype()
        batch.edge_weight = torch.ones(
            batch.edge_index.size(1), dtype=dtype, device=batch.edge_index.device
        )
    return batch


def _find_call(model: nn.Module, batch: Data) -> tuple[Call, str]:
    """How to call the model, by the names in its ``forward``; and in words."""
    parameters = inspect.signature(model.forward).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needed = [p.name for p in parameters if p.name in names and p.default is p.empty]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    shown = f"forward({', '.join(names)})"

    by_place = names[3:4] == ["batch"] and not {"edge_weight", "edge_attr"} & set(names)
    if (not names and takes_any) or (by_place and set(needed) <= set(names[:4])):
        four = ("x", "edge_index", "edge_weight", "batch")
        return lambda m, b: m(*(b.get(name) for name in four)), f"model({', '.join(four)})"
    if len(needed) == 1 and "edge_index" not in names and "edge_weight" not in names:
        return lambda m, b: m(b), "model(batch)"

    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = list(dict.fromkeys([*names, "edge_weight"]))
    source = {name: name for name in (*needed, "edge_weight", "batch") if name in names}
    if getattr(model, "edge_dim", None) and "edge_attr" in names:
        source["edge_attr"] = "edge_attr"  # optional in the signature, but this one needs it
    if "edge_weight" not in names:
        if "edge_attr" in names and batch.edge_attr is None:
            source["edge_attr"] = "edge_weight"
        else:
            raise ModelError(
                f"The model takes no edge_weight: {shown}. {ADVICE} If the weights go in under "
                f"another name, say how: {CALL_HINT}"
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
    # By place as long as no parameter is left out; what comes after one must be named.
    same = (a == b and source[a] == a for a, b in zip(order, names, strict=False))
    count = len(list(takewhile(bool, same)))
    shown = ", ".join([*order[:count], *(f"{n}={source[n]}" for n in order[count:])])
    return by_name, f"model({shown})"


def _logits(call: Call, called: str, model: nn.Module, batch: Data) -> Tensor:
    with torch.no_grad(), _chance_as_before(batch.edge_index.device):
        try:
            found = call(model, copy.copy(batch))
        except Exception as error:
            raise ModelError(
                f"The model cannot be called as {called}: {type(error).__name__}: {error} "
                f"If it is called otherwise, say how: {CALL_HINT}"
            ) from error
    if isinstance(found, (tuple, list)) and found:
        found = found[0]  # logits, and something beside them
    if not isinstance(found, Tensor) or not found.is_floating_point() or found.numel() == 0:
        kind = f"{found.dtype} {list(found.shape)}" if isinstance(found, Tensor) else type(found)
        raise ModelError(
            f"Called as {called}, the model returns {kind} where floating-point logits are needed. "
            f"Say how to get them: {CALL_HINT}"
        )
    return found.detach().cpu()


@contextmanager
def _chance_as_before(device: torch.device) -> Iterator[None]:
    """Let a model that draws in ``eval`` mode draw the same every time, and nobody notice."""
    module = None if device.type == "cpu" else getattr(torch, device.type)
    where = () if device.type in ("cpu", "mps") else (device,)
    here, there = torch.get_rng_state(), module.get_rng_state(*where) if module else None
    try:
        yield
    finally:
        torch.set_rng_state(here)
        if module is not None:
            module.set_rng_state(there, *where)


def _uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    """Factors in [0, 1), different from edge to edge: a norm takes a common factor away again."""
    return torch.rand(like.shape, generator=generator).to(like)


def _other_features(x: Tensor, generator: torch.Generator) -> Tensor:
    """Features of other nodes, which stay valid where they are numbers of categories."""
    other = x[torch.randperm(x.size(0), generator=generator).to(x.device)]
    return other * _uniform(other, generator) if x.is_floating_point() else other


def _changed(batch: Data, name: str, value: Tensor) -> Data:
    batch = copy.copy(batch)
    batch[name] = value
    return batch


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
