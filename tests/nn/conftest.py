"""One tiny graph with everything that can go wrong, and the models to run on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import Tensor

from ifmixup.nn import MODELS, GraphModel

VARIANTS = {
    "gcn": ("gcn", {}),
    "gin": ("gin", {}),
    "gine": ("gin", {"edge_dim": 2}),
    "gat": ("gat", {"heads": 2}),
    "gatv2": ("gatv2", {"heads": 2}),
}


@dataclass
class Graphs:
    """Nodes 0 to 3 are one graph, node 4 is another without edges."""

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor
    edge_attr: Tensor
    batch: Tensor

    def dense(self) -> Tensor:
        """``[i, j]`` is e(i, j): the weight of the edge from j to i."""
        adjacency = self.x.new_zeros(len(self.x), len(self.x))
        source, target = self.edge_index
        return adjacency.index_put((target, source), self.edge_weight, accumulate=True)


def make_graphs(dtype: torch.dtype = torch.float32) -> Graphs:
    generator = torch.Generator().manual_seed(0)
    # Directed: a mix-up of source and target shows; the last edge has weight 0.
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 0, 2], [1, 0, 2, 1, 0, 3, 3]])
    return Graphs(
        x=torch.randn(5, 3, dtype=dtype, generator=generator),
        edge_index=edge_index,
        edge_weight=torch.tensor([1.0, 0.3, 0.7, 0.25, 1.0, 0.5, 0.0], dtype=dtype),
        edge_attr=torch.randn(7, 2, dtype=dtype, generator=generator),
        batch=torch.tensor([0, 0, 0, 0, 1]),
    )


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


@pytest.fixture
def graphs() -> Graphs:
    return make_graphs()


@pytest.fixture
def graphs64() -> Graphs:
    return make_graphs(torch.float64)


@pytest.fixture(params=VARIANTS)
def make(request: pytest.FixtureRequest) -> Callable[..., GraphModel]:
    """Makes a model of width 4 with 2 layers for 3 features and 2 classes."""
    name, extra = VARIANTS[request.param]
    return partial(MODELS[name], 3, 4, 2, 2, **extra)


def logits(model: GraphModel, graphs: Graphs, **options: object) -> Tensor:
    attr = None if model.edge_dim is None else graphs.edge_attr
    return model(
        graphs.x, graphs.edge_index, graphs.edge_weight, graphs.batch, edge_attr=attr, **options
    )


@pytest.fixture
def run() -> Callable[..., Tensor]:
    """``run(model, graphs)`` are the logits, with edge attributes for the model that reads them."""
    return logits
