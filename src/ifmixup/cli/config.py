"""Configuration files: options in TOML or YAML, which the command line overrides."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ifmixup.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

MAX_BYTES = 1_000_000


def expand_config(arguments: Sequence[str]) -> list[str]:
    """Replace ``--config FILE`` by the options in that file, before those that were typed.

    What comes later wins, so that options override the file; and what is wrong in a file is
    answered as if it had been typed.
    """
    rest = list(arguments)
    expanded: list[str] = []
    while True:
        place = next((i for i, word in enumerate(rest) if word.split("=")[0] == "--config"), None)
        if place is None:
            break
        name = rest[place].partition("=")[2] if "=" in rest[place] else None
        if name is None:
            if place + 1 >= len(rest):
                raise InputError("--config needs the name of a TOML or YAML file.")
            name = rest.pop(place + 1)
        rest.pop(place)
        expanded += as_arguments(read_config(Path(name)))
    # The command and its dataset stay first, where no list of the file can swallow them.
    first = next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))
    return rest[:first] + expanded + rest[first:]


def read_config(path: Path) -> dict[str, Any]:
    """The options in a TOML or YAML file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} is too large for a configuration file.")
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            values = tomllib.loads(text)
        elif path.suffix in (".yaml", ".yml"):
            values = yaml.safe_load(text) or {}
        else:
            raise InputError(f"A configuration file is .toml, .yaml or .yml; got {path.name}.")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        raise InputError(f"The configuration file {path} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold options by name, such as epochs = 350.")
    return values


def as_arguments(values: Mapping[str, Any]) -> list[str]:
    """Options by name as they would be typed."""
    words: list[str] = []
    for name, value in values.items():
        option = f"--{str(name).replace('_', '-')}"
        if isinstance(value, dict):
            raise InputError(f"{name!r} is a table; options are plain values or lists.")
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        elif isinstance(value, list):
            words += [option, *map(str, value)]
        else:
            words += [option, str(value)]
    return words


def to_toml(values: Mapping[str, Any]) -> str:
    """Plain options as TOML; what is None is left out, because TOML has no such value."""
    lines = [
        f"{name} = {_toml(value)}" for name, value in values.items() if value not in (None, (), [])
    ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
