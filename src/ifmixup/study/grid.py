"""Grids of settings and options: the paper's, and those from a file."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ifmixup.components import Component, check_complete
from ifmixup.config_files import read_config
from ifmixup.errors import InputError, unknown_name
from ifmixup.study.study import Candidate
from ifmixup.training.run_spec import digest
from ifmixup.training.settings import Settings, setting_types
from ifmixup.values import as_type, short

Grid = Mapping[str, Sequence[Any]]

# "Detail Settings" of the paper; each applies where the model or the method has it.
PAPER_GRID: Grid = {
    "learning_rate": [0.01, 0.0005],
    "hidden_channels": [64, 128],
    "batch_size": [32, 128],
    "dropout": [0.0, 0.5],
    "num_layers": [3, 5, 8],
    "drop_ratio": [0.2, 0.4],
    "alpha,beta": [(1.0, 1.0), (2.0, 2.0), (20.0, 1.0)],
}

_MOST = 10_000  # settings: more is a slip of the keyboard


def load_grid(grid: str | os.PathLike[str] | Grid | None) -> Grid:
    """A grid: ``"paper"``, a TOML or YAML file of lists by name, or a mapping; None is empty."""
    if grid is None:
        return {}
    if isinstance(grid, Mapping):
        return grid
    return PAPER_GRID if grid == "paper" else read_config(Path(grid))


def expand(settings: Settings, model: Component, method: Component, grid: Grid) -> list[Candidate]:
    """All combinations of the grid's values, the last entry changing fastest, each once.

    An entry that neither the settings nor the model nor the method has is left out, so the paper's
    grid gives 48 settings for ``none``, 96 for ``drop_edge`` and 144 for ``ifmixup``. An option
    that model and method both have is set in both.

    A name such as ``alpha,beta`` takes lists of pairs and changes both together.
    """
    checked = check_grid(grid)
    for component in (model, method):
        check_complete(component, allow=[name for names in checked for name in names])
    entries = [
        changes
        for names, changes in checked.items()
        if any(n in setting_types() or model.takes(n) or method.takes(n) for n in names)
    ]
    if math.prod(len(changes) for changes in entries) > _MOST:
        raise InputError(f"The grid has more than {_MOST} settings. Leave values out.")
    found: dict[str, Candidate] = {}
    for combination in itertools.product(*entries):
        changes = {name: value for part in combination for name, value in part.items()}
        own = {name: value for name, value in changes.items() if name in setting_types()}
        rest = {name: value for name, value in changes.items() if name not in own}
        candidate = Candidate(
            settings.with_(**own),
            model.with_options(**{n: v for n, v in rest.items() if model.takes(n)}).spec,
            method.with_options(**{n: v for n, v in rest.items() if method.takes(n)}).spec,
        )
        found.setdefault(digest(candidate.to_dict()), candidate)
    return list(found.values())


def without_set(grid: Grid, given: Iterable[str]) -> Grid:
    """The entries of a grid that change nothing of what was given: that is not searched."""
    fixed = set(given)
    return {
        names: values
        for names, values in grid.items()
        if fixed.isdisjoint(part.strip() for part in str(names).split(","))
    }


def check_names(names: Iterable[str], components: Iterable[Component]) -> None:
    """Check that each name is a setting, or an option of at least one component."""
    several = list(components)
    known = dict.fromkeys(
        [*setting_types(), *(option for each in several for option in each.option_names())]
    )
    for name in names:
        if name not in known and not any(each.takes(name) for each in several):
            chosen = ", ".join(each.name for each in several)
            raise unknown_name(f"setting, or option of {chosen}:", name, known)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def check_grid(grid: Mapping[Any, Any]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """The changes that each entry makes, by the names that it changes; or say what is wrong."""
    checked: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for key, values in grid.items():
        names = tuple(part.strip() for part in str(key).split(","))
        used = [name for others in checked for name in others] + list(names)
        for name in names:
            if name in ("model", "method", "models", "methods"):
                raise InputError(
                    "A grid is for one model and method; choose them by --models and --methods."
                )
            if used.count(name) > 1:
                raise InputError(f"The grid has {name!r} in two entries. Put all values into one.")
        if not _is_list(values) or not values:
            raise InputError(f"The grid needs a list of values for {key!r}; got {short(values)}.")
        entries: list[dict[str, Any]] = []
        for value in values:
            parts = value if len(names) > 1 else [value]
            if not _is_list(parts) or len(parts) != len(names):
                raise InputError(
                    f"The grid needs lists of {len(names)} values for {key!r}, such as "
                    f"[[1, 1], [20, 1]] for 'alpha,beta'; got {short(value)}."
                )
            entry = {
                name: as_type(f"{name} in the grid", part, setting_types().get(name))
                for name, part in zip(names, parts, strict=True)
            }
            if entry not in entries:
                entries.append(entry)
        checked[names] = entries
    return checked
