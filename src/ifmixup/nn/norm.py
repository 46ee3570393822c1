"""Batch norm over the nodes of a batch, each counted by its weight."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
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
        weight = widened(weight)
        total = weight.sum()
        # 1, or 0 where too few nodes are there for a variance; tensors, so no device waits.
        self.counts = (total > 1).to(weight.dtype)
        self.share = weight * (self.counts / total.clamp(min=1))
        self.unbiased = total / (total - 1).clamp(min=torch.finfo(weight.dtype).eps)

    @staticmethod
    def of(weight: Tensor | NodeWeight | None) -> NodeWeight | None:
        """The prepared weights; None where all of them are known to be 1.

        Graphs of equal size mix to nodes of weight 1. Without weights the same takes less time and
        is rounded in the same way. Only a CPU can tell without waiting.
        """
        if weight is None or isinstance(weight, NodeWeight):
            return weight
        can_tell = weight.device.type == "cpu" and not torch.compiler.is_compiling()
        if can_tell and not weight.requires_grad and bool((weight == 1).all()):
            return None
        return NodeWeight(weight)


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
            use_batch = True
            weight = self._node_weight if node_weight is None else NodeWeight(node_weight)
            if weight is not None:
                return self._weighted(x, weight)
            self.num_batches_tracked.add_(1)
        momentum = self.momentum
        if momentum is None:
            momentum = 1 / float(self.num_batches_tracked) if use_batch else 0.0
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
        self.num_batches_tracked.add_(node_weight.counts.long())
        step: Any = self.momentum
        if step is None:
            step = 1 / self.num_batches_tracked.clamp(min=1)
        # Statistics of 16-bit numbers are computed in 32 bits, as torch does.
        wide = widened(x)
        scalars = (node_weight.counts, node_weight.unbiased, step * node_weight.counts)
        tensors = (node_weight.share, self.weight, self.bias, *scalars)
        arguments: Any = (wide, *(each.to(wide.dtype) for each in tensors))
        if torch.compiler.is_compiling() or node_weight.share.requires_grad:
            return _normalise(self, *arguments)[0].to(x.dtype)
        return _Normalise.apply(self, *arguments).to(x.dtype)


def _normalise(
    norm: BatchNorm,
    x: Tensor,
    share: Tensor,
    weight: Tensor,
    bias: Tensor,
    counts: Tensor,
    unbiased: Tensor,
    step: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the centred ``x``, and one over its standard deviation."""
    batch_mean = _sum_nodes(x, share)
    running_mean = norm.running_mean.to(x.dtype)
    centred = x - running_mean.lerp(batch_mean, counts)
    batch_var = _sum_nodes(centred.square(), share)
    running_var = norm.running_var.to(x.dtype)
    scale = (running_var.lerp(batch_var, counts) + norm.eps).rsqrt()
    out = torch.addcmul(bias, centred, scale * weight)
    with torch.no_grad():
        norm.running_mean.copy_(running_mean.lerp(batch_mean, step))
        norm.running_var.copy_(running_var.lerp(batch_var * unbiased, step))
    return out, centred, scale


def _sum_nodes(x: Tensor, share: Tensor) -> Tensor:
    if x.device.type == "cpu":
        return torch.mv(x.t(), share)  # the fastest here; on a GPU, autocast makes it 16 bits
    return (x * share.unsqueeze(-1)).sum(0)


class _Normalise(torch.autograd.Function):
    """The derivatives of :func:`_normalise`, in few passes over the nodes."""

    @staticmethod
    def forward(
        ctx: Any, norm: BatchNorm, x: Tensor, share: Tensor, weight: Tensor, *rest: Any
    ) -> Tensor:
        out, centred, scale = _normalise(norm, x, share, weight, *rest)
        ctx.save_for_backward(centred, scale, share, weight)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        centred, scale, share, weight = ctx.saved_tensors
        grad_bias = grad.sum(0)
        grad_weight = (grad * centred).sum(0) * scale
        grad_x = None
        if ctx.needs_input_grad[1]:
            # γ/σ (g_i − w_i / Σw (Σ_j g_j + x̂_i Σ_j g_j x̂_j)) with x̂ = (x − μ) / σ
            factor = scale * weight
            common = torch.addcmul(factor * grad_bias, centred, factor * scale * grad_weight)
            grad_x = (grad * factor).sub_(common.mul_(share.unsqueeze(-1)))
        return None, grad_x, None, grad_weight, grad_bias, None, None, None


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
