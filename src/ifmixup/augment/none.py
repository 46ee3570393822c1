"""No method: the baseline."""

from ifmixup.augment.method import Method
from ifmixup.augment.registry import register


@register("none")
class NoMethod(Method):
    """The graphs as they are; only labels become rows."""

    keeps_mirrored = True
    takes_together = True
