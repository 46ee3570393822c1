"""Standardising: mean 0 and deviation 1, as the training graphs have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ifmixup.graphs import Graphs
from ifmixup.training.packed import PackedDataset


@dataclass(frozen=True)
class Scaling:
    r"""What is taken off, and what is divided by.

    .. math:: x \leftarrow (x - \bar{x}) / s_x, \qquad y \leftarrow (y - \bar{y}) / s_y

    A mean of 0 and a deviation of 1 leave a column alone: features of 0 and 1, and targets that are
    classes or labels. Of a column that is the same on all training nodes only the mean is taken
    off. Values are doubles, on the CPU, until they are standardised.
    """

    x_mean: Tensor  # of the node features, [F]
    x_std: Tensor
    y_mean: Tensor  # of the targets, [T]
    y_std: Tensor  # one unit of what a model gives is so much of the target

    @staticmethod
    def fit(data: PackedDataset, train: Tensor) -> Scaling:
        """Learn from the graphs numbered ``train``, and from no others.

        The ``continuous`` columns of a dataset are standardised, and its targets if they are
        values.
        """
        x, y = data.graphs.nodes["x"], data.y
        x_mean, x_std = _nothing(x.size(1))
        if data.continuous:
            trained_on = torch.zeros(len(data), dtype=torch.bool, device=x.device)
            trained_on[train.to(x.device)] = True
            rows = x[trained_on[data.graphs.node_graph]][:, data.continuous]
            x_mean[data.continuous], x_std[data.continuous] = _moments(rows)
        found = (x_mean, x_std, *_nothing(data.num_outputs))
        moved = [each.to(x.dtype).to(x.device) for each in found]
        if data.task == "values":
            moved[2:] = _moments(y[train.to(y.device)])
        return Scaling(*moved)

    def features(self, x: Tensor) -> Tensor:
        """Node features as the model takes them; the same tensor where there is nothing to do."""
        if not bool((self.x_mean != 0).any() or (self.x_std != 1).any()):
            return x
        return (x - self.x_mean) / self.x_std

    def targets(self, y: Tensor) -> Tensor:
        """Values in the units that the model learns."""
        return (y - self.y_mean) / self.y_std

    def outputs(self, out: Tensor) -> Tensor:
        """What the model gave, in the original units; the inverse of :meth:`targets`."""
        return out * self.y_std + self.y_mean

    def graphs(self, graphs: Graphs, task: str) -> Graphs:
        """Graphs as they are trained on."""
        nodes, own = dict(graphs.nodes), dict(graphs.graphs)
        nodes["x"] = self.features(nodes["x"])
        if task == "values":
            own["y"] = self.targets(own["y"].to(self.y_mean)).to(nodes["x"])
        return replace(graphs, nodes=nodes, graphs=own)

    def to_dict(self) -> dict[str, Tensor]:
        """As tensors, to be saved."""
        return dict(vars(self))

    @staticmethod
    def of(values: Mapping[str, Tensor]) -> Scaling:
        """The inverse of :meth:`to_dict`."""
        return Scaling(*(values[name] for name in ("x_mean", "x_std", "y_mean", "y_std")))


def _nothing(columns: int) -> tuple[Tensor, Tensor]:
    """The mean and deviation that leave so many columns alone."""
    zero = torch.zeros(columns, dtype=torch.double)
    return zero, zero + 1


def _moments(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and deviation of each column without its missing values (NaN).

    A column without any value has 0 and 1. A deviation that is rounding, beside the size of the
    values, is 1.
    """
    rounding = 1e-12 if rows.dtype == torch.double else 1e-6
    rows = rows.cpu().double()  # which not every device has
    mean = rows.nanmean(0).nan_to_num()
    std = (rows - mean).square().nanmean(0).nan_to_num().sqrt()
    return mean, std.masked_fill(std <= rounding * mean.abs(), 1.0)
