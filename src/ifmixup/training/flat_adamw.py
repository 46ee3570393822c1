"""AdamW on one tensor."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8  # torch's


class FlatAdamW:
    r"""`AdamW <https://arxiv.org/abs/1711.05101>`_ on the one parameter of a flattened model.

    .. math::
        \mathbf{m} &\leftarrow \beta_1 \mathbf{m} + (1 - \beta_1) \mathbf{g}, \quad
        \mathbf{v} \leftarrow \beta_2 \mathbf{v} + (1 - \beta_2) \mathbf{g}^2 \\
        \mathbf{w} &\leftarrow (1 - \eta \kappa) \mathbf{w} - \frac{\eta}{1 - \beta_1^t}
        \frac{\mathbf{m}}{\sqrt{\mathbf{v} / (1 - \beta_2^t)} + \epsilon}

    The numbers are those of :class:`torch.optim.AdamW`. That one spends 0.4 ms a step on the way to
    its kernel, a tenth of a step on small graphs; see docs/speed.md.

    Args:
        weights: :math:`\mathbf{w}`, with a gradient that is a tensor, not None.
        learning_rate: :math:`\eta`, which may be changed at any time.
        weight_decay: :math:`\kappa`
    """

    def __init__(self, weights: nn.Parameter, learning_rate: float, weight_decay: float) -> None:
        self.weights = weights
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.steps = 0
        self.mean = torch.zeros_like(weights, requires_grad=False)
        self.square = torch.zeros_like(weights, requires_grad=False)

    def follow(self, weights: nn.Parameter) -> None:
        """Go on with other weights: the same ones, laid out anew."""
        self.weights = weights
        self.mean, self.square = self.mean.to(weights), self.square.to(weights)

    def zero_grad(self) -> None:
        """Set the gradient to zero, in place."""
        assert self.weights.grad is not None  # see flatten_parameters
        self.weights.grad.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Update the weights by their gradient."""
        gradient = self.weights.grad
        assert gradient is not None  # see flatten_parameters
        self.steps += 1
        if self.weight_decay:
            self.weights.mul_(1 - self.learning_rate * self.weight_decay)
        self.mean.lerp_(gradient, 1 - BETA1)
        self.square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        scale = math.sqrt(1 - BETA2**self.steps)
        size = self.learning_rate / (1 - BETA1**self.steps)
        self.weights.addcdiv_(self.mean, self.square.sqrt().div_(scale).add_(EPS), value=-size)

    def state_dict(self) -> dict[str, Any]:
        """What the next step depends on, but the weights and the learning rate."""
        return {"steps": self.steps, "mean": self.mean, "square": self.square}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where :meth:`state_dict` was taken."""
        self.steps = int(state["steps"])
        self.mean.copy_(state["mean"])
        self.square.copy_(state["square"])
