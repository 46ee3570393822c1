"""``--config FILE``: options from TOML or YAML, which typed options override."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ifmixup.errors import InputError


def expand_config(words: Sequence[str]) -> list[str]:
    """Replace ``--config FILE`` by the options in that file.

    An option that is typed overrides the file, and a later file an earlier one. An error in a file
    is answered as if the option had been typed. Relative paths in a file are relative to the
    current folder, not to the file's.
    """
    typed: list[str] = []
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, path = word.partition("=")
        if name != "--config":
            typed.append(word)
            continue
        if not equals:
            path = next(rest, "")
        if not path:
            raise InputError("--config needs the name of a TOML or YAML file.")
        from ifmixup.config_files import read_config

        for key, value in read_config(path).items():
            values.pop(_name(key), None)
            values[_name(key)] = value
    overridden = {
        _name(part)
        for word in typed
        if word.startswith("--")
        for part in (word.partition("=")[0], word.partition("=")[0].replace("--no-", "--", 1))
    }
    expanded = as_words({key: v for key, v in values.items() if key not in overridden})
    # The SOURCE stays first, where no list of the file can take it as its last value.
    first = next((i for i, word in enumerate(typed) if word.startswith("-")), len(typed))
    return typed[:first] + expanded + typed[first:]


def as_words(values: Mapping[str, Any]) -> list[str]:
    """Options by name as they would be typed; one that is None (null in YAML) is left out."""
    words: list[str] = []
    for name, value in values.items():
        option = f"--{_name(name)}"
        if isinstance(value, dict):
            raise InputError(
                f"{name!r} is a table; options are plain values or lists. Write the options of a "
                f"class by name, or in the text of a variant: 'gin3=gin(num_layers=3)'."
            )
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, list) and _name(name) == "metric":  # which is typed several times
            words += [word for each in value for word in (option, str(each))]
        elif isinstance(value, list):
            words += [option, *map(str, value)]
        elif value is not None and str(value).startswith("-"):
            words.append(f"{option}={value}")
        elif value is not None:
            words += [option, str(value)]
    return words


def print_config(values: Mapping[str, Any], said: Sequence[str] = ()) -> None:
    """Print resolved options as TOML that ``--config`` reads; the SOURCE is typed, not read.

    Lines to say besides are comments.
    """
    from ifmixup.config_files import to_toml
    from ifmixup.safe_io import printable

    for line in said:
        print(f"# {printable(line, None)}")
    print(to_toml({name: value for name, value in values.items() if name != "source"}), end="")


def _name(option: str) -> str:
    """The name of an option: ``--num_layers`` and ``num-layers`` are the same."""
    return str(option).removeprefix("--").replace("_", "-")
