"""The settings that we recommend for a dataset, a model and a method."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ifmixup.data import NAMES
from ifmixup.training.settings import Settings


def recommended(dataset: str, model: str, method: str) -> Settings:
    """Settings for a dataset of the paper; for any other one the defaults.

    A search found settings for ``none`` and ``ifmixup`` together, but for the distribution of λ;
    ``mixup_graph`` takes those of ``ifmixup``, so that the two mix by the same λ, and the other
    methods those of ``none``. NCI1 and NCI109 were not searched and take what MUTAG and PTC_MR
    agree on, at a smaller size. GAT and GATv2 take the model's :func:`reference`.
    """
    if dataset not in NAMES:
        return Settings(model=model, method=method)
    by_method = _found()["datasets"].get(dataset, {}).get(model, {})
    mixes = method in ("ifmixup", "mixup_graph")
    found: dict[str, Any] = by_method.get("ifmixup" if mixes else "none", {})
    return reference(model, method).with_(**found)


def reference(model: str, method: str) -> Settings:
    """Settings that are known to do well with a model on the paper's datasets, found by hand."""
    settings: dict[str, Any] = _found()["models"].get(model, {})
    return Settings.of({**settings, "model": model, "method": method})


def varied() -> set[str]:
    """The names of all settings for which something is recommended."""
    found = _found()
    by_method = [
        settings
        for models in found["datasets"].values()
        for methods in models.values()
        for settings in methods.values()
    ]
    return {name for settings in (*found["models"].values(), *by_method) for name in settings}


@cache
def _found() -> dict[str, Any]:
    text = files("ifmixup.training").joinpath("recommended.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
