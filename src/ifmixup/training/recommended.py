"""Where a training starts from: settings and options that are known to do well on a dataset."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ifmixup.components import METHODS, Component, foreign, set_options
from ifmixup.training.edge_attributes import with_edge_attr
from ifmixup.training.known_data import kind_of, known_settings, papers_dataset
from ifmixup.training.packed import PackedDataset
from ifmixup.training.settings import Settings, setting_types
from ifmixup.values import Plain


@dataclass(frozen=True)
class Recommendation:
    """Where a training starts from, with model and method in their recommended options, and where
    that comes from, in words.
    """

    settings: Settings
    model: Component
    method: Component
    origin: str = "the defaults"


def recommended(data: PackedDataset, model: Component, method: Component) -> Recommendation:
    """What is recommended for the paper's datasets and for molecules, and our models; for all else
    the defaults.

    A dataset is known by its graphs, not by its name, and molecules by the columns of their
    features. Options that the user has set stay as they are.
    """
    name, file = model.spec.class_name, known_settings()
    known = papers_dataset(data)
    if known is None:
        return recommended_for_kind(data, model, method)
    if foreign(model.spec) or name not in file["models"]:
        return Recommendation(Settings(), model, method)
    by_hand = file["models"][name]
    found = known.get(name, {})
    options = {**by_hand["options"], **found.get("options", {})}
    settings = Settings.of({**by_hand["settings"], **found.get("settings", {})})
    ratio = found.get("ratio", {})
    return Recommendation(
        settings,
        set_options([model], options)[0],
        set_options([method], ratio)[0] if _draws_as_ifmixup(method, ratio) else method,
        f"recommended for {data.name} and {name}",
    )


def recommended_for_kind(
    data: PackedDataset, model: Component, method: Component
) -> Recommendation:
    """What is recommended for graphs of a kind, such as molecules, whichever they are; for all else
    the defaults.
    """
    name, kind = model.spec.class_name, kind_of(data)
    found = known_settings()["kinds"].get(kind, {}).get(name)
    if found is None or foreign(model.spec):
        return Recommendation(Settings(), model, method)
    return Recommendation(
        Settings.of(found["settings"]),
        set_options([model], found["options"])[0],
        method,
        f"recommended for {kind} and {name}",
    )


def _draws_as_ifmixup(method: Component, ratio: Mapping[str, Any]) -> bool:
    """Whether a method has ifmixup's ratio, which is what was searched; others keep their own."""
    own, known = (METHODS.options(cls) for cls in (method.cls, METHODS.get("ifmixup")))
    same = all(name in own and own[name].default == known[name].default for name in ratio)
    return same and all(map(method.takes, ratio))


def starting_point(
    data: PackedDataset,
    model: Component,
    method: Component,
    changes: Mapping[str, Any] | None = None,
    *,
    settings: Settings | None = None,
) -> Recommendation:
    """What is :func:`recommended`, with what the user has set, and every setting decided.

    Args:
        changes: Settings and options by name, which come before what is recommended. An option
            goes to the model, the method, or both, where they have it; a variant that was given
            it with :func:`~ifmixup.components.with_options` keeps its own.
        settings: The settings to start from instead of those that are recommended.
    """
    changes = changes or {}
    own = {name: value for name, value in changes.items() if name in setting_types()}
    options = {name: value for name, value in changes.items() if name not in own}
    start = recommended(data, model, method)
    changed_model, changed_method = set_options([start.model, start.method], options)
    base = with_edge_attr((settings or start.settings).with_(**own), model.spec, data)
    return Recommendation(base, changed_model, changed_method, start.origin)


def decided(
    starts: Sequence[Recommendation], leave_out: Collection[str] = ()
) -> tuple[dict[str, Plain], list[str]]:
    """Every setting and option of some trainings by name, as one configuration file has them.

    Returns what is the same wherever it is an option, and lines that say what is not, and where the
    values come from. What a variant sets itself, or is among the names to ``leave_out``, is not in
    it.
    """
    values: dict[str, dict[str, Plain]] = {}  # by name and by whose it is
    fixed: set[str] = set()
    for start in starts:
        own = {"": start.settings.to_dict()}
        for each in (start.model, start.method):
            fixed |= set(each.fixed)
            own[each.name] = dict(each.spec.options)
        for owner, several in own.items():
            for name, value in several.items():
                values.setdefault(name, {})[owner or start.model.name] = value
    said = [f"Settings of {start.model.name}: {start.origin}." for start in starts]
    shared: dict[str, Plain] = {}
    for name, by_owner in values.items():
        different = list(dict.fromkeys(map(repr, by_owner.values())))
        value = next(iter(by_owner.values()))
        if name in leave_out or value is None or isinstance(value, tuple):
            continue
        if len(different) == 1 and name not in fixed:
            shared[name] = value
        elif len(different) > 1:
            listed = ", ".join(f"{who} {value}" for who, value in by_owner.items())
            said.append(f"Not set below, because it differs: {name} ({listed}).")
    return shared, list(dict.fromkeys(said))
