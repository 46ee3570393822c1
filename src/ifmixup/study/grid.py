"""Grids of hyper-parameters: the paper's, and those from a file."""

from __future__ import annotations

import itertools
import math
import os
import reprlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import yaml

from ifmixup.errors import InputError, unknown_name
from ifmixup.training import Settings
from ifmixup.training.run_spec import digest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Grid = Mapping[str, Sequence[Any]]

# "Detail Settings" of the paper; each applies where the method or model has it.
PAPER_GRID: Grid = {
    "learning_rate": [0.01, 0.0005],
    "hidden": [64, 128],
    "batch_size": [32, 128],
    "dropout": [0.0, 0.5],
    "layers": [3, 5, 8],
    "drop_ratio": [0.2, 0.4],
    "alpha,beta": [(1.0, 1.0), (2.0, 2.0), (20.0, 1.0)],
}

_MOST = 10_000  # settings: more is a slip of the keyboard
_SHOWN = reprlib.Repr()  # a YAML file of a few lines can hold a value too large to print
_SHOWN.maxlevel = 2
_KINDS = {name: tuple(get_args(kind)) or (kind,) for name, kind in get_type_hints(Settings).items()}


def expand(base: Settings, grid: Grid) -> list[Settings]:
    """All combinations of the grid's values, the last entry changing fastest, each once.

    An entry that makes no difference to ``base``'s model and method is left out, so that the
    paper's grid gives 48 settings for ``none``, 96 for ``drop_edge`` and 144 for ``ifmixup``.

    Args:
        base: Model, method and all that the grid does not change.
        grid: Lists of values by name. A name such as ``alpha,beta`` takes lists of pairs and
            changes both together.
    """
    entries = check_grid(grid)
    relevant = base.relevant()
    used = [e for names, e in entries.items() if any(name in relevant for name in names)]
    if math.prod(len(entry) for entry in used) > _MOST:
        raise InputError(f"The grid has more than {_MOST} settings. Leave values out.")
    found: dict[str, Settings] = {}
    for combination in itertools.product(*used):
        changes = {name: value for part in combination for name, value in part.items()}
        settings = base.with_(**changes)
        found.setdefault(digest(settings.relevant()), settings)
    return list(found.values())


def load_grid(path: str | os.PathLike[str]) -> Grid:
    """Read a grid from a TOML or YAML file of lists by name; nothing in the file is trusted."""
    source = Path(path)
    if source.suffix not in (".toml", ".yaml", ".yml"):
        raise InputError(f"A grid is a .toml, .yaml or .yml file; got {str(path)!r}.")
    try:
        text = source.read_text(encoding="utf-8")
        values = tomllib.loads(text) if source.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"The grid {path} cannot be read: {error}.") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"The grid {path} is not {source.suffix[1:].upper()}: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"The grid {path} must hold lists by name, such as layers: [3, 5, 8].")
    checked = check_grid(values)
    return {
        ",".join(names): [tuple(e.values()) if len(names) > 1 else e[names[0]] for e in entries]
        for names, entries in checked.items()
    }


def check_grid(grid: Mapping[Any, Any]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """The changes that each entry makes, as the settings want them; or say what is wrong."""
    checked: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for key, values in grid.items():
        names = tuple(part.strip() for part in str(key).split(","))
        for name in names:
            _check_name(name, [used for others in checked for used in others] + list(names))
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(
                f"The grid needs a list of values for {key!r}; got {_SHOWN.repr(values)}."
            )
        entries: list[dict[str, Any]] = []
        for value in values:
            parts = value if len(names) > 1 else [value]
            if (
                isinstance(parts, str)
                or not isinstance(parts, Sequence)
                or len(parts) != len(names)
            ):
                raise InputError(
                    f"The grid needs lists of {len(names)} values for {key!r}, such as "
                    f"[[1, 1], [20, 1]] for 'alpha,beta'; got {_SHOWN.repr(value)}."
                )
            entry = {n: _as_setting(n, part) for n, part in zip(names, parts, strict=True)}
            if entry not in entries:
                entries.append(entry)
        checked[names] = entries
    return checked


def _check_name(name: str, used: list[str]) -> None:
    known = [field.name for field in fields(Settings)]
    if name not in known:
        raise unknown_name("setting", name, known)
    if name in ("model", "method"):
        raise InputError(f"A grid is for one model and method; choose them by --{name}s instead.")
    if used.count(name) > 1:
        raise InputError(f"The grid has {name!r} in two entries. Put all its values into one.")


def _as_setting(name: str, value: Any) -> Any:
    """The value in its setting's type: 1 and 1.0 must not be two different runs."""
    kinds = _KINDS[name]
    if float in kinds and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)  # YAML takes 5e-4 for text
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    elif type(value) in kinds:
        return value
    allowed = " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)
    raise InputError(f"The grid needs {allowed} for {name!r}; got {_SHOWN.repr(value)}.")
