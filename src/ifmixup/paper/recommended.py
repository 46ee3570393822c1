"""The settings that we recommend for a dataset, a model and a method."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ifmixup.training import Settings


def recommended(dataset: str, model: str, method: str) -> Settings:
    """Settings for a dataset; for one that nobody searched, those that do well in general.

    A search was done for ``none`` and ``ifmixup``; the other methods take what was found for
    ``none``.
    """
    found = _found()
    settings: dict[str, Any] = dict(found["models"].get(model, {}))
    by_method = found["datasets"].get(dataset, {}).get(model, {})
    settings |= by_method.get(method if method == "ifmixup" else "none", {})
    return Settings.of({**settings, "model": model, "method": method})


@cache
def _found() -> dict[str, Any]:
    text = files("ifmixup.paper").joinpath("recommended.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
