"""The options of models and methods on the command line, found in the signatures of the classes.

``ifmixup compare MUTAG --models gin nets.py:Net --num-layers 3 --std 0.2``: what is not an option
of the command itself is one of the chosen classes.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from shutil import get_terminal_size
from types import UnionType
from typing import Any, Union, get_args, get_origin

from ifmixup.components import METHODS, MODELS, Component, Option
from ifmixup.errors import InputError
from ifmixup.training.settings import setting_types
from ifmixup.values import Plain

_REGISTRIES = {"model": MODELS, "method": METHODS}
_OPTION = re.compile(r"--?[^\W\d][\w-]*(=.*)?|--", re.S)  # -0.5 is a value
_VARIANTS = (
    "An option is passed to every chosen model and method that has it. To give one of them another "
    "value, use a variant: --models gin 'gin3=gin(num_layers=3)'. The options of your own class "
    "are the parameters of its __init__."
)
_INDENT = 26  # columns before the description of an option


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
            raise InputError(f"--{_dashed(name)} was given twice. Remove one of them.")
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
                f"Unexpected argument {word!r}. Write an option and its value as --num-layers 3, "
                f"and put a text with spaces in quotation marks."
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
            f"The variant {setting[0]!r} sets {positive} itself, so {word} would not change it. "
            f"Remove one of them, or write one variant per value."
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
        raise InputError(
            f"{word} is an option of {_and(having)}, but {chosen} were chosen. Remove it, or "
            f"choose {having[0]}."
        )
    near = get_close_matches(name, [*own, *setting_types(), *others], 1)
    meant = f" Did you mean --{_dashed(near[0])}?" if near else ""
    listed = ", ".join(f"--{_dashed(option)}" for option in sorted(own)) or "none"
    raise InputError(
        f"Unknown option {word}.{meant} Options of {chosen}: {listed}. --help lists the other "
        f"options."
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
    """The options of the models and methods of ifmixup, as wide as the terminal."""
    width = max(40, min(get_terminal_size().columns, 100))
    wrap = partial(textwrap.wrap, width=width, break_on_hyphens=False, subsequent_indent="  ")
    lines = ["", "options of models and methods:", *wrap(f"  {_VARIANTS}")]
    for registry in _REGISTRIES.values():
        lines += ["", *wrap(f"{registry.kind}s: {', '.join(registry.names())}")]
        rows: dict[tuple[str, str], list[str]] = {}
        for name in registry.names():
            cls = registry.get(name)
            for option in registry.options(cls).values():
                rows.setdefault(_row(option, cls), []).append(name)
        for (head, text), having in rows.items():
            who = "" if having == registry.names() else f" [{', '.join(having)}]"
            fits = len(head) < _INDENT - 3
            lines += [] if fits else [f"  {head}"]
            start = f"  {head}" if fits else ""
            lines += wrap(f"{start:<{_INDENT}}{text}{who}.", subsequent_indent=" " * _INDENT)
    return "\n".join(lines)


def _row(option: Option, cls: type) -> tuple[str, str]:
    """``--num-layers INT`` and ``Number of layers (default: 5)``, from the class's docstring."""
    metavar, dashed = _metavar(option.hint), _dashed(option.name)
    head = f"--{dashed} {metavar}" if metavar else f"--[no-]{dashed}"
    text = ""
    for each in cls.__mro__:
        arguments = inspect.cleandoc(each.__doc__ or "").partition("\nArgs:\n")[2]
        found = re.search(rf"^    {option.name}: (.+(?:\n     .*)*)", arguments, re.M)
        if found:
            plain = " ".join(re.sub(r'``"?([^`]*?)"?``', r"\1", found[1]).split())
            text = re.split(r"[.;](?: |$)", plain.removeprefix("The "), maxsplit=1)[0]
            break
    unset = option.required or option.default is None or option.default == ()
    default = "" if unset else f" (default: {option.default})"
    first = text[:1].upper() if text[:1].isascii() else text[:1]  # not λ
    return head, f"{first}{text[1:]}{default}"


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
