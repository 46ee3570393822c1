"""Batch norm over the nodes of a batch, each counted by its weight."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ifmixup.nn.aggregate import widened


class NodeWeight:
    """Node weights ``[N]``, from 0 to 1, and what every batch norm of a pass needs of them."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        wide = widened(weight)
        total: Any = wide.sum()
        self.unbiased: Any
        self.total: float | None = None  # where it can be told without a device sync
        self.counts: Tensor | None = None  # where it cannot: 1, or 0 with too few for a variance
        if _can_look(weight):
            self.total = total = float(total)
            self.share = wide / max(total, 1.0)
            self.unbiased = total / (total - 1) if total > 1 else 1.0
        else:
            self.counts = (total > 1).to(wide.dtype)
            self.share = wide * (self.counts / total.clamp(min=1))
            total = total.detach()  # of the running statistics
            self.unbiased = total / (total - 1).clamp(min=torch.finfo(wide.dtype).eps)
        self.column = self.share.unsqueeze(-1)

    @staticmethod
    def of(weight: Tensor | NodeWeight | None) -> NodeWeight | None:
        """The prepared weights; None where all of them are known to be 1.

        Graphs of equal size mix to nodes of weight 1. Without weights the same takes less time and
        is rounded in the same way.
        """
        if weight is None or isinstance(weight, NodeWeight):
            return weight
        if _can_look(weight) and bool((weight == 1).all()):
            return None
        return NodeWeight(weight)


def _can_look(weight: Tensor) -> bool:
    """Whether numbers can be read here and now, and need no gradient."""
    is_here = weight.device.type == "cpu" and not torch.compiler.is_compiling()
    return is_here and not weight.requires_grad


class BatchNorm(nn.BatchNorm1d):
    r"""Batch norm over all nodes, as :class:`torch.nn.BatchNorm1d`, with node weights.

    .. math::
        \frac{\mathbf{h} - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot \gamma + \beta, \quad
        \mu = \frac{\sum_i w_i \mathbf{h}_i}{\sum_i w_i}, \quad
        \sigma^2 = \frac{\sum_i w_i (\mathbf{h}_i - \mu)^2}{\sum_i w_i}

    The running variance is :math:`\sigma^2 \sum w / (\sum w - 1)`. Weights of 1 give torch's
    result. A single node has no variance: where :math:`\sum w \le 1`, the running statistics are
    used and stay as they are. In ``eval`` mode weights have no effect. A constant that is added
    before the norm has no effect either, so the layer in front needs no bias.

    Parameters, buffers, ``momentum=None`` (cumulative averages) and ``state_dict`` are torch's.

    Args:
        channels: The width of ``x``.
        eps: :math:`\epsilon`
        momentum: The weight of a step in the running statistics; None averages over all steps.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    _node_weight: NodeWeight | None = None  # set by weigh_nodes

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float | None = 0.1) -> None:
        super().__init__(channels, eps=eps, momentum=momentum)

    def forward(self, x: Tensor, node_weight: Tensor | None = None) -> Tensor:
        """Normalise ``x`` ``[N, channels]``; ``node_weight`` is ``[N]``, each from 0 to 1."""
        use_batch = False
        if self.training and x.size(0) > 1:  # a branch: a compiled size gives no plain bool
            weight = self._node_weight if node_weight is None else NodeWeight(node_weight)
            if weight is None:
                use_batch = True
            elif weight.total is None or weight.total > 1:
                return self._weighted(x, weight)
        momentum = self.momentum
        if momentum is None:
            momentum = 1 / float(self.num_batches_tracked.add_(1)) if use_batch else 0.0
        parts = self.running_mean, self.running_var, self.weight, self.bias
        return F.batch_norm(x, *parts, training=use_batch, momentum=momentum, eps=self.eps)

    def _weighted(self, x: Tensor, node_weight: NodeWeight) -> Tensor:
        weight, step, counts = self.weight, self.momentum, node_weight.counts
        is_plain = counts is None and step is not None
        if is_plain and x.dtype == weight.dtype == node_weight.share.dtype:
            stats = (self.running_mean, self.running_var, step, self.eps)
            return _Normalise.apply(x, weight, self.bias, (node_weight, *stats))

        # Everything else: other devices, torch.compile, 16 bits (statistics in 32, as torch does).
        wide = widened(x)
        mean = batch_mean = _sum_nodes(wide, node_weight)
        if counts is not None:
            mean = self.running_mean.to(wide.dtype).lerp(mean, counts.to(wide.dtype))
        centred = wide - mean
        var = batch_var = _sum_nodes(centred.square(), node_weight)
        if counts is not None:
            var = self.running_var.to(wide.dtype).lerp(var, counts.to(wide.dtype))
        factor = (var + self.eps).rsqrt() * weight.to(wide.dtype)
        with torch.no_grad():
            self._follow(batch_mean, batch_var * node_weight.unbiased, counts)
        return torch.addcmul(self.bias.to(wide.dtype), centred, factor).to(x.dtype)

    def _follow(self, mean: Tensor, var: Tensor, counts: Tensor | None) -> None:
        """Move the running statistics towards those of a batch, unless it does not count."""
        step: Any = self.momentum
        if step is None:
            self.num_batches_tracked.add_(1 if counts is None else counts.long())
            step = (1 / self.num_batches_tracked.clamp(min=1)).to(mean.dtype)
        if counts is not None:
            step = step * counts.to(mean.dtype)
        for running, value in ((self.running_mean, mean), (self.running_var, var)):
            running.copy_(running.to(value.dtype).lerp(value, step))


def _sum_nodes(x: Tensor, node_weight: NodeWeight) -> Tensor:
    return (x * node_weight.column.to(x.dtype)).sum(0)


class _Normalise(torch.autograd.Function):
    """Weighted batch norm in few passes over the nodes, each a kernel of its own on a CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, rest: tuple[Any, ...]) -> Tensor:
        node_weight, running_mean, running_var, step, eps = rest
        share = node_weight.share
        mean = torch.mv(x.t(), share)
        centred = x - mean
        out = centred.square()
        var = torch.mv(out.t(), share)
        scale = (var + eps).rsqrt_()
        factor = scale * weight
        running_mean.lerp_(mean, step)
        running_var.lerp_(var.mul_(node_weight.unbiased), step)
        ctx.save_for_backward(centred, scale, factor, node_weight.column)
        return torch.addcmul(bias, centred, factor, out=out)  # new memory costs more than numbers

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise NotImplementedError("BatchNorm with node weights has no second derivatives.")
        (grad,) = grads
        centred, scale, factor, column = ctx.saved_tensors
        grad_bias, grad_x = grad.sum(0), grad * centred
        grad_weight = grad_x.sum(0).mul_(scale)
        # γ/σ (g_i − w_i / Σw (Σ_j g_j + x̂_i Σ_j g_j x̂_j)) with x̂ = (x − μ) / σ
        torch.addcmul(grad_bias, centred, grad_weight * scale, out=grad_x)
        torch.addcmul(grad, grad_x, column, value=-1, out=grad_x).mul_(factor)
        return grad_x, grad_weight, grad_bias, None


class weigh_nodes:
    """Give node weights to every :class:`BatchNorm` inside a module, however deep it is.

    This is how weights get through modules that do not know of them, such as an MLP in an
    ``nn.Sequential`` or a model of PyG:

    .. code-block:: python

        with ifmixup.nn.weigh_nodes(self.mlp, node_weight):
            h = self.mlp(h)

    Weights are ``[N]``, or None, which does nothing.
    """

    def __init__(self, module: nn.Module, node_weight: Tensor | NodeWeight | None) -> None:
        self.weight = NodeWeight.of(node_weight)
        self.norms: list[BatchNorm] = []
        if self.weight is not None:
            self.norms = _norms_of(module)

    def __enter__(self) -> None:
        for norm in self.norms:
            object.__setattr__(norm, "_node_weight", self.weight)  # past torch's, which is slow

    def __exit__(self, *error: object) -> None:
        for norm in self.norms:
            object.__setattr__(norm, "_node_weight", None)


def _norms_of(module: nn.Module) -> list[BatchNorm]:
    """Every :class:`BatchNorm` inside: ``modules()``, which also makes names, takes four times as
    long.
    """
    found: list[BatchNorm] = []
    waiting: list[nn.Module | None] = [module]
    while waiting:  # no "for" through a list that grows: torch.compile of torch 2.6 stops early
        each = waiting.pop()
        if isinstance(each, BatchNorm):
            found.append(each)
        elif each is not None:
            waiting += each._modules.values()
    return found


def make_norm(norm: str, channels: int) -> nn.Module:
    """Batch norm over all nodes of the batch, or nothing."""
    return BatchNorm(channels) if norm == "batch" else nn.Identity()
