"""Datasets: the TU benchmarks of the paper, their statistics, edge attributes as features."""

from ifmixup.data.edge_attr_to_nodes import EdgeAttrToNodes
from ifmixup.data.load import load
from ifmixup.data.names import NAMES
from ifmixup.data.statistics import feature_set, statistics

__all__ = ["NAMES", "EdgeAttrToNodes", "feature_set", "load", "statistics"]
