"""Datasets: benchmarks and users' own graphs, their statistics, their features."""

from ifmixup.data.dataset import GraphDataset
from ifmixup.data.edge_attr_to_nodes import EdgeAttrToNodes
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.load import load
from ifmixup.data.names import NAMES
from ifmixup.data.networkx_graphs import from_networkx
from ifmixup.data.parts import Part, read_in_parts
from ifmixup.data.pyg_graphs import from_pyg
from ifmixup.data.skipped import Skipped
from ifmixup.data.statistics import feature_set, statistics

__all__ = [
    "NAMES",
    "EdgeAttrToNodes",
    "FeatureEncoder",
    "GraphDataset",
    "Part",
    "Skipped",
    "feature_set",
    "from_networkx",
    "from_pyg",
    "load",
    "read_in_parts",
    "statistics",
]
