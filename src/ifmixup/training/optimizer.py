"""AdamW on all weights of a model as one tensor, and torch's own where that cannot be."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8  # torch's


def make_optimizer(
    model: nn.Module, weight_decay: float, *, flat: bool
) -> FlatAdamW | torch.optim.AdamW:
    """AdamW for the parameters of ``model``, on the device where it stays, that are not frozen.

    A ``flat`` one moves them into one tensor, which is faster, unless some are frozen or they have
    several dtypes.
    """
    parameters = list(model.parameters())
    alike = len({parameter.dtype for parameter in parameters}) == 1
    if flat and alike and all(parameter.requires_grad for parameter in parameters):
        return FlatAdamW(model, weight_decay)
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    # Without a weight to train, torch's optimiser refuses; a step then changes nothing.
    trained = trained or [nn.Parameter(torch.zeros(()))]
    return torch.optim.AdamW(trained, weight_decay=weight_decay)


class FlatAdamW:
    r"""`AdamW <https://arxiv.org/abs/1711.05101>`_ on the weights of a model as one tensor.

    .. math::
        \mathbf{m} &\leftarrow \beta_1 \mathbf{m} + (1 - \beta_1) \mathbf{g}, \quad
        \mathbf{v} \leftarrow \beta_2 \mathbf{v} + (1 - \beta_2) \mathbf{g}^2 \\
        \mathbf{w} &\leftarrow (1 - \eta \kappa) \mathbf{w} - \frac{\eta}{1 - \beta_1^t}
        \frac{\mathbf{m}}{\sqrt{\mathbf{v} / (1 - \beta_2^t)} + \epsilon}

    with learning rate :math:`\eta` and weight decay :math:`\kappa`. The numbers are those of
    :class:`torch.optim.AdamW`, which spends 0.4 ms per step on the way to its kernel: a tenth of a
    step on small graphs; see docs/speed.md.

    It is used as torch's is, but ``state_dict`` leaves the learning rate out.

    A small model has dozens of parameters of a few hundred numbers each. Here they become views of
    one tensor, and so do their gradients.

    Args:
        model: A model with at least one parameter, all of one dtype.
        weight_decay: :math:`\kappa`
    """

    def __init__(self, model: nn.Module, weight_decay: float) -> None:
        self.model, self.weight_decay = model, weight_decay
        self.weights = flatten_parameters(model)
        self.param_groups: list[dict[str, Any]] = [{"lr": 0.001}]  # torch's
        self.steps = 0
        self.mean = torch.zeros_like(self.weights, requires_grad=False)
        self.square = torch.zeros_like(self.weights, requires_grad=False)

    def prepare(self) -> None:
        """Lay the weights out anew if they were moved, copied or cleared."""
        if not is_flat(self.model, self.weights):
            self.weights = flatten_parameters(self.model)
            self.mean, self.square = self.mean.to(self.weights), self.square.to(self.weights)

    def zero_grad(self) -> None:
        """Set the gradient to zero, in place."""
        assert self.weights.grad is not None  # see flatten_parameters
        self.weights.grad.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Update the weights by their gradient."""
        gradient, learning_rate = self.weights.grad, self.param_groups[0]["lr"]
        assert gradient is not None  # see flatten_parameters
        self.steps += 1
        if self.weight_decay:
            self.weights.mul_(1 - learning_rate * self.weight_decay)
        self.mean.lerp_(gradient, 1 - BETA1)
        self.square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        scale = math.sqrt(1 - BETA2**self.steps)
        size = learning_rate / (1 - BETA1**self.steps)
        self.weights.addcdiv_(self.mean, self.square.sqrt().div_(scale).add_(EPS), value=-size)

    def state_dict(self) -> dict[str, Any]:
        """What the next step depends on, but the weights."""
        return {"steps": self.steps, "mean": self.mean, "square": self.square}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where :meth:`state_dict` was taken."""
        self.steps = int(state["steps"])
        self.mean.copy_(state["mean"])
        self.square.copy_(state["square"])


def flatten_parameters(model: nn.Module) -> nn.Parameter:
    """Lay the parameters of a model, all of one dtype, end to end in one parameter with a gradient
    of zeros; they become views of it.
    """
    parameters = list(model.parameters())
    flat = nn.Parameter(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    flat.grad = torch.zeros_like(flat)
    sizes = [parameter.numel() for parameter in parameters]
    values, gradients = flat.detach().split(sizes), flat.grad.split(sizes)
    for parameter, value, gradient in zip(parameters, values, gradients, strict=True):
        parameter.data = value.view_as(parameter)
        parameter.grad = gradient.view_as(parameter)
    return flat


def is_flat(model: nn.Module, flat: nn.Parameter) -> bool:
    """Whether the parameters of a model, and their gradients, are still views of ``flat``.

    ``model.zero_grad()``, ``model.to()`` and copying undo that.
    """
    start = 0
    for parameter in model.parameters():
        if parameter.grad is None or flat.grad is None:
            return False
        for value, whole in ((parameter, flat), (parameter.grad, flat.grad)):
            if value.data_ptr() != whole.data_ptr() + start * whole.element_size():
                return False
        start += parameter.numel()
    return True
