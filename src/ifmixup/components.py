"""Models and methods, ours and the user's: found by name, class or file, and described.

A model or a method is named (``"gin"``), given as a class, or as ``"nets.py:Net"``. All three
become a :class:`Component`: the class, and a :class:`ClassSpec` of plain values that says which
class it is and with which options. Runs are stored with the spec; code is never stored.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar, get_type_hints

from ifmixup.errors import ComponentError, InputError, InputTypeError, unknown_name
from ifmixup.source_code import load_class, source_digest
from ifmixup.source_code import user_code as user_code
from ifmixup.values import Plain, as_type, decode_fields, is_plain, parse, short

C = TypeVar("C", bound=type)

_LABEL = re.compile(r"[^\s/\\=()][^/\\=()]{0,59}")
_TEXT = re.compile(r"(?:(?P<label>[^=()]+)=)?(?P<target>[^=()]+)(?:\((?P<options>.*)\))?", re.S)


@dataclass(frozen=True)
class ClassSpec:
    """What a model or a method is, as plain values.

    Attributes:
        name: What tables call it, such as ``"gin"``, ``"Net"`` or ``"wide"``; unique in a study.
        target: Where the class is: ``"ifmixup.nn:GIN"``, ``"nets.py:Net"`` or ``"pkg.nets:Net"``.
        options: All its options, defaults included, sorted by name.
        source: The digest of the user's code; None for a class of ifmixup.
    """

    name: str
    target: str
    options: tuple[tuple[str, Plain], ...] = ()
    source: str | None = None

    @property
    def class_name(self) -> str:
        """The name of the class itself."""
        return self.target.rpartition(":")[2]

    @property
    def identity(self) -> list[Any]:
        """What a run's key depends on: class, options and code, but neither label nor path."""
        # A user's class may tell None from nothing given; ours do not.
        options = {n: v for n, v in self.options if v is not None or self.source is not None}
        return [self.class_name, options, self.source]

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        return {**vars(self), "options": dict(self.options)}

    @staticmethod
    def of(values: Any) -> ClassSpec:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        found = decode_fields("The class", values, ClassSpec, options=dict[str, Plain])
        return ClassSpec(**{**found, "options": tuple(sorted(found["options"].items()))})


@dataclass(frozen=True)
class Option:
    """One option of a class: its type, and its default where it has one."""

    name: str
    hint: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty


@cache
def takes_any(cls: type) -> bool:
    """Whether a class takes options of any name, by ``**kwargs``."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(cls).parameters.values())


class Registry:
    """The classes of one kind that have a name, and what the library itself gives to each.

    Args:
        kind: ``"model"`` or ``"method"``.
        home: The package whose import registers our own classes.
        given: Parameters of a class that are not options, because the library fills them in.
        needed: Those of them that every class must take.
    """

    def __init__(
        self, kind: str, home: str, given: Iterable[str], needed: Iterable[str] = ()
    ) -> None:
        self.kind, self.given, self.needed = kind, tuple(given), tuple(needed)
        self._home = home
        self._classes: dict[str, type] = {}
        self._defaults: dict[str, dict[str, Plain]] = {}
        self._options: dict[type, dict[str, Option]] = {}

    def register(self, name: str, **defaults: Plain) -> Callable[[C], C]:
        """Class decorator: register a class as ``name``.

        ``defaults`` of options replace those of the signature.
        """
        _check_label(name, self.kind)

        def decorate(cls: C) -> C:
            if _ours(self._classes.get(name)) and not _ours(cls):
                raise InputError(
                    f"{name!r} is a {self.kind} of ifmixup. Register {cls.__name__} under another "
                    f"name."
                )
            self._classes[name], self._defaults[name] = cls, defaults
            self._options.clear()
            return cls

        return decorate

    def names(self) -> list[str]:
        """All names, in alphabetical order."""
        importlib.import_module(self._home)
        return sorted(self._classes)

    def get(self, name: str) -> type:
        """The class called ``name``."""
        if name not in self._classes and name not in self.names():
            raise unknown_name(self.kind, name, self.names())
        return self._classes[name]

    def name_of(self, cls: type) -> str | None:
        """What a class is called; None if it is not registered."""
        return next((name for name, each in self._classes.items() if each is cls), None)

    def title(self, spec: ClassSpec) -> str:
        """How papers write it, such as ``DropEdge``; a variant or a user's class has its name."""
        named = self._classes[spec.name] if spec.name in self.names() else None
        same = spec.source is None and getattr(named, "__name__", None) == spec.class_name
        return str(getattr(named, "title", spec.name)) if same else spec.name

    def options(self, cls: type) -> dict[str, Option]:
        """The options of a class: its signature, less what the library gives.

        A parameter whose default is not a plain value, such as an activation module, is not an
        option. Types come from annotations, else from the default. Defaults come from where the
        class was registered, else from the signature, else from where its nearest base was.
        """
        if cls in self._options:  # a grid asks for each of its settings
            return self._options[cls]
        try:
            hints = get_type_hints(cls.__init__)  # type: ignore[misc]
        except Exception:  # an annotation may name what exists only while type checking
            hints = {}
        found: dict[str, Option] = {}
        named_bases = filter(None, map(self.name_of, cls.__mro__))
        inherited = self._defaults.get(next(named_bases, ""), {})
        changed = inherited if self.name_of(cls) else {}
        for name, parameter in inspect.signature(cls).parameters.items():
            named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            default = changed.get(name, parameter.default)
            if default is parameter.empty:
                default = inherited.get(name, default)
            option = Option(name, hints.get(name), default)
            if not named or name in self.given or not (option.required or is_plain(default)):
                continue
            if option.hint is None and not option.required and default is not None:
                option = replace(option, hint=type(default))
            found[name] = option
        self._options[cls] = found
        return found

    def check_options(self, cls: type, name: str, given: Mapping[str, Any]) -> dict[str, Plain]:
        """Options for a class that is called ``name``, converted to their types.

        Raises:
            InputError: If the class has no such option, or its value does not fit.
        """
        options = self.options(cls)
        values: dict[str, Plain] = {}
        for option, value in given.items():
            if option not in options and not takes_any(cls):
                raise unknown_name(f"option of {self.kind} {name!r}", option, options)
            hint = options[option].hint if option in options else None
            values[option] = as_type(f"The option {option} of {name}", value, hint)
        return values

    def make(self, cls: type, options: Mapping[str, Plain], **given: Any) -> Any:
        """An object of a class; of what the library gives it gets what its signature names."""
        names = {*inspect.signature(cls).parameters, *(self.needed if takes_any(cls) else ())}
        taken = {name: value for name, value in given.items() if name in names}
        made = cls(**taken, **options)
        if self.kind == "method":  # one whose signature leaves them out has them all the same
            for name in given.keys() - taken.keys():
                if getattr(made, name, given[name]) is None:
                    setattr(made, name, given[name])
        return made


_NEEDED = ("in_channels", "out_channels")
MODELS = Registry("model", "ifmixup.nn", (*_NEEDED, "edge_dim"), _NEEDED)
METHODS = Registry("method", "ifmixup.augment", ("num_classes", "generator"))
_REGISTRIES = {"model": MODELS, "method": METHODS}

# The user's classes and functions by the target and source of the spec that a run has.
_FOUND: dict[tuple[str, str | None], Any] = {}


@dataclass(frozen=True)
class Component:
    """A model or a method that was found: the class and what it is called with.

    Attributes:
        kind: ``"model"`` or ``"method"``.
        spec: What it is, as plain values.
        cls: The class.
        fixed: The options that make it a variant: no grid, recommendation or shared option
            changes them.
    """

    kind: str
    spec: ClassSpec
    cls: type = field(compare=False)
    fixed: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.spec.name

    def option_names(self) -> list[str]:
        """The options that it takes."""
        return list(_REGISTRIES[self.kind].options(self.cls))

    def takes(self, name: str) -> bool:
        """Whether ``name`` is one of its options, and not fixed."""
        known = name in self.option_names() or takes_any(self.cls)
        return known and name not in self.fixed

    def with_options(self, **changes: Any) -> Component:
        """The same class with other options, checked and converted to their types."""
        values = dict(self.spec.options)
        values |= _REGISTRIES[self.kind].check_options(self.cls, self.name, changes)
        return replace(self, spec=replace(self.spec, options=tuple(sorted(values.items()))))

    def parse_option(self, name: str, text: str) -> Plain:
        """The value that was typed for an option."""
        option = _REGISTRIES[self.kind].options(self.cls).get(name)
        return parse(f"The option {name} of {self.name}", text, option.hint if option else None)

    def build(self, **given: Any) -> Any:
        """An object of the class; of what the library gives it gets what it takes."""
        return build(self.kind, self.spec, **given)


def with_options(component: Any, *, name: str | None = None, **options: Any) -> Component:
    """A model or a method with other options, as a separate variant in a study.

    Args:
        component: A name such as ``"gin"`` or ``"ifmixup"``, a class, or ``"nets.py:Net"``.
        name: Name in tables; by default that of the class.
        **options: The options that differ from the defaults.

    Example:
        >>> with_options("ifmixup", name="wide", alpha=1, beta=1).name
        'wide'
    """
    return _variant(resolve(_kind(component), component), options, name)


def resolve(kind: str, given: Any) -> Component:
    """Find a model or a method.

    Args:
        kind: ``"model"`` or ``"method"``.
        given: A registered name, a class, ``"nets.py:Net"``, ``"package.module:Net"``, one of these
            with options and a name of its own (``"wide=ifmixup(alpha=1,beta=1)"``), or what
            :func:`with_options` gives.

    Raises:
        InputError: If there is no such class, or an option is wrong; the message says what to do.
    """
    registry = _REGISTRIES[kind]
    if isinstance(given, Component):
        if given.kind != kind:
            raise InputTypeError(f"{given.name!r} is a {given.kind}, but a {kind} is needed.")
        return given
    if isinstance(given, type):
        return _described(registry, given, None, registry.name_of(given) or given.__name__)
    if not isinstance(given, str):
        raise InputTypeError(
            f"A {kind} is a name ({', '.join(registry.names())}), a class, or text such as "
            f"'nets.py:Net'; got {type(given).__name__}: {short(given)}."
        )
    label, target, typed = split_text(kind, given)
    if ":" in target:
        cls, stored = load_class(target, kind)
        found = _described(registry, cls, stored, cls.__name__)
    else:
        found = _described(registry, registry.get(target), None, target)
    options = {name: found.parse_option(name, text) for name, text in typed.items()}
    return _variant(found, options, label)


def split_text(kind: str, text: str) -> tuple[str | None, str, dict[str, str]]:
    """The parts of ``"wide=nets.py:Net(alpha=1,beta=1)"``: its name, what it is, its options."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"{text!r} is not a {kind}. Write a name, 'nets.py:Net', or a variant such as "
            f"'wide=ifmixup(alpha=1,beta=1)'."
        )
    target = match["target"].strip()
    if target.endswith(".py"):
        raise InputError(f"{target!r} names a file. Name a class in it, such as '{target}:Net'.")
    options: dict[str, str] = {}
    for part in re.split(r",(?![^\[\]()]*[\])])", match["options"] or ""):
        name, equals, value = part.partition("=")
        if part and not equals:
            raise InputError(
                f"Options are written as name=value, separated by commas; got {part.strip()!r} for "
                f"{target!r}."
            )
        if equals:
            options[name.strip()] = value
    return None if match["label"] is None else match["label"].strip(), target, options


def resolve_all(kind: str, given: Iterable[Any]) -> list[Component]:
    """Several models or methods, each once; two variants need two names.

    ``"all"`` stands for every class that has a name; variants are not among them.
    """
    found: dict[str, Component] = {}
    several = [given] if isinstance(given, str | type | Component) else list(given)
    # The one that others are compared with comes first.
    names = sorted(_REGISTRIES[kind].names(), key=lambda name: name != "none")
    for each in [one for part in several for one in (names if part == "all" else [part])]:
        component = resolve(kind, each)
        if found.setdefault(component.name, component) != component:
            raise InputError(
                f"Two {kind}s are called {component.name!r}. Give one of them another name, such "
                f"as 'other={component.name}(...)' or with_options(..., name='other')."
            )
    return list(found.values())


def set_options(components: Iterable[Component], changes: Mapping[str, Any]) -> list[Component]:
    """Components with the options of ``changes``, each with those that it takes and has not fixed.

    A class with ``**kwargs`` gets those that no signature names.
    """
    given = list(components)
    named = {name for each in given for name in each.option_names()}
    changed = []
    for each in given:
        own = {*each.option_names(), *(changes.keys() - named)}
        taken = {name: changes[name] for name in changes if name in own and each.takes(name)}
        changed.append(each.with_options(**taken))
    return changed


def foreign(spec: ClassSpec) -> bool:
    """Whether a class is the user's."""
    return spec.source is not None


def find_class(kind: str, spec: ClassSpec) -> Any:
    """The class of a spec, if it is ours or was resolved or received in this process; of a user's
    metric the function.

    Raises:
        ComponentError: If the code of the class is not here, or is other code.
    """
    if not foreign(spec):
        if not spec.target.startswith("ifmixup."):
            raise ComponentError(f"{spec.target!r} is not a {kind} of ifmixup.")
        registry = _REGISTRIES[kind]
        for each in registry.names():
            if _target(registry.get(each)) == spec.target:
                return registry.get(each)
        raise unknown_name(kind, spec.class_name, registry.names())
    found = _FOUND.get((spec.target, spec.source))
    if found is None:
        raise ComponentError(
            f"The code of the {kind} {spec.name!r} ({spec.target}) is not loaded. Name it again, "
            f"such as --{kind} {spec.target}, or pass it in Python."
        )
    return found


def build(kind: str, spec: ClassSpec, **given: Any) -> Any:
    """An object of a spec's class, which gets of what is ``given`` what its signature names.

    Raises:
        ComponentError: If the user's class raises; the message has the user's own line.
    """
    cls = find_class(kind, spec)
    options = dict(spec.options)
    with user_code(f"{cls.__name__}({', '.join([*given, *options])})", cls):
        return _REGISTRIES[kind].make(cls, options, **given)


def adopt(spec: ClassSpec, cls: Any) -> None:
    """Use ``cls`` for ``spec`` in this process, such as a worker that was sent it."""
    _FOUND[spec.target, spec.source] = cls


def _kind(component: Any) -> str:
    if isinstance(component, Component):
        return component.kind
    cls = component
    if not isinstance(component, type):
        text = str(component).partition("(")[0].rpartition("=")[2].strip()
        if ":" not in text:
            if text not in (known := [*MODELS.names(), *METHODS.names()]):
                raise unknown_name("model or method", text, known)
            return "model" if text in MODELS.names() else "method"
        cls, _ = load_class(text, "model or method")
    return "method" if _is_method(cls) else "model"


def _is_method(cls: type) -> bool:
    return issubclass(cls, METHODS.get("none"))


def _ours(cls: type | None) -> bool:
    return cls is not None and cls.__module__.split(".")[0] == "ifmixup"


def _variant(found: Component, options: Mapping[str, Any], name: str | None) -> Component:
    changed = replace(found.with_options(**options), fixed=found.fixed | {*options})
    if name is None:
        return changed
    _check_label(name, found.kind)
    return replace(changed, spec=replace(changed.spec, name=name))


def _check_label(name: str, kind: str) -> None:
    if not isinstance(name, str) or not _LABEL.fullmatch(name) or not name.isprintable():
        raise InputError(
            f"{short(name)} is not a name for a {kind}: use up to 60 letters, digits and signs "
            f"other than / \\ = ( )."
        )


def _described(registry: Registry, cls: type, stored: str | None, name: str) -> Component:
    """The component of a class, checked."""
    from torch import nn

    is_model = registry.kind == "model"
    if not issubclass(cls, nn.Module) or _is_method(cls) == is_model:
        base = "torch.nn.Module" if is_model else "ifmixup.augment.Method"
        raise InputTypeError(f"{cls.__name__} is not a {registry.kind}: derive it from {base}.")
    lacking = [each for each in registry.needed if each not in inspect.signature(cls).parameters]
    if lacking and not takes_any(cls):  # type: ignore[arg-type]
        raise InputTypeError(
            f"{cls.__name__}.__init__ takes no {' and no '.join(lacking)}. A model is made as "
            f"{cls.__name__}(in_channels=..., out_channels=..., **options)."
        )
    options = _defaults(registry.options(cls))
    if _ours(cls):
        spec = ClassSpec(name, _target(cls), options, None)
    else:
        spec = ClassSpec(name, stored or _target(cls), options, source_digest(cls))
        adopt(spec, cls)
    return Component(registry.kind, spec, cls)


def check_complete(component: Component, allow: Iterable[str] = ()) -> None:
    """Check that every option without a default was given, or is among ``allow``."""
    given = {*dict(component.spec.options), *allow}
    for option in _REGISTRIES[component.kind].options(component.cls).values():
        if option.required and option.name not in given:
            raise InputError(
                f"The {component.kind} {component.name!r} needs the option {option.name!r}: give "
                f"it a default in the signature, or set it, such as "
                f"'{component.name}({option.name}=...)'."
            )


def _defaults(options: Mapping[str, Option]) -> tuple[tuple[str, Plain], ...]:
    values: dict[str, Plain] = {}
    for name, option in options.items():
        if not option.required:
            try:  # 5 in the signature of a float is 5.0, as it would be if it were set
                values[name] = as_type(name, option.default, option.hint)
            except InputError:  # a default that its own annotation forbids is the user's business
                values[name] = as_type(name, option.default, None)
    return tuple(sorted(values.items()))


def _target(cls: type) -> str:
    """Where a class is: the package for ours, else the module."""
    parts = cls.__module__.split(".")
    return f"{'.'.join(parts[:2] if _ours(cls) else parts)}:{cls.__qualname__}"
