"""The former name of :mod:`ifmixup.nn.graph_model`."""

from ifmixup.nn.graph_model import GraphModel

__all__ = ["GraphModel"]
