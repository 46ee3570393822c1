"""A model in a file that nobody vouches for: read, and every part checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ifmixup.data import FeatureEncoder
from ifmixup.data.dataset import TASKS, check_metric
from ifmixup.data.saved_graphs import is_stored
from ifmixup.errors import CheckpointError
from ifmixup.nn import MODELS
from ifmixup.nn.graph_model import GraphModel
from ifmixup.safe_io import printable
from ifmixup.training.checkpoint import load_checkpoint
from ifmixup.training.scaling import Scaling
from ifmixup.training.settings import Settings


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds, checked.

    Attributes:
        about: What it says of itself; see :class:`~ifmixup.training.Checkpoint`.
        data: What it was trained on: the part ``data`` of it.
        settings: How it was trained.
        model: The model, on the CPU.
        scaling: What features and values were standardised by, on the CPU.
        epochs: How many epochs it was trained.
        chosen: The epoch that the weights are of, where validation graphs chose it.
    """

    about: dict[str, Any]
    data: dict[str, Any]
    settings: Settings
    model: GraphModel
    scaling: Scaling
    epochs: int
    chosen: int | None = None


def read_model_file(path: Path) -> ModelFile:
    """Read a checkpoint as a model.

    Raises:
        CheckpointError: If it is not there, none of ours, or its parts do not fit together.
    """
    checkpoint = load_checkpoint(path)
    try:
        data = _checked_data(checkpoint.about["data"])
        settings = _checked_settings(checkpoint.about["settings"])
        model = _filled_model(settings, data, checkpoint.state["model"])
        scaling = _checked_scaling(data, checkpoint.state["scaling"])
        epochs = checkpoint.state["epoch"]
        _require(count_of(epochs) is not None, f"its epoch is {epochs!r}")
    except KeyError as error:
        problem = f"it has no {error}."
        raise CheckpointError(f"{path} is a damaged model file: {printable(problem)}") from error
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        problem = printable(error, 500)
        raise CheckpointError(f"{path} is a damaged model file: {problem}") from error
    best = checkpoint.state.get("best")
    chosen = None
    if isinstance(best, dict) and best.get("restored") is True:
        chosen = count_of(best.get("epoch"))
    return ModelFile(checkpoint.about, data, settings, model, scaling, epochs, chosen)


def count_of(value: Any) -> int | None:
    """A count as a file gives it; None where it is no number, or one that nothing has so many of.

    Python's integers have no end, but writing one of thousands of digits is an error.
    """
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if fits else None


def empty_model(settings: Settings, data: dict[str, Any]) -> GraphModel:
    """A model of the right shapes that takes no memory yet: its weights are to be assigned."""
    options = settings.model_options()
    if settings.use_edge_attr:
        options["edge_dim"] = data["edge_dim"]
    with torch.device("meta"):
        return MODELS[settings.model](
            data["num_features"], settings.hidden, settings.layers, data["num_outputs"], **options
        )


def _checked_data(data: Any) -> dict[str, Any]:
    """What the file says of its data, as far as a model depends on it."""
    _require(isinstance(data, dict), "it does not say what it was trained on")
    for name in ("num_features", "num_outputs"):
        _require(_is_count(data[name]), f"its {name} is {data[name]!r}")
    _require(data["edge_dim"] is None or _is_count(data["edge_dim"]), "its edge_dim is no number")
    _require(data["task"] in TASKS, f"its task is {data['task']!r}")
    _require(isinstance(data["metric"], str), f"its metric is {data['metric']!r}")
    check_metric(data["metric"], data["task"])
    names = data["class_names"]
    _require(
        names is None
        or (
            (isinstance(names, list) and len(names) == data["num_outputs"])
            and all(isinstance(name, str) for name in names)
        ),
        "its class names do not fit its outputs",
    )
    if data["encoder"] is not None:
        width = FeatureEncoder.of(data["encoder"]).num_features
        _require(
            width == data["num_features"],
            f"its encoder makes {width} features, and its model takes {data['num_features']}",
        )
    return data


def _checked_settings(values: Any) -> Settings:
    settings = Settings.of(values)
    for name, value in settings.relevant().items():
        number = isinstance(value, int | float)
        _require(not number or abs(value) < 2**63, f"its {name} is not a number to train with")
    return settings


def _filled_model(settings: Settings, data: dict[str, Any], weights: Any) -> GraphModel:
    """The model with its weights, if they are those of such a model."""
    _require(isinstance(weights, dict), "it has no weights")
    # A number in a small file must not make us build without end: each layer has its weights.
    _require(settings.layers <= len(weights), f"it has no {settings.layers} layers")
    model = empty_model(settings, data)
    wanted = model.state_dict()
    more = [name for name in weights if name not in wanted]
    _require(not more, f"it has weights that its model has not: {more[:3]}")
    for name, expected in wanted.items():
        _require(isinstance(weights.get(name), Tensor), f"the weights {name} are missing")
        given = weights[name]
        _require(
            given.shape == expected.shape and given.dtype == expected.dtype,
            f"the weights {name} are {given.dtype} {list(given.shape)}, not {expected.dtype} "
            f"{list(expected.shape)}",
        )
        _check_stored(given, name)
    # Only now copied: many may share the memory of one, and would each get their own.
    memory = [weights[name].untyped_storage() for name in wanted]
    there = sum({each.data_ptr(): each.nbytes() for each in memory}.values())
    needed = sum(weights[name].numel() * weights[name].element_size() for name in wanted)
    _require(needed <= there, "its weights are larger than the file")
    model.load_state_dict({name: weights[name].clone() for name in wanted}, assign=True)
    return model


def _checked_scaling(data: dict[str, Any], values: Any) -> Scaling:
    scaling = Scaling.of(values)
    widths = {"x": data["num_features"], "y": data["num_outputs"]}
    for name, value in scaling.to_dict().items():
        _require(
            isinstance(value, Tensor)
            and value.shape == (widths[name[0]],)
            and value.is_floating_point(),
            f"its scaling {name} does not fit",
        )
        _check_stored(value, name)
        _require(not name.endswith("std") or bool((value > 0).all()), f"its {name} is not positive")
    return scaling


def _check_stored(tensor: Tensor, name: str) -> None:
    """See that all numbers of a tensor are in the file: one may pretend to be many."""
    _require(is_stored(tensor), f"{name} is larger than the file")
    _require(bool(tensor.isfinite().all()), f"{name} is not finite")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise CheckpointError(f"{problem}.")
