"""Batch norm over the nodes of a batch, each counted by its weight."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ifmixup.nn.aggregate import widened

MOMENTUM = 0.1  # what a step counts in the running statistics; torch's value


class NodeWeight:
    r"""Node weights, and what every batch norm of a forward pass needs of them.

    Args:
        weight: :math:`w` ``[N]``, from 0 for a node that is absent to 1 for a whole one.
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        wide = widened(weight)
        total: Any = wide.sum()
        self.too_few = False  # for a variance, as far as can be told without a device sync
        self.counts: Tensor | None = None  # where it cannot be told: 1, or 0 for too few
        self.unbiased: Any
        if _can_look(weight) and not weight.requires_grad:
            total = float(total)
            self.too_few = total <= 1
            self.share = wide / max(total, 1.0)
            self.unbiased = total / (total - 1) if total > 1 else 1.0
        else:
            self.counts = (total > 1).to(wide.dtype)
            self.share = wide * (self.counts / total.clamp(min=1))
            total = total.detach()  # of the running statistics
            self.unbiased = total / (total - 1).clamp(min=torch.finfo(wide.dtype).eps)

    @staticmethod
    def of(weight: Tensor | NodeWeight | None) -> NodeWeight | None:
        """The prepared weights; None where all of them are known to be 1.

        Graphs of equal size mix to nodes of weight 1. Without weights the same takes less time and
        is rounded in the same way.
        """
        if weight is None or isinstance(weight, NodeWeight):
            return weight
        if _can_look(weight) and not weight.requires_grad and bool((weight == 1).all()):
            return None
        return NodeWeight(weight)


def _can_look(values: Tensor) -> bool:
    """Whether values can be read without a device having to wait."""
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


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

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float | None = MOMENTUM) -> None:
        super().__init__(channels, eps=eps, momentum=momentum)

    def forward(self, x: Tensor, node_weight: Tensor | None = None) -> Tensor:
        """Normalise ``x`` ``[N, channels]``; ``node_weight`` is ``[N]``, each from 0 to 1."""
        use_batch = False
        if self.training and x.size(0) > 1:  # a branch: a compiled size gives no plain bool
            weight = self._node_weight if node_weight is None else NodeWeight(node_weight)
            if weight is not None and not weight.too_few:
                return self._weighted(x, weight)
            use_batch = weight is None
        momentum = self.momentum
        if momentum is None:
            momentum = 0.0
            if use_batch:
                momentum = 1 / float(self.num_batches_tracked.add_(1))
        return F.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training=use_batch,
            momentum=momentum,
            eps=self.eps,
        )

    def _weighted(self, x: Tensor, node_weight: NodeWeight) -> Tensor:
        weight, bias = self.weight, self.bias
        if x.dtype != weight.dtype or x.dtype.itemsize <= 2:
            # Statistics of 16-bit numbers are computed in 32 bits, as torch does.
            wide = widened(x)
            return self._apply_weighted(
                wide, weight.to(wide.dtype), bias.to(wide.dtype), node_weight
            ).to(x.dtype)
        return self._apply_weighted(x, weight, bias, node_weight)

    def _apply_weighted(
        self, x: Tensor, weight: Tensor, bias: Tensor, node_weight: NodeWeight
    ) -> Tensor:
        if torch.compiler.is_compiling() or node_weight.share.requires_grad:
            return _normalise(x, weight, bias, (self, node_weight))[0]
        return _Normalise.apply(x, weight, bias, (self, node_weight))

    def _follow(self, mean: Tensor, var: Tensor, node_weight: NodeWeight) -> None:
        """Move the running statistics towards those of a batch."""
        step: Any = self.momentum
        if step is None:
            counts = node_weight.counts
            self.num_batches_tracked.add_(1 if counts is None else counts.long())
            step = (1 / self.num_batches_tracked.clamp(min=1)).to(mean.dtype)
        if node_weight.counts is not None:
            step = step * node_weight.counts.to(mean.dtype)
        for running, value in (
            (self.running_mean, mean),
            (self.running_var, var * node_weight.unbiased),
        ):
            if running.dtype == value.dtype:
                running.lerp_(value, step)
            else:
                running.copy_(running.to(value.dtype).lerp(value, step))


def _normalise(
    x: Tensor, weight: Tensor, bias: Tensor, rest: tuple[BatchNorm, NodeWeight]
) -> tuple[Tensor, ...]:
    """The result, and of the way there: centred x, one over its deviation, their factors."""
    norm, node_weight = rest
    share, counts = node_weight.share, node_weight.counts
    if share.dtype != x.dtype:
        share = share.to(x.dtype)
    mean = batch_mean = _sum_nodes(x, share)
    if counts is not None:
        mean = norm.running_mean.to(x.dtype).lerp(mean, counts.to(x.dtype))
    centred = x - mean
    var = batch_var = _sum_nodes(centred.square(), share)
    if counts is not None:
        var = norm.running_var.to(x.dtype).lerp(var, counts.to(x.dtype))
    if torch.is_grad_enabled():
        batch_mean, batch_var = batch_mean.detach(), batch_var.detach()
    norm._follow(batch_mean, batch_var, node_weight)
    scale = (var + norm.eps).rsqrt_()
    factor = scale * weight
    return torch.addcmul(bias, centred, factor), centred, scale, factor, share


def _sum_nodes(x: Tensor, share: Tensor) -> Tensor:
    if x.device.type == "cpu":
        return torch.mv(x.t(), share)  # the fastest here; on a GPU, autocast makes it 16 bits
    return (x * share.unsqueeze(-1)).sum(0)


class _Normalise(torch.autograd.Function):
    """The derivatives of :func:`_normalise`, in few passes over the nodes."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        out, *rest = _normalise(*arguments)
        ctx.save_for_backward(*rest)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise NotImplementedError("BatchNorm with node weights has no second derivatives.")
        (grad,) = grads
        centred, scale, factor, share = ctx.saved_tensors
        grad_bias = grad.sum(0)
        grad_weight = (grad * centred).sum(0).mul_(scale)
        # γ/σ (g_i − w_i / Σw (Σ_j g_j + x̂_i Σ_j g_j x̂_j)) with x̂ = (x − μ) / σ
        common = torch.addcmul(factor * grad_bias, centred, factor * scale * grad_weight)
        grad_x = (grad * factor).sub_(common.mul_(share.unsqueeze(-1)))
        return grad_x, grad_weight, grad_bias, None


class weigh_nodes:
    """Give node weights to every :class:`BatchNorm` inside a module, however deep it is.

    This is how weights get through modules that do not know of them, such as an MLP in an
    ``nn.Sequential`` or a model of PyG:

    .. code-block:: python

        with ifmixup.nn.weigh_nodes(self.mlp, node_weight):
            h = self.mlp(h)

    Args:
        module: The module that is called in the block.
        node_weight: ``[N]``, or None, which does nothing.
    """

    def __init__(self, module: nn.Module, node_weight: Tensor | NodeWeight | None) -> None:
        self.weight = NodeWeight.of(node_weight)
        self.norms: list[BatchNorm] = []
        if self.weight is not None:
            self.norms = [each for each in module.modules() if isinstance(each, BatchNorm)]

    def __enter__(self) -> None:
        for norm in self.norms:
            norm._node_weight = self.weight

    def __exit__(self, *error: object) -> None:
        for norm in self.norms:
            norm._node_weight = None


def make_norm(norm: str, channels: int) -> nn.Module:
    """Batch norm over all nodes of the batch, or nothing."""
    return BatchNorm(channels) if norm == "batch" else nn.Identity()
