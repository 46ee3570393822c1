"""Configuration files in TOML or YAML: read, because a user wrote them; written as TOML."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ifmixup.errors import InputError
from ifmixup.values import short

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

MAX_BYTES = 1_000_000
MAX_VALUES = 100_000  # in a file; those that YAML's aliases repeat are counted each time
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The values by name in a ``.toml``, ``.yaml`` or ``.yml`` file, which is not trusted.

    Returns:
        Booleans, numbers, texts, None (YAML only), lists and dictionaries of these.

    Raises:
        InputError: If the file cannot be read, is too large or holds anything else.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.toml"
        >>> _ = path.write_text('epochs = 350\\nmodels = ["gcn", "gin"]\\n')
        >>> read_config(path)
        {'epochs': 350, 'models': ['gcn', 'gin']}
    """
    path = Path(path).expanduser()
    ending = path.suffix.lower()
    if ending not in (".toml", ".yaml", ".yml"):
        raise InputError(f"A configuration file is .toml, .yaml or .yml; got {path.name!r}.")
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} is larger than the {MAX_BYTES} bytes allowed.")
    try:
        text = content.decode("utf-8-sig")
        values = tomllib.loads(text) if ending == ".toml" else _read_yaml(text)
        if not isinstance(values, dict):
            raise InputError(
                f"it holds {short(values)}; values with names are needed, such as epochs"
                f"{' = ' if ending == '.toml' else ': '}350"
            )
        _check(values, "")
    # Besides errors of syntax, both parsers raise ValueError for numbers and dates that cannot
    # be, and RecursionError for brackets in brackets in brackets.
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        kind = "TOML" if ending == ".toml" else "YAML"
        raise InputError(f"{path} cannot be used as {kind}: {error}.") from error
    return values


def _read_yaml(text: str) -> Any:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return {}
    if _count(node, {}) > MAX_VALUES:
        raise InputError(f"it holds more than the {MAX_VALUES} values allowed")
    return yaml.safe_load(text)


def _count(node: yaml.Node, known: dict[int, int]) -> int:
    """The number of values under a node, where an alias counts as all that it repeats.

    Ten lines of aliases to aliases can stand for more values than fit into memory. They are
    counted before the values are made.
    """
    if id(node) in known:
        if known[id(node)] == 0:
            raise InputError("an alias refers to a value that contains it")
        return known[id(node)]
    known[id(node)] = 0  # not known until its children are
    children = [] if isinstance(node, yaml.ScalarNode) else node.value
    if isinstance(node, yaml.MappingNode):
        children = [child for pair in children for child in pair]
    known[id(node)] = 1 + sum(_count(child, known) for child in children)
    return known[id(node)]


def _check(value: Any, name: str) -> None:
    """Check that a value is plain, and that keys are texts."""
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                raise InputError(
                    f"the name {short(key)} is not a text; put it between quotation marks"
                )
            _check(each, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for each in value:
            _check(each, name)
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise InputError(
            f"{short(name)} is {short(value)}, of the type {type(value).__name__}; numbers, texts, "
            "lists and tables can be used. Put a text between quotation marks"
        )


def to_toml(values: Mapping[str, Any]) -> str:
    """Plain values by name as TOML, one per line; tables are inline tables.

    A name whose value is None is left out, because TOML has no such value.

    Example:
        >>> print(to_toml({"epochs": 350, "models": ["gcn", "gin"], "gin": {"dropout": 0.5}}))
        epochs = 350
        models = ["gcn", "gin"]
        gin = {dropout = 0.5}
        <BLANKLINE>
    """
    return "".join(f"{pair}\n" for pair in _pairs("", values))


def _pairs(name: str, values: Mapping[str, Any]) -> list[str]:
    return [
        f"{key if _BARE_KEY.fullmatch(key) else _text(key)} = {_toml(f'{name}{key}', value)}"
        for key, value in values.items()
        if value is not None
    ]


def _toml(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(name, each) for each in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(_pairs(f'{name}.', value))}}}"
    raise InputError(
        f"{name} is {short(value)}, which TOML does not have; it has booleans, numbers, texts, "
        "lists and tables."
    )


def _text(value: str) -> str:
    # JSON's escapes are TOML's too; of the characters that must be escaped it leaves out DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
