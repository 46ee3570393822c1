"""ifmixup: augment graphs by mixing pairs of them, and find out whether it helps."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ifmixup import augment as augment
    from ifmixup import data as data
    from ifmixup import nn as nn
    from ifmixup.augment import IfMixup as IfMixup
    from ifmixup.augment import MixPlan as MixPlan
    from ifmixup.components import with_options as with_options
    from ifmixup.data import EdgeAttrToNodes as EdgeAttrToNodes
    from ifmixup.errors import IfmixupError as IfmixupError
    from ifmixup.errors import ModelError as ModelError
    from ifmixup.estimators import GraphClassifier as GraphClassifier
    from ifmixup.estimators import GraphRegressor as GraphRegressor
    from ifmixup.mixing import mix as mix
    from ifmixup.mixing import mix_batch as mix_batch
    from ifmixup.model_check import ModelCheck as ModelCheck
    from ifmixup.model_check import check_model as check_model
    from ifmixup.recovery import Recovery as Recovery
    from ifmixup.recovery import recover as recover
    from ifmixup.study.compare import compare as compare
    from ifmixup.study.comparison import Comparison as Comparison
    from ifmixup.training.mapped import open_packed as open_packed
    from ifmixup.training.mapped import pack_stream as pack_stream
    from ifmixup.training.metric import Metric as Metric

    __version__: str

# Where the public names are defined. Each is imported on first use, because torch takes seconds.
_HOMES = {
    "ifmixup.augment": ("IfMixup", "MixPlan"),
    "ifmixup.components": ("with_options",),
    "ifmixup.data": ("EdgeAttrToNodes",),
    "ifmixup.errors": ("IfmixupError", "ModelError"),
    "ifmixup.estimators": ("GraphClassifier", "GraphRegressor"),
    "ifmixup.mixing": ("mix", "mix_batch"),
    "ifmixup.model_check": ("ModelCheck", "check_model"),
    "ifmixup.recovery": ("Recovery", "recover"),
    "ifmixup.study.compare": ("compare",),
    "ifmixup.study.comparison": ("Comparison",),
    "ifmixup.training.metric": ("Metric",),
    "ifmixup.training.mapped": ("open_packed", "pack_stream"),
}
_PACKAGES = ("augment", "data", "nn")

__all__ = [*sorted(name for names in _HOMES.values() for name in names), *_PACKAGES]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"ifmixup.{name}")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if name == "__version__":
        value = importlib.import_module("importlib.metadata").version("ifmixup")
    elif home is not None:
        value = getattr(importlib.import_module(home), name)
    else:
        raise AttributeError(f"module 'ifmixup' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All names, including those that are imported on first use."""
    return sorted({*globals(), *__all__, "__version__"})
