"""Methods that augment the training graphs: one file per method, found automatically."""

import importlib
import pkgutil

from ifmixup.augment.attribute_masking import AttributeMasking
from ifmixup.augment.draws import MixPlan
from ifmixup.augment.drop_edge import DropEdge
from ifmixup.augment.drop_node import DropNode
from ifmixup.augment.edge_perturbation import EdgePerturbation
from ifmixup.augment.g_mixup import GMixup
from ifmixup.augment.graph_transplant import GraphTransplant
from ifmixup.augment.ifmixup import IfMixup
from ifmixup.augment.manifold_mixup import ManifoldMixup
from ifmixup.augment.method import Method, create
from ifmixup.augment.mixup_graph import MixupGraph
from ifmixup.augment.nodesam import NodeSam
from ifmixup.augment.s_mixup import SMixup
from ifmixup.augment.subgraph import Subgraph
from ifmixup.augment.submix import SubMix
from ifmixup.components import METHODS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

get, names, register = METHODS.get, METHODS.names, METHODS.register

__all__ = [
    "AttributeMasking",
    "DropEdge",
    "DropNode",
    "EdgePerturbation",
    "GMixup",
    "GraphTransplant",
    "IfMixup",
    "ManifoldMixup",
    "Method",
    "MixPlan",
    "MixupGraph",
    "NodeSam",
    "SMixup",
    "SubMix",
    "Subgraph",
    "create",
    "get",
    "names",
    "register",
]
