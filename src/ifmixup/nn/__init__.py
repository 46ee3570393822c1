"""Layers and graph classifiers that read edge weights and node weights.

Mixed graphs keep their ratio in these weights: how much of an edge there is, and of a node.
"""

from __future__ import annotations

from ifmixup import components
from ifmixup.nn.aggregate import Neighbours
from ifmixup.nn.classifier import Classifier
from ifmixup.nn.gat import GAT, GATConv, GATv2, GATv2Conv
from ifmixup.nn.gcn import GCN, GCNConv
from ifmixup.nn.gin import GIN, GINConv
from ifmixup.nn.graph_model import GraphModel
from ifmixup.nn.inputs import GraphsModel
from ifmixup.nn.norm import BatchNorm, weigh_nodes
from ifmixup.nn.readout import global_add_pool, global_max_pool, global_mean_pool

MODELS: dict[str, type[GraphModel]] = {
    name: components.MODELS.get(name) for name in ("gcn", "gin", "gat", "gatv2")
}

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "MODELS",
    "BatchNorm",
    "Classifier",
    "GATConv",
    "GATv2",
    "GATv2Conv",
    "GCNConv",
    "GINConv",
    "GraphModel",
    "GraphsModel",
    "Neighbours",
    "global_add_pool",
    "global_max_pool",
    "global_mean_pool",
    "weigh_nodes",
]
