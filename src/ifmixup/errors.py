"""What can go wrong, in a few kinds. Each says what was given, what is allowed and what to do."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Iterable
from types import ModuleType


class IfmixupError(Exception):
    """The parent of every error that ifmixup raises on purpose."""


class InputError(IfmixupError, ValueError):
    """A value that cannot be used: a wrong shape, a number out of range, NaN."""


class InputTypeError(IfmixupError, TypeError):
    """An object of the wrong kind, such as a ``HeteroData`` where a ``Data`` is needed."""


class RecoveryError(IfmixupError, ValueError):
    """A mixed graph whose two graphs cannot be recovered; the message says why."""


class DatasetError(IfmixupError, ValueError):
    """A dataset that cannot be found or read."""


class ModelError(IfmixupError, ValueError):
    """A model that cannot be trained on mixed graphs, such as one that ignores edge weights."""


class ComponentError(IfmixupError, ValueError):
    """A user's model or method that cannot be found, loaded or called."""


class TrainingError(IfmixupError, ValueError):
    """A training that cannot continue, such as one whose loss is not finite."""


class CheckpointError(IfmixupError, ValueError):
    """A checkpoint that cannot be read, or belongs to another training."""


class StoreError(IfmixupError, ValueError):
    """Results that cannot be read or written."""


class MissingExtraError(IfmixupError, ImportError):
    """An optional package is not installed; the message names the extra to install."""


class CacheWarning(UserWarning):
    """What was computed cannot be kept, or what was kept cannot be used: it is computed again."""


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional ``module``, or say which extra of ifmixup brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"This needs the package '{module.partition('.')[0]}', which is not installed. "
            f"Install it with: pip install 'ifmixup[{extra}]'"
        ) from error


def known_name(kind: str, given: str, allowed: Collection[str]) -> str:
    """``given``, if it is one of ``allowed``."""
    if given not in allowed:
        raise unknown_name(kind, given, allowed)
    return given


def unknown_name(kind: str, given: str, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not one of ``allowed``, with the nearest one that is."""
    names = list(dict.fromkeys(allowed))
    near = difflib.get_close_matches(given.lower(), [name.lower() for name in names], n=1)
    hint = next((f" Did you mean {n!r}?" for n in names if near and n.lower() == near[0]), "")
    return InputError(f"Unknown {kind} {given!r}.{hint} Known: {', '.join(names)}.")
