"""Whether the numbers of a tensor are all there: a small file may pretend to hold large ones."""

from __future__ import annotations

import torch
from torch import Tensor


def is_stored(tensor: Tensor) -> bool:
    """Whether each number of a dense tensor has memory of its own.

    ``torch.zeros(1).expand(10**9)`` is a number and a promise: it is 4 bytes in a file, and
    gigabytes as soon as something is computed. The same goes for a tensor on the device meta.
    """
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return False
    return tensor.untyped_storage().nbytes() >= tensor.numel() * tensor.element_size()
