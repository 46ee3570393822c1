"""Plain values: numbers, text, and None, converted to the type that a name asks for.

Settings, the options of models and methods, grids, configuration files and stored runs all hold
plain values. This module alone decides which value fits which type.
"""

from __future__ import annotations

import math
import reprlib
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from sys import intern
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ifmixup.errors import InputError

Plain = bool | int | float | str | None | tuple[Any, ...]

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 2, 60, 60


def short(value: object) -> str:
    """``value`` as a message can hold it, however large it is."""
    return _SHORT.repr(value)


def listed(names: Sequence[str], most: int = 10, between: str = ", ") -> str:
    """The first ``names`` for a message: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def check_seed(seed: Any) -> int:
    """``seed``, if it is a whole number that stores, files and torch can keep."""
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise InputError(f"seed must be a whole number from 0 to 2**63 - 1; got {short(seed)}.")
    return seed


def is_plain(value: object) -> bool:
    """Whether ``value`` is a bool, a finite number, text, None, or a tuple or list of these."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, tuple | list):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | str)


def as_type(name: str, value: Any, hint: Any) -> Plain:
    """``value`` in the type of ``hint``: 1 and 1.0 are the same dropout, 2.5 cannot count layers.

    Args:
        name: What the value is called, for the message.
        value: Any object; a NumPy number counts as a number, a list as a tuple.
        hint: A type, a union, a ``Literal``, or None where any plain value will do.

    Raises:
        InputError: If the value does not fit; the message says what does.
    """
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a NumPy or torch number
        value = value.item()
    value = _as_tuple(value)
    allowed = _alternatives(hint)
    if is_plain(value):
        if not allowed or any(_fits(value, kind) for kind in allowed):
            return value
        number = _number(value)
        if float in allowed and number is not None:
            return number
    raise InputError(f"{name} must be {describe(hint)}; got {short(value)}.")


def parse(name: str, text: str, hint: Any) -> Plain:
    """The value that ``text`` stands for, as typed on a command line.

    ``none`` is None, ``true`` and ``false`` are booleans, ``[1, 2]`` is a tuple, where ``hint``
    allows them.
    """
    allowed = _alternatives(hint)
    word = text.strip()
    readings: list[Any] = []
    if word[:1] + word[-1:] in ("[]", "()"):
        parts = [part for part in word[1:-1].split(",") if part.strip()]
        readings.append(tuple(parse(name, part, None) for part in parts))
    if word.lower() in ("none", "null"):
        readings.append(None)
    if word.lower() in ("true", "false"):
        readings.append(word.lower() == "true")
    for kind in (int, float):
        try:
            readings.append(kind(word))
        except ValueError:
            continue
    readings.append(word.strip("'\""))
    for value in readings:
        if is_plain(value) and (not allowed or any(_fits(value, kind) for kind in allowed)):
            return value
    return as_type(name, readings[0], hint)


def _is_literal(kind: Any) -> bool:
    return bool(get_origin(kind) == Literal)


def describe(hint: Any) -> str:
    """A type as a sentence names it: ``int or None``, ``'sum', 'mean' or 'max'``."""
    texts: list[str] = []
    for kind in sorted(_alternatives(hint), key=_is_literal):
        if _is_literal(kind):
            texts += map(repr, get_args(kind))
        else:
            texts.append("None" if kind is type(None) else getattr(kind, "__name__", str(kind)))
    if not texts:
        return "a number, a text or None"
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def same_names(what: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Check that ``given`` has all names that are ``known``, and no other."""
    expected, there = set(known), set(given)
    if expected == there:
        return
    missing, unknown = expected - there, there - expected
    if missing:
        raise InputError(f"{what} has no {', '.join(sorted(missing))}.")
    if unknown:
        raise InputError(f"{what} has {short(sorted(map(str, unknown)))}, which is unknown.")


def as_dict(value: Any) -> dict[str, Any]:
    """``value`` if it is an object of JSON."""
    if not isinstance(value, dict):
        raise InputError(f"{short(value)} is not an object of names and values")
    return value


def as_list(value: Any) -> list[Any]:
    """``value`` if it is a list of JSON."""
    if not isinstance(value, list):
        raise InputError(f"{short(value)} is not a list")
    return value


def encode_number(value: float) -> float | str:
    """A number as JSON has it: one that is not finite is ``"nan"``, ``"inf"`` or ``"-inf"``."""
    return value if math.isfinite(value) else str(float(value))


def decode_number(value: Any) -> float:
    """The inverse of :func:`encode_number`; the value may come from an untrusted file."""
    if type(value) in (int, float) or value in ("nan", "inf", "-inf"):
        return float(value)
    raise InputError(f"{short(value)} is not a number.")


def decode(name: str, value: Any, hint: Any) -> Any:
    """A value of JSON, which may come from an untrusted file, in the type of ``hint``.

    A class that has ``of`` decodes itself, and another dataclass field by field.
    """
    # Most values of a store are such, without asking further.
    if type(value) is hint and (hint is str or (hint is int and -(2**63) <= value < 2**63)):
        return value
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if type(None) in parts and is_dataclass(parts[0]):
        return None if value is None else decode(name, value, parts[0])
    if hasattr(kind, "of"):
        return kind.of(as_dict(value))
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**decode_fields(f"the {name}", value, hint))
    if kind in (dict, Mapping):
        # A name once for the many runs that have it, and numbers without asking for their type.
        names = {intern(str(k)): v for k, v in as_dict(value).items()}
        if parts[1] is float:
            return {k: decode_number(v) for k, v in names.items()}
        return {k: decode(f"{k} in {name}", v, parts[1]) for k, v in names.items()}
    if kind in (list, tuple, Sequence):
        kind = list if kind is Sequence else kind
        alike = parts[1:] in ((), (...,))
        if alike and parts[0] in (float, str) and set(map(type, as_list(value))) <= {parts[0]}:
            return kind(value)  # curves and keys, of which there are many
        if alike and parts[0] is float:
            return kind(map(decode_number, as_list(value)))
        kinds = parts[:1] * len(as_list(value)) if alike else parts
        if len(kinds) != len(as_list(value)):
            raise InputError(f"{name} must be {len(kinds)} values; got {short(value)}")
        return kind(decode(name, each, part) for each, part in zip(value, kinds, strict=True))
    if hint is float or hint is Any:
        return value if hint is Any else decode_number(value)
    found = as_type(name, value, hint)
    if hint is int and not -(2**63) <= value < 2**63:
        raise InputError(f"{name} must fit into 64 bits; got {short(value)}")
    return found


def decode_fields(what: str, values: Any, cls: type, **instead: Any) -> dict[str, Any]:
    """The fields of a dataclass by :func:`decode`; ``instead`` has types that JSON has for some."""
    hints = {**field_types(cls), **instead}
    same_names(what, as_dict(values), hints)
    return {name: decode(name, values[name], hint) for name, hint in hints.items()}


@cache
def field_types(cls: type) -> dict[str, Any]:
    """The types of the fields of a dataclass, by name, in their order."""
    return get_type_hints(cls)


@cache
def _alternatives(hint: Any) -> Sequence[Any]:
    """The types that a hint allows; none where it says nothing."""
    if hint is None or hint is Any:
        return ()
    if get_origin(hint) in (Union, types.UnionType):
        return [kind for part in get_args(hint) for kind in _alternatives(part) or (object,)]
    return (hint,)


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(kind))
    origin = get_origin(kind) or kind
    if isinstance(value, tuple):
        return (isinstance(origin, type) and issubclass(tuple, origin)) or origin is list
    if not isinstance(origin, type):
        return False
    # True is not a number of layers, and 3 is not a float: the caller converts it.
    return type(value) is origin or (origin is object)


def _as_tuple(value: Any) -> Any:
    """Lists as tuples, however deep."""
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


def _number(value: Any) -> float | None:
    """A whole number, or text such as YAML's ``5e-4``, as a float; None for True and the like."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
