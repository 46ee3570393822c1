"""Labels as rows: what a mixed label is a mixture of."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.errors import InputError


def label_rows(y: Tensor, num_graphs: int, num_classes: int | None, dtype: torch.dtype) -> Tensor:
    """Turn class numbers into one-hot rows; leave float labels as they are.

    Args:
        y: Class numbers ``[B]`` or ``[B, 1]``, or float labels (soft, multi-label, regression) with
            B rows.
        num_graphs: B.
        num_classes: C; needed for class numbers.
        dtype: The dtype of the rows that class numbers become.

    Returns:
        ``[B, C]`` for class numbers, else ``y`` with B rows.
    """
    if y.is_floating_point():
        if num_graphs == 1 and y.size(0) != 1:
            return y.unsqueeze(0)
        if y.size(0) != num_graphs:
            raise InputError(
                f"y has {y.size(0)} rows for {num_graphs} graphs. Store a label of several values "
                f"as a row, shape [1, T], so that PyG stacks the rows."
            )
        return y
    if y.numel() != num_graphs:
        raise InputError(
            f"y holds {y.numel()} integers for {num_graphs} graphs; each needs one class number. "
            f"Turn multi-label rows into floats with .float()."
        )
    if num_classes is None:
        raise InputError("y holds class numbers: say how many classes there are with num_classes=.")
    numbers = y.reshape(-1).long()
    if bool(((numbers < 0) | (numbers >= num_classes)).any()):
        wrong = int(numbers[(numbers < 0) | (numbers >= num_classes)][0])
        raise InputError(
            f"The label {wrong} is out of range: with num_classes={num_classes} "
            f"classes are numbered from 0 to {num_classes - 1}."
        )
    return F.one_hot(numbers, num_classes).to(dtype)
