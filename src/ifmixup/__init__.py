"""ifmixup: mix pairs of graphs to regularise graph classifiers, and see whether it helps."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ifmixup import augment, data, nn
from ifmixup.augment import IfMixup, MixPlan
from ifmixup.data import EdgeAttrToNodes
from ifmixup.errors import IfmixupError
from ifmixup.mixing import mix, mix_batch
from ifmixup.recovery import Recovery, recover

if TYPE_CHECKING:
    from ifmixup.study.compare import compare
    from ifmixup.study.comparison import Comparison

__version__ = version("ifmixup")

__all__ = [
    "Comparison",
    "EdgeAttrToNodes",
    "IfMixup",
    "IfmixupError",
    "MixPlan",
    "Recovery",
    "augment",
    "compare",
    "data",
    "mix",
    "mix_batch",
    "nn",
    "recover",
]


def __getattr__(name: str) -> Any:
    """Import what compares when it is first used: SciPy and scikit-learn take a second."""
    if name == "compare":
        from ifmixup.study.compare import compare

        return compare
    if name == "Comparison":
        from ifmixup.study.comparison import Comparison

        return Comparison
    raise AttributeError(f"module 'ifmixup' has no attribute {name!r}")
