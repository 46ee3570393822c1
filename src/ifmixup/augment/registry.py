"""Methods by name: one decorator, and a method is in the API, the options and the docs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ifmixup.augment.method import Method
from ifmixup.errors import unknown_name

_METHODS: dict[str, type[Method]] = {}
M = TypeVar("M", bound=type[Method])


def register(name: str) -> Callable[[M], M]:
    """Class decorator: make a :class:`Method` known as ``name``."""

    def decorate(cls: M) -> M:
        _METHODS[name] = cls
        return cls

    return decorate


def names() -> list[str]:
    """The known methods, in alphabetical order."""
    return sorted(_METHODS)


def get(name: str) -> type[Method]:
    """The class of the method called ``name``."""
    if name not in _METHODS:
        raise unknown_name("method", name, names())
    return _METHODS[name]


def create(name: str, num_classes: int | None = None, **options: Any) -> Method:
    """The method called ``name``.

    Args:
        name: One of :func:`names`.
        num_classes: The number of classes; None where labels are float rows.
        **options: What the method's class takes, such as ``alpha`` or ``drop_ratio``.
    """
    cls = get(name)
    allowed = [key for key in inspect.signature(cls).parameters if key != "num_classes"]
    for key in options:
        if key not in allowed:
            raise unknown_name(f"option of method {name!r}", key, allowed)
    return cls(num_classes, **options)
