"""The options of models and methods on the command line, found in the signatures of the classes.

``ifmixup compare MUTAG --models gin nets.py:Net --num-layers 3 --std 0.2``: what is not an option
of the command itself is one of the chosen classes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from types import UnionType
from typing import Any, Union, get_args, get_origin

from ifmixup.components import METHODS, MODELS, Component
from ifmixup.errors import InputError
from ifmixup.training.settings import setting_types
from ifmixup.values import Plain

_REGISTRIES = {"model": MODELS, "method": METHODS}
_OPTION = re.compile(r"--?[^\W\d][\w-]*(=.*)?|--", re.S)  # -0.5 is a value
_VARIANTS = (
    "A model or a method is a name, a class of your own as nets.py:Net or package.module:Net, or a "
    "variant with a name and options of its own: --models gin 'gin3=gin(num_layers=3)'. An option "
    "below is set in every chosen class that has it; classes of your own have the options of "
    "their __init__."
)
_wrap = partial(textwrap.wrap, width=78, break_on_hyphens=False)


def split_options(
    unknown: Sequence[str], components: Sequence[Component], others: Iterable[str] = ()
) -> dict[str, Plain]:
    """The options of the chosen models and methods, from the words that the command does not know.

    Such words are ``--num-layers 3``, ``--alpha=1``, ``--flag``, ``--no-flag`` or ``--widths 16
    32``. A slip of the keyboard may have meant one of the ``others``, the command's own options.
    """
    found: dict[str, Plain] = {}
    for word, texts in _grouped(unknown):
        name, flag = _named(word, components, others)
        if name in found:
            raise InputError(f"--{_dashed(name)} was given twice. Leave one out.")
        found[name] = _value(name, flag, texts, components)
    return found


def _grouped(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each option with the values that follow it."""
    groups: list[tuple[str, list[str]]] = []
    for word in words:
        if _OPTION.fullmatch(word):
            name, equals, value = word.partition("=")
            groups.append((name, [value] if equals else []))
        elif groups:
            groups[-1][1].append(word)
        else:
            raise InputError(
                f"{word!r} is one word too many. An option and its value are written as "
                f"--num-layers 3; put a text with spaces between quotation marks."
            )
    return groups


def _named(
    word: str, components: Sequence[Component], others: Iterable[str]
) -> tuple[str, bool | None]:
    """The option that a word names, and what it is set to where the word itself says so."""
    name = word.lstrip("-").replace("-", "_")
    positive = name.removeprefix("no_")
    setting = [each.name for each in components if positive in each.fixed]
    if setting and not any(each.takes(positive) for each in components):
        raise InputError(
            f"The variant {setting[0]!r} sets {positive} itself, and {word} would not change it. "
            f"Leave one out, or make every value a variant of its own."
        )
    own = {option for each in components for option in each.option_names()}
    if word.startswith("--"):
        if name not in own and positive in own:
            return positive, False
        if name in own or any(each.takes(name) for each in components):  # by **kwargs
            return name, None
    chosen = _and([each.name for each in components])
    having = [
        each
        for registry in _REGISTRIES.values()
        for each in registry.names()
        if name in registry.options(registry.get(each))
    ]
    if having:
        raise InputError(f"{word} is an option of {_and(having)}; the chosen are {chosen}.")
    near = get_close_matches(name, [*own, *setting_types(), *others], 1)
    meant = f" Did you mean --{_dashed(near[0])}?" if near else ""
    listed = ", ".join(f"--{_dashed(option)}" for option in sorted(own)) or "none"
    raise InputError(
        f"Unknown option {word}.{meant} The options of {chosen}: {listed}. Besides there are "
        f"settings; --help lists all."
    )


def _value(
    name: str, flag: bool | None, texts: list[str], components: Sequence[Component]
) -> Plain:
    option = f"--{_dashed(name)}"
    named = [each for each in components if name in each.option_names()]
    taker = next(iter(named or [each for each in components if each.takes(name)]))
    known = _REGISTRIES[taker.kind].options(taker.cls).get(name)
    hint = None if known is None else known.hint
    yes_or_no = bool in _kinds(hint)
    if flag is not None and not yes_or_no:
        raise InputError(f"{option} is not a yes-or-no option. Write {option} {_metavar(hint)}.")
    if flag is not None and texts:
        raise InputError(f"--no-{_dashed(name)} takes no value; got {texts[0]!r}.")
    if not texts and not yes_or_no:
        raise InputError(f"{option} needs a value: {option} {_metavar(hint)}.")
    if not texts:
        return flag is None
    several = any(kind is list or _holds_values(kind) for kind in _kinds(hint))
    if len(texts) > 1 and hint is not None and not several:
        raise InputError(
            f"{option} takes one value; got {' '.join(texts)}. Put the SOURCE before the options."
        )
    if len(texts) == 1:
        try:
            return taker.parse_option(name, texts[0])
        except InputError:
            if not several:
                raise
    return taker.parse_option(name, f"[{','.join(texts)}]")


def options_help() -> str:
    """The options of the models and methods of ifmixup: type, default, and who has them."""
    lines = ["", "options of models and methods:"]
    lines += _wrap(f"  {_VARIANTS}", subsequent_indent="  ")
    for registry in _REGISTRIES.values():
        rows: dict[tuple[str, str, str], list[str]] = {}
        for name in registry.names():
            for option in registry.options(registry.get(name)).values():
                shown = "required" if option.required else f"default: {option.default}"
                rows.setdefault((option.name, _metavar(option.hint), shown), []).append(name)
        names = f"{registry.kind}s: {', '.join(registry.names())}"
        lines += ["", *_wrap(names, subsequent_indent="  ")]
        for (name, metavar, shown), having in rows.items():
            everyone = having == registry.names()
            who = f"all {registry.kind}s" if everyone else ", ".join(having)
            head = f"  --{_dashed(name)} {metavar}" if metavar else f"  --[no-]{_dashed(name)}"
            lines += _wrap(f"{head:<28}  {who} ({shown})", subsequent_indent=" " * 30)
    return "\n".join(lines)


def _metavar(hint: Any) -> str:
    """``INT``, ``FLOAT``, ``{sum,mean,max}``; nothing for a flag."""
    kinds = [kind for kind in _kinds(hint) if kind is not type(None)]
    if kinds == [bool]:
        return ""
    names = {int: "INT", float: "FLOAT", str: "STR", bool: "true|false"}
    texts = [
        "{" + ",".join(map(str, kind)) + "}"
        if isinstance(kind, tuple)
        else names.get(kind, "VALUE ..." if _holds_values(kind) else "VALUE")
        for kind in kinds
    ]
    return "|".join(texts) or "VALUE"


def _kinds(hint: Any) -> list[Any]:
    """The types that a hint allows; a ``Literal`` is the tuple of its choices."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for part in get_args(hint) for kind in _kinds(part)]
    origin = get_origin(hint) or hint
    if isinstance(origin, type):
        return [origin]
    return [get_args(hint)] if get_args(hint) else []


def _holds_values(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(tuple, kind)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
