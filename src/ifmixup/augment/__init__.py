"""Methods: what happens to the training graphs. One file per method, found by itself."""

import importlib
import pkgutil

from ifmixup.augment.attribute_masking import AttributeMasking
from ifmixup.augment.draws import MixPlan
from ifmixup.augment.drop_edge import DropEdge
from ifmixup.augment.drop_node import DropNode
from ifmixup.augment.ifmixup import IfMixup
from ifmixup.augment.method import Method, create
from ifmixup.augment.mixup_graph import MixupGraph
from ifmixup.components import METHODS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

get, names, register = METHODS.get, METHODS.names, METHODS.register

__all__ = [
    "AttributeMasking",
    "DropEdge",
    "DropNode",
    "IfMixup",
    "Method",
    "MixPlan",
    "MixupGraph",
    "create",
    "get",
    "names",
    "register",
]
