"""How to train the best of a study on all graphs: a command, or a line of Python."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median_low
from typing import Any

from ifmixup.components import METHODS, MODELS, ClassSpec, Registry, foreign
from ifmixup.data.frames import is_frame, is_smiles
from ifmixup.study.protocols import needs_validation
from ifmixup.study.rows import Row
from ifmixup.study.study import Candidate, Study
from ifmixup.training.edge_attributes import asks_for_edge_attr
from ifmixup.training.known_data import known_settings
from ifmixup.training.settings import Settings, setting_types

MODEL_FILE = "model.pt"
_READING = ("smiles", "label", "identifier", "task", "features", "root")  # options of a source
_STUDIES_LABELS = ("train_share", "label_noise")  # settings that no model is deployed with


def chosen_candidate(row: Row) -> Candidate:
    """The setting that was chosen on most folds; of several the one that has the most values in
    common with what all folds chose, then the first of the grid.
    """
    candidates = row.trial.candidates
    counts = Counter(choice.candidate for choice in row.reading.chosen.values())
    if not counts:
        return candidates[0]
    most = max(counts.values())
    values = {each: candidates[each].values() for each in counts}

    def in_common(index: int) -> int:
        same = {i: sum(values[i].get(n) == v for n, v in values[index].items()) for i in counts}
        return sum(count * same[i] for i, count in counts.items())

    tied = sorted(index for index, count in counts.items() if count == most)
    return candidates[max(tied, key=in_common)]


def chosen_epochs(row: Row) -> int:
    """How long to train: the median of the epochs that validation chose, else all."""
    epochs = [choice.epoch for choice in row.reading.chosen.values()]
    return (
        median_low(epochs) if epochs and needs_validation(row.trial.protocol) else row.trial.epochs
    )


def train_line(study: Study, row: Row, config: Mapping[str, Any] | None = None) -> str:
    """The command that trains a trial on all graphs, for a study of ``ifmixup compare``; a line of
    Python for one of :func:`ifmixup.compare`; empty for an experiment of the paper, and for
    several labels from Python.
    """
    options = study.config if config is None else config
    if "experiment" in options:
        return ""
    if "source" in options:
        return _command(row, options)
    if options.get("task") == "labels":  # which no estimator takes
        return ""
    return _python(study, row)


def _command(row: Row, config: Mapping[str, Any]) -> str:
    candidate = chosen_candidate(row)
    words = ["ifmixup", "train", str(config["source"])]
    words += ["--model", _typed(row.trial.model, config.get("models", ()))]
    words += ["--method", _typed(row.trial.method, config.get("methods", ()))]
    values = candidate.values()
    searched = [
        name
        for name in values
        if len({repr(each.values().get(name)) for each in row.trial.candidates}) > 1
    ]
    given = [name for name in values if name in config and name not in _STUDIES_LABELS]
    chosen = {name: values[name] for name in dict.fromkeys([*given, *searched])}
    chosen["epochs"] = chosen_epochs(row)
    chosen |= {name: config[name] for name in _READING if config.get(name) is not None}
    if config.get("strict"):
        words.append("--strict")
    if config.get("seed"):
        chosen["seed"] = config["seed"]
    for name, value in chosen.items():
        dashed = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{dashed}")
        elif value is not None:
            many = value if isinstance(value, list | tuple) else [value]
            words += [f"--{dashed}", *map(str, many)]
    return shlex.join([*words, "--split", "all", "--save", MODEL_FILE])


def _typed(name: str, given: Any) -> str:
    """How a model or a method was named on the command line."""
    for text in given if isinstance(given, list | tuple) else ():
        before, equals, _ = str(text).partition("=")
        label = before if equals and "(" not in before else str(text).partition("(")[0]
        if label.rpartition(":")[2].strip() == name:
            return str(text)
    return name


def _python(study: Study, row: Row) -> str:
    candidate = chosen_candidate(row)
    origin = study.origins.get(row.trial.name, "")
    of_kind = _of_kind(origin, candidate.model)  # where the estimator starts from
    defaults = Settings.of(of_kind["settings"]).to_dict()
    parts = [_class(candidate.model), _class(candidate.method), f"epochs={chosen_epochs(row)}"]
    parts += [
        f"{name}={value!r}"
        for name, value in candidate.settings.to_dict().items()
        if name in setting_types()
        and name not in ("epochs", "use_edge_attr", *_STUDIES_LABELS)
        and value != defaults[name]
    ]
    reads = candidate.settings.use_edge_attr
    # An estimator reads edge attributes wherever there are some: what did not read them says so.
    if reads or (
        reads is False and (foreign(candidate.model) or asks_for_edge_attr(candidate.model))
    ):
        parts.append(f"use_edge_attr={reads}")
    for registry, spec in ((MODELS, candidate.model), (METHODS, candidate.method)):
        known = _defaults(registry, spec)
        if registry is MODELS:
            known |= of_kind["options"]
        parts += [
            f"{registry.kind}__{name}={value!r}"
            for name, value in spec.options
            if name not in known or known[name] != value
        ]
    kind = "GraphRegressor" if study.of_values else "GraphClassifier"
    graphs = study.config.get("graphs", "graphs")
    return f"model = ifmixup.{kind}({', '.join(parts)}).fit({graphs})"


def python_source(dataset: Any, **reading: Any) -> str:
    """What :func:`ifmixup.compare` was given, as an expression of Python: for a name or a file one
    that loads it, without the folder of an absolute path, which is that of one machine. What is in
    memory has a name that only the user knows: ``frame``, ``smiles``, ``labels`` or ``graphs``.
    """
    if isinstance(dataset, str | os.PathLike):
        path = os.fspath(dataset)
        source = repr(Path(path).name if Path(path).is_absolute() else path)
    elif is_frame(dataset):
        source = "frame"
    elif is_smiles(dataset):
        source = "smiles"
    else:
        return "graphs"
    given = [source]
    for name, value in reading.items():
        if value is not None:
            plain = isinstance(value, str) or name != "label"
            given.append(f"{name}={value!r}" if plain else f"{name}=labels")
    return f"ifmixup.data.load({', '.join(given)})"


def _of_kind(origin: str, model: ClassSpec) -> dict[str, dict[str, Any]]:
    """What is recommended for the kind of graphs that settings are from, such as molecules."""
    for kind, models in known_settings()["kinds"].items():
        if origin.startswith(f"recommended for {kind} and") and model.class_name in models:
            found: dict[str, dict[str, Any]] = models[model.class_name]
            return found
    return {"settings": {}, "options": {}}


def _class(spec: ClassSpec) -> str:
    """A class as Python names it: ours by its name, the user's by itself."""
    if spec.source is not None:
        return spec.class_name
    registries = (MODELS, METHODS)
    names = [n for r in registries for n in r.names() if r.get(n).__name__ == spec.class_name]
    return repr(names[0] if names else spec.name)


def _defaults(registry: Registry, spec: ClassSpec) -> dict[str, Any]:
    """The defaults of a class of ours; of the user's, whose code is not imported, none."""
    if spec.source is not None:
        return {}
    names = [name for name in registry.names() if registry.get(name).__name__ == spec.class_name]
    options = registry.options(registry.get(names[0])) if names else {}
    return {name: option.default for name, option in options.items()}
