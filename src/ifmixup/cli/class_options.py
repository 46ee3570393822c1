"""The options of models and methods on the command line, found in the signatures of the classes.

``ifmixup compare MUTAG --models gin nets.py:Net --num-layers 3 --std 0.2``: what is not an option
of the command itself is one of the chosen classes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from ifmixup.errors import InputError
from ifmixup.training.settings import setting_types
from ifmixup.values import Plain

if TYPE_CHECKING:
    from ifmixup.components import Component, Option, Registry

_OPTION = re.compile(r"--?[^\W\d][\w-]*(=.*)?|--", re.S)  # -0.5 is a value
_VARIANTS = (
    "A model or a method is a name, a class of your own as nets.py:Net or package.module:Net, or a "
    "variant with a name and options of its own: --models gin 'gin3=gin(num_layers=3)'. An option "
    "below is set in every chosen class that has it; classes of your own have the options of "
    "their __init__."
)


def registries() -> tuple[Registry, Registry]:
    """Those of the models and of the methods."""
    from ifmixup.components import METHODS, MODELS

    return MODELS, METHODS


def resolve_components(models: Any, methods: Any) -> tuple[list[Component], list[Component]]:
    """Models and methods as they were typed; see :func:`ifmixup.components.resolve`."""
    from ifmixup.components import resolve_all

    return resolve_all("model", models), resolve_all("method", methods)


def split_options(
    unknown: Sequence[str], components: Iterable[Component], others: Iterable[str] = ()
) -> dict[str, Plain]:
    """The options of models and methods among what was typed.

    Args:
        unknown: The words that are not options of the command: ``--num-layers 3``, ``--alpha=1``,
            ``--flag``, ``--no-flag``, ``--widths 16 32``.
        components: The chosen models and methods.
        others: Names of the command's own options, which a slip of the keyboard may have meant.

    Raises:
        InputError: If no chosen class has an option, its value is missing or does not fit, or it
            was typed twice.
    """
    several = list(components)
    found: dict[str, Plain] = {}
    for word, texts in _grouped(unknown):
        _check_free(word, several)
        name, flag = _named(word, several, others)
        if name in found:
            raise InputError(f"--{_dashed(name)} was given twice. Leave one out.")
        found[name] = _value(name, flag, texts, several)
    return found


def _check_free(word: str, components: Sequence[Component]) -> None:
    """Check that an option is not set by the variants themselves; others may take it."""
    name = word.lstrip("-").removeprefix("no-").replace("-", "_")
    setting = [each.name for each in components if name in each.fixed]
    if setting and not any(each.takes(name) for each in components):
        raise InputError(
            f"The variant {setting[0]!r} sets {name} itself, and {word} would not change it. Leave "
            f"one out, or make every value a variant of its own."
        )


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
    own = {option for each in components for option in each.option_names()}
    if word.startswith("--"):
        if name in own:
            return name, None
        if name.startswith("no_") and name[3:] in own:
            return name[3:], False
        if any(each.takes(name) for each in components):  # by **kwargs
            return name, None
    known = [*own, *setting_types(), *others]
    near = get_close_matches(name, known, 1)
    meant = f" Did you mean --{_dashed(near[0])}?" if near else ""
    having = [
        each
        for registry in registries()
        for each in registry.names()
        if name in registry.options(registry.get(each))
    ]
    if having:
        raise InputError(
            f"{word} is an option of {_and(having)}; the chosen are "
            f"{_and([each.name for each in components])}."
        )
    listed = ", ".join(f"--{_dashed(option)}" for option in sorted(own)) or "none"
    raise InputError(
        f"Unknown option {word}.{meant} The options of "
        f"{_and([each.name for each in components])}: {listed}. Besides there are settings; "
        f"--help lists all."
    )


def _value(
    name: str, flag: bool | None, texts: list[str], components: Sequence[Component]
) -> Plain:
    option = f"--{_dashed(name)}"
    takers = [each for each in components if name in each.option_names()] or [
        each for each in components if each.takes(name)
    ]
    hint = _hint(takers[0], name)
    yes_or_no = bool in _kinds(hint)
    if flag is not None and (texts or not yes_or_no):
        raise InputError(
            f"--no-{_dashed(name)} takes no value; got {texts[0]!r}."
            if yes_or_no
            else f"{option} is not a yes-or-no option. Write {option} {_example(hint)}."
        )
    if not texts and yes_or_no:
        return flag is None
    if not texts:
        raise InputError(f"{option} needs a value, such as {option} {_example(hint)}.")
    several = any(issubclass(tuple, kind) or kind is list for kind in _kinds(hint))
    if len(texts) > 1 and hint is not None and not several:
        raise InputError(
            f"{option} takes one value; got {' '.join(texts)}. Put the SOURCE before the options."
        )
    if len(texts) == 1:
        try:
            return takers[0].parse_option(name, texts[0])
        except InputError:
            if not several:
                raise
    return takers[0].parse_option(name, f"[{','.join(texts)}]")


def options_help() -> str:
    """The options of the models and methods of ifmixup: type, default, and who has them."""
    lines = ["", "options of models and methods:", *_wrapped(_VARIANTS, "  ")]
    for registry in registries():
        rows: dict[tuple[str, str, str], list[str]] = {}
        for name in registry.names():
            for option in registry.options(registry.get(name)).values():
                shown = "required" if option.required else f"default: {option.default}"
                rows.setdefault((option.name, _metavar(option), shown), []).append(name)
        lines += ["", *_wrapped(f"{registry.kind}s: {', '.join(registry.names())}", "", "  ")]
        for (name, metavar, shown), having in rows.items():
            everyone = having == registry.names()
            who = f"all {registry.kind}s" if everyone else ", ".join(having)
            head = f"  --{_dashed(name)} {metavar}" if metavar else f"  --[no-]{_dashed(name)}"
            lines += _wrapped(f"{head:<28}  {who} ({shown})", "", " " * 30)
    return "\n".join(lines)


def _metavar(option: Option) -> str:
    """``INT``, ``FLOAT``, ``{sum,mean,max}``; nothing for a flag."""
    kinds = [kind for kind in _kinds(option.hint, literals=True) if kind is not type(None)]
    if kinds == [bool]:
        return ""
    names = {int: "INT", float: "FLOAT", str: "STR", bool: "true|false"}
    texts = [
        "{" + ",".join(map(str, kind)) + "}"
        if isinstance(kind, tuple)
        else names.get(kind, "VALUE ..." if issubclass(tuple, kind) else "VALUE")
        for kind in kinds
    ]
    return "|".join(texts) or "VALUE"


def _kinds(hint: Any, *, literals: bool = False) -> list[Any]:
    """The types that a hint allows; a ``Literal`` as the tuple of its choices, or not at all."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for part in get_args(hint) for kind in _kinds(part, literals=literals)]
    origin = get_origin(hint) or hint
    if isinstance(origin, type):
        return [origin]
    choices = get_args(hint)
    return [choices] if literals and choices else []


def _hint(component: Component, name: str) -> Any:
    registry = registries()[component.kind == "method"]
    option = registry.options(component.cls).get(name)
    return None if option is None else option.hint


def _example(hint: Any) -> str:
    kinds = _kinds(hint, literals=True)
    choice = next((kind[0] for kind in kinds if isinstance(kind, tuple)), None)
    return str(choice) if choice else {int: "3", float: "0.5"}.get(kinds[0] if kinds else int, "X")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _wrapped(text: str, indent: str, later: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        78,
        initial_indent=indent,
        subsequent_indent=indent if later is None else later,
        break_on_hyphens=False,
    )
