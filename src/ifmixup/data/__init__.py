"""Datasets: benchmarks and users' own graphs, their statistics, their features."""

from ifmixup.data.catalog import NAMES
from ifmixup.data.dataset import GraphDataset, Skipped
from ifmixup.data.edge_attr_to_nodes import EdgeAttrToNodes
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.load import Part, load, read_in_parts
from ifmixup.data.networkx import from_networkx
from ifmixup.data.pyg import from_pyg
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
