"""Which models are given edge attributes, such as the bonds of molecules."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ifmixup.components import ClassSpec, Component, find_class, foreign
from ifmixup.errors import InputError
from ifmixup.training.known_data import is_papers
from ifmixup.training.packed import PackedDataset
from ifmixup.training.settings import Settings


def with_edge_attr(settings: Settings, model: ClassSpec, data: PackedDataset) -> Settings:
    """The same settings with ``use_edge_attr`` decided: a model gets what it reads.

    Our models read no edge attributes of the paper's eight datasets, as in the paper, unless they
    are told to.
    """
    if settings.use_edge_attr is False:
        return settings
    asks = asks_for_edge_attr(model)
    if settings.use_edge_attr is None:
        asked = asks and data.edge_dim is not None
        return settings.with_(use_edge_attr=asked and (foreign(model) or not is_papers(data)))
    if data.edge_dim is None:
        raise InputError(f"{data.name} has no edge attributes to use (use_edge_attr).")
    if not asks:
        raise InputError(
            f"The model {model.name!r} does not read edge attributes (use_edge_attr). gin does, "
            f"and so does your own model if its forward has a parameter edge_attr. Or remove "
            f"use_edge_attr."
        )
    return settings


def asks_for_edge_attr(model: ClassSpec) -> bool:
    """Whether a model can read edge attributes."""
    cls: Any = find_class("model", model)
    if foreign(model):
        return "edge_attr" in inspect.signature(cls.forward).parameters
    return "edge_dim" in inspect.signature(cls).parameters  # all of ours have it in forward


def unread_note(data: PackedDataset, models: Sequence[Component]) -> str | None:
    """Which models cannot read the edge attributes that the data have; None if all can."""
    if data.edge_dim is None or is_papers(data):
        return None
    unread = [model.name for model in models if not asks_for_edge_attr(model.spec)]
    if not unread:
        return None
    do = "does" if len(unread) == 1 else "do"
    return (
        f"The edges of {data.name} have {data.edge_dim} attributes (edge_attr), which "
        f"{', '.join(unread)} {do} not read; gin does."
    )
