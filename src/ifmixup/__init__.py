"""ifmixup: mix pairs of graphs to regularise graph classifiers, and see whether it helps."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ifmixup import augment, data, nn
from ifmixup.augment import IfMixup, MixPlan
from ifmixup.check_model import ModelCheck, check_model
from ifmixup.data import EdgeAttrToNodes
from ifmixup.errors import IfmixupError, ModelError
from ifmixup.mixing import mix, mix_batch
from ifmixup.recovery import Recovery, recover

if TYPE_CHECKING:
    from ifmixup.estimators import GraphClassifier, GraphRegressor
    from ifmixup.study.compare import compare
    from ifmixup.study.comparison import Comparison

__version__ = version("ifmixup")

__all__ = [
    "Comparison",
    "EdgeAttrToNodes",
    "GraphClassifier",
    "GraphRegressor",
    "IfMixup",
    "IfmixupError",
    "MixPlan",
    "ModelCheck",
    "ModelError",
    "Recovery",
    "augment",
    "check_model",
    "compare",
    "data",
    "mix",
    "mix_batch",
    "nn",
    "recover",
]


def __getattr__(name: str) -> Any:
    """Import what needs SciPy or scikit-learn when it is first used: they take a second."""
    if name == "compare":
        from ifmixup.study.compare import compare

        return compare
    if name == "Comparison":
        from ifmixup.study.comparison import Comparison

        return Comparison
    if name == "GraphClassifier":
        from ifmixup.estimators import GraphClassifier

        return GraphClassifier
    if name == "GraphRegressor":
        from ifmixup.estimators import GraphRegressor

        return GraphRegressor
    raise AttributeError(f"module 'ifmixup' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is, what is imported late included."""
    return sorted({*globals(), *__all__})
