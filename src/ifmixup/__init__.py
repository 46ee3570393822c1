"""ifmixup: mix pairs of graphs to regularise graph classifiers, and see whether it helps."""

from ifmixup import augment, data, nn
from ifmixup.augment import IfMixup, MixPlan
from ifmixup.data import EdgeAttrToNodes
from ifmixup.errors import IfmixupError
from ifmixup.mixing import mix, mix_batch
from ifmixup.recovery import Recovery, recover

__version__ = "0.1.0.dev0"

__all__ = [
    "EdgeAttrToNodes",
    "IfMixup",
    "IfmixupError",
    "MixPlan",
    "Recovery",
    "augment",
    "data",
    "mix",
    "mix_batch",
    "nn",
    "recover",
]
