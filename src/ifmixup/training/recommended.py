"""The settings that we recommend for a dataset, a model and a method."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ifmixup.training.settings import Settings


def recommended(dataset: str, model: str, method: str) -> Settings:
    """Settings for a dataset; for one that was not searched, those that do well in general.

    A search was done for ``none`` and ``ifmixup``; the other methods take what was found for
    ``none``.
    """
    found = _found()
    settings: dict[str, Any] = dict(found["models"].get(model, {}))
    by_method = found["datasets"].get(dataset, {}).get(model, {})
    settings |= by_method.get(method if method == "ifmixup" else "none", {})
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
