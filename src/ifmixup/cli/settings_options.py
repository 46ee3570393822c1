"""The settings as options, of which only those that were typed count."""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import tyro

from ifmixup.training import Settings
from ifmixup.training.recommended import varied


def typed(options: SettingsOptions) -> dict[str, Any]:
    """The settings that were typed, by name."""
    return {
        each.name: value
        for each in fields(options)
        if (value := getattr(options, each.name)) != each.default
    }


def _like_settings() -> type:
    """A dataclass with the fields of Settings, which are None until somebody types them."""
    hints = get_type_hints(Settings)
    made = make_dataclass(
        "SettingsOptions",
        [_like(each.name, hints[each.name], each.default) for each in fields(Settings)],
        frozen=True,
    )
    made.__doc__ = Settings.__doc__  # where tyro finds what each is for
    return made


def _like(name: str, hint: Any, default: Any) -> tuple[str, Any, Any]:
    if hint is bool:  # a flag; it is off unless typed
        return name, hint, field(default=default)
    kind = next(each for each in get_args(hint) or (hint,) if each is not NoneType)
    other = ", or as recommended for a dataset of the paper" if name in varied() else ""
    told = tyro.conf.arg(
        metavar=kind.__name__.upper(), help_behavior_hint=f"(default: {default}{other})"
    )
    return name, Annotated[hint | None, told], field(default=None)


if TYPE_CHECKING:
    SettingsOptions = Any
else:
    SettingsOptions = _like_settings()
