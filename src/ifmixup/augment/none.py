"""No method: the baseline."""

from ifmixup.augment.method import Method
from ifmixup.augment.registry import register


@register("none")
class NoMethod(Method):
    """The graphs as they are; only labels become rows."""

    keeps_undirected = True
    per_graph = True
