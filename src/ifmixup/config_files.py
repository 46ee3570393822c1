"""Configuration files: TOML or YAML in, TOML out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from ifmixup.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

MAX_BYTES = 1_000_000


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
