"""The target ``y`` of a graph: which task it is of, and the form that a training takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ifmixup.errors import InputError


def infer_task(targets: Sequence[Tensor | None]) -> str:
    """The task of graphs with these ``y``: integers are classes, zeros and ones labels.

    Args:
        targets: The ``y`` of each graph; None where there is none.
    """
    given = [y for y in targets if y is not None]
    if not any(y.is_floating_point() for y in given):
        return "classes"
    known = torch.cat([y.flatten().double() for y in given])
    known = known[~known.isnan()]
    return "labels" if bool(((known == 0) | (known == 1)).all()) else "values"


def as_target(y: Tensor, task: str, place: int) -> Tensor:
    """The target of one graph: a class number ``[1]``, or a row of floats ``[1, T]``.

    Values are doubles on the CPU: not every device has doubles.

    Args:
        y: As the graph has it.
        task: ``classes``, ``labels`` or ``values``.
        place: The number of the graph, for messages.
    """
    if task == "classes":
        if y.is_floating_point() or y.numel() != 1:
            raise InputError(
                f"Graph {place} has no single class number as y, but {y}. Labels and values are "
                f"rows of floats, in all graphs, with NaN for what is missing."
            )
        if int(y) < 0:
            raise InputError(f"Class numbers start at 0; graph {place} has {int(y)}.")
        return y.reshape(1).long()
    if not y.numel():
        raise InputError(f"Graph {place} has an empty y.")
    # Values in double until they are standardised: 1e8 and 1e8 + 1 are the same float.
    row = y.reshape(1, -1)
    row = row.cpu().double() if task == "values" else row.to(torch.get_default_dtype())
    # One NaN of the many there are, so that the same targets have the same fingerprint.
    row = row.masked_fill(row.isnan(), math.nan)
    wrong = row.isinf() if task == "values" else ~(row.isnan() | (row == 0) | (row == 1))
    if bool(wrong.any()):
        allowed = "finite numbers" if task == "values" else "0 and 1"
        raise InputError(
            f"Graph {place} has {float(row[wrong][0])} in y; {task} are {allowed}, and NaN where "
            f"they are missing."
        )
    return row
