"""Graph classifiers that read edge weights, which is where a mixed graph keeps its ratio."""

from __future__ import annotations

from collections.abc import Callable

from ifmixup import components
from ifmixup.nn.gat import GAT
from ifmixup.nn.gatv2 import GATv2
from ifmixup.nn.gcn import GCN
from ifmixup.nn.gin import GIN
from ifmixup.nn.model import GraphModel
from ifmixup.nn.neighbours import Neighbours

MODELS: dict[str, Callable[..., GraphModel]] = {"gcn": GCN, "gin": GIN, "gat": GAT, "gatv2": GATv2}

for _name, _cls in MODELS.items():
    components.MODELS.register(_name, hidden_channels=64, num_layers=5, dropout=0.5)(_cls)

__all__ = ["GAT", "GCN", "GIN", "MODELS", "GATv2", "Neighbours"]
