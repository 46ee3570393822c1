"""Values as JSON has them, from files that nobody vouches for: looked at one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from ifmixup.errors import StoreError

_NOT_FINITE = ("nan", "inf", "-inf")


def plain(value: float) -> float | str:
    """A number as JSON has it; one that is not finite as ``"nan"``, ``"inf"`` or ``"-inf"``."""
    return value if math.isfinite(value) else str(float(value))


def number(value: Any) -> float:
    """The inverse of :func:`plain`."""
    if type(value) in (int, float) or value in _NOT_FINITE:
        return float(value)
    raise StoreError(f"{short(value)} is not a number")


def seconds(value: Any) -> float:
    """A time that something took."""
    found = number(value)
    if not 0 <= found < math.inf:
        raise StoreError(f"{short(value)} is no number of seconds")
    return found


def check(name: str, value: Any, hint: Any) -> None:
    """See that a value has a type; an integer is a float too, but True is no number."""
    allowed = getattr(hint, "__args__", (hint,))
    if type(value) not in (*allowed, *((int,) if float in allowed else ())):
        names = " or ".join(kind.__name__ for kind in allowed)
        raise StoreError(f"{name} must be {names}; got {short(value)}")
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise StoreError(f"{name} must fit into 64 bits; got {short(value)}")


def same_names(what: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """See that ``given`` has the names that are ``known``, all and no other."""
    missing, unknown = set(known) - set(given), set(given) - set(known)
    if missing:
        raise StoreError(f"{what} has no {', '.join(sorted(missing))}")
    if unknown:
        raise StoreError(f"{what} has {short(sorted(unknown))}, which is not known")


def mapping(value: Any) -> dict[str, Any]:
    """The value, if it is an object of JSON."""
    if type(value) is not dict:
        raise StoreError(f"{short(value)} is not an object of names and values")
    return value


def a_list(value: Any) -> list[Any]:
    """The value, if it is a list."""
    if type(value) is not list:
        raise StoreError(f"{short(value)} is not a list")
    return value


def utc(text: str) -> str:
    """The time in the one form that sorts as text."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise StoreError(f"the time {short(text)} has no time zone")
    return time.astimezone(timezone.utc).isoformat(timespec="microseconds")


def short(value: Any) -> str:
    """The value as a message can hold it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
