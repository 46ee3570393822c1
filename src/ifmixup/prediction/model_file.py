"""A model in a file that nobody vouches for: read, and every part checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ifmixup.data import FeatureEncoder
from ifmixup.data.dataset import TASKS
from ifmixup.errors import CheckpointError
from ifmixup.nn import MODELS
from ifmixup.nn.model import GraphModel
from ifmixup.prediction.printable import printable
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
    """

    about: dict[str, Any]
    data: dict[str, Any]
    settings: Settings
    model: GraphModel
    scaling: Scaling
    epochs: int


def read_model_file(path: Path) -> ModelFile:
    """Read a checkpoint as a model.

    Raises:
        CheckpointError: If it is not there, none of ours, or its parts do not fit together.
    """
    checkpoint = load_checkpoint(path)
    try:
        data = _checked_data(checkpoint.about["data"])
        settings = Settings.of(checkpoint.about["settings"])
        model = _filled_model(settings, data, checkpoint.state["model"])
        scaling = _checked_scaling(data, checkpoint.state["scaling"])
        epochs = checkpoint.state["epoch"]
        _require(isinstance(epochs, int) and epochs >= 0, f"its epoch is {epochs!r}")
    except KeyError as error:
        problem = f"it has no {error}."
        raise CheckpointError(f"{path} is a damaged model file: {printable(problem)}") from error
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        problem = printable(error, 500)
        raise CheckpointError(f"{path} is a damaged model file: {problem}") from error
    return ModelFile(checkpoint.about, data, settings, model, scaling, epochs)


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


def _filled_model(settings: Settings, data: dict[str, Any], weights: Any) -> GraphModel:
    """The model with its weights, if they are those of such a model."""
    _require(isinstance(weights, dict), "it has no weights")
    # A number in a small file must not make us build without end: each layer has its weights.
    _require(settings.layers <= len(weights), f"it has no {settings.layers} layers")
    model = empty_model(settings, data)
    for name, expected in model.state_dict().items():
        _require(isinstance(weights.get(name), Tensor), f"the weights {name} are missing")
        given = weights[name]
        _require(
            given.shape == expected.shape and given.dtype == expected.dtype,
            f"the weights {name} are {given.dtype} {list(given.shape)}, not {expected.dtype} "
            f"{list(expected.shape)}",
        )
        _check_stored(given, name)
    model.load_state_dict({name: value.clone() for name, value in weights.items()}, assign=True)
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
    stored = tensor.untyped_storage().nbytes()
    _require(stored >= tensor.numel() * tensor.element_size(), f"{name} is larger than the file")
    _require(bool(tensor.isfinite().all()), f"{name} is not finite")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise CheckpointError(f"{problem}.")
