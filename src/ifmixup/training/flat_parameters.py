"""All parameters of a model as one."""

from __future__ import annotations

import torch
from torch import nn


def flatten_parameters(model: nn.Module) -> nn.Parameter:
    """Lay the parameters of a model end to end in one, for an optimiser to update in one go.

    A small model has dozens of parameters of a few hundred numbers each; an optimiser spends more
    time on finding its way among them than on arithmetic. Afterwards the model's parameters are
    views of the one, and so are their gradients: ``flat.grad.zero_()`` takes the place of
    ``optimizer.zero_grad()``. :func:`is_flat` tells whether something has undone it.

    Args:
        model: A model on the device where it stays, all parameters of one dtype.

    Returns:
        The one parameter, with a gradient of zeros, ``[number of weights]``.
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
    place = 0
    for parameter in model.parameters():
        if parameter.grad is None or flat.grad is None:
            return False
        for value, whole in ((parameter, flat), (parameter.grad, flat.grad)):
            if value.data_ptr() != whole.data_ptr() + place * whole.element_size():
                return False
        place += parameter.numel()
    return True
