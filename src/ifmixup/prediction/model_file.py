"""A trained model in an untrusted file: read, every part checked, and built again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ifmixup.components import (
    ClassSpec,
    Component,
    build,
    check_complete,
    find_class,
    foreign,
    resolve,
)
from ifmixup.data import FeatureEncoder
from ifmixup.data.dataset import TASKS, check_metric
from ifmixup.data.saved_graphs import is_stored
from ifmixup.errors import CheckpointError, ComponentError, InputError
from ifmixup.safe_io import printable
from ifmixup.training.checkpoint import load_checkpoint
from ifmixup.training.scaling import Scaling
from ifmixup.training.settings import Settings


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds, checked: see :class:`~ifmixup.training.checkpoint.Checkpoint`."""

    path: Path
    about: dict[str, Any]
    data: dict[str, Any]
    settings: Settings
    model: ClassSpec
    method: ClassSpec
    weights: dict[str, Tensor]
    scaling: Scaling
    epochs: int  # that it was trained
    chosen: int | None = None  # the epoch of the weights, where validation graphs chose it
    network: nn.Module | None = None  # on the CPU, where the model is one of ifmixup

    def build(self, model: Any = None) -> nn.Module:
        """The model with its weights, on the CPU.

        A class of ifmixup is known by its name. A class of the user's is named again, such as
        ``"nets.py:Net"``, unless this process knows it already; the file never makes Python import
        anything. Its options are those in the file.
        """
        if model is None and self.network is not None:
            return self.network
        try:
            spec = self._resolved(model)
        except (ComponentError, InputError) as error:
            raise CheckpointError(f"{self.path}: {printable(error, 500)}") from error
        with _damaged(self.path):
            return _checked_model(spec, self.settings, self.data, self.weights)

    def _resolved(self, given: Any) -> ClassSpec:
        """The class to build, with the options of the file."""
        spec = self.model
        if given is None:
            try:
                cls = find_class("model", spec)
            except ComponentError as error:
                target = printable(spec.target)
                raise ComponentError(
                    f"its model is {printable(spec.class_name)} from your own code, which a model "
                    f"file does not contain. Name the class: --model {target} for ifmixup "
                    f"predict, model={target!r} or the class itself for Predictor.load."
                ) from error
            return _with_options(spec, cls)
        found = resolve("model", given)
        if found.spec.identity[::2] != spec.identity[::2]:  # the name of the class and its code
            warnings.warn(
                f"{self.path} was trained with {_named(spec)}; {_named(found.spec)} has different "
                f"code. The weights are used if they fit.",
                stacklevel=4,
            )
        found = found.with_options(**dict(spec.options))
        check_complete(found)
        return found.spec


def read_model_file(path: Path) -> ModelFile:
    """Read a checkpoint as a model. No class of the user's is needed for that."""
    checkpoint = load_checkpoint(path)
    about, state = checkpoint.about, checkpoint.state
    with _damaged(path):
        data = _checked_data(about["data"])
        settings = Settings.of(about["settings"])
        model, method = ClassSpec.of(about["model"]), ClassSpec.of(about["method"])
        for values in (settings.to_dict(), dict(model.options), dict(method.options)):
            _check_numbers(values)
        weights = _checked_weights(state["model"])
        scaling = _checked_scaling(data, state["scaling"])
        epochs = state["epoch"]
        _require(count_of(epochs) is not None, f"its epoch is {epochs!r}")
        network = None
        if not foreign(model):
            model = _with_options(model)
            network = _checked_model(model, settings, data, weights)
    best = state.get("best")
    chosen = None
    if isinstance(best, dict) and best.get("restored") is True:
        chosen = count_of(best.get("epoch"))
    return ModelFile(
        path, about, data, settings, model, method, weights, scaling, epochs, chosen, network
    )


def build_model(
    spec: ClassSpec, settings: Settings, data: Mapping[str, Any], *, empty: bool = False
) -> nn.Module:
    """A model as a training on ``data`` makes it, on the CPU; its weights are to be replaced.

    An ``empty`` one has no memory for its weights: for classes of ifmixup, which have nothing else.
    """
    with torch.random.fork_rng(), torch.device("meta" if empty else "cpu"):
        model: nn.Module = build(
            "model",
            spec,
            in_channels=data["num_features"],
            out_channels=data["num_outputs"],
            edge_dim=data["edge_dim"] if settings.use_edge_attr else None,
        )
    return model


def _checked_model(
    spec: ClassSpec, settings: Settings, data: dict[str, Any], weights: dict[str, Tensor]
) -> nn.Module:
    """The model with its weights, if they are those of such a model.

    Options are numbers in a file, and a small file must not make us build a large model. So widths
    and depths are compared with the weights first, and building it stops as soon as it takes much
    more than the weights in the file.
    """
    ours = not foreign(spec)
    # A user's option may be another kind of number, such as a seed.
    largest = max(len(weights), *(max(value.shape, default=1) for value in weights.values()))
    bound = largest if ours else max(largest, 1_000_000)
    for option, value in spec.options:
        small = not isinstance(value, int) or value <= bound
        _require(small, f"its {option} is {value}, but its weights are smaller")
    with _Bounded(weights):
        model = build_model(spec, settings, data, empty=ours)
    wanted = model.state_dict()
    more = [name for name in weights if name not in wanted]
    _require(not more, f"it has weights that its model does not have: {more[:3]}")
    for name, expected in wanted.items():
        _require(name in weights, f"the weights {name} are missing")
        given = weights[name]
        lazy = nn.parameter.is_lazy(expected)  # it takes the shape of the weights
        _require(
            given.dtype == expected.dtype and (lazy or given.shape == expected.shape),
            f"the weights {name} are {given.dtype} {list(given.shape)}, not {expected.dtype} "
            f"{'of any shape' if lazy else list(expected.shape)}",
        )
    # A user's class may keep -inf in a buffer.
    for name in wanted if ours else dict(model.named_parameters()):
        _require(bool(weights[name].isfinite().all()), f"{name} is not finite")
    if not ours:
        model.load_state_dict(weights)
        return model
    # Only now copied: many may share the memory of one, and each would get its own.
    memory = [value.untyped_storage() for value in weights.values()]
    held = sum({each.data_ptr(): each.nbytes() for each in memory}.values())
    needed = sum(value.numel() * value.element_size() for value in weights.values())
    _require(needed <= held, "its weights are larger than the file")
    model.load_state_dict({name: weights[name].clone() for name in wanted}, assign=True)
    return model


class _Bounded(TorchDispatchMode):
    """Stop the building of a model that is much larger than the weights it is to get."""

    makes = ("empty", "zeros", "ones", "full", "rand", "new_", "repeat", "eye", "arange", "lin")

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.tensors = 1_000 + 20 * len(weights)
        self.numbers = 50_000_000 + 8 * sum(value.numel() for value in weights.values())

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Called for every operation of torch, before it takes memory."""
        name = func.__name__
        if name.startswith(self.makes) and "_like" not in name:
            sizes = [each for each in args if isinstance(each, list | tuple)]
            sizes = sizes or [[each] for each in args if isinstance(each, int)]
            self.tensors -= 1
            self.numbers -= max((abs(math.prod(size)) for size in sizes), default=1)
            if self.tensors < 0 or self.numbers < 0:
                raise CheckpointError("its options ask for a larger model than its weights are.")
        return func(*args, **(kwargs or {}))


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the parts of a file into an error that names the file."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        problem: object = f"it has no {error}." if isinstance(error, KeyError) else error
        if isinstance(error, ComponentError):  # of the user's class, or of our bounds on it
            problem = error.__cause__
            if not isinstance(problem, CheckpointError):
                raise CheckpointError(f"{path}: {printable(error, 500)}") from error
        message = f"{path} is a damaged model file: {printable(problem, 500)}"
        raise CheckpointError(message) from error


def count_of(value: Any, least: int = 0, below: int = 2**63) -> int | None:
    """A count in an untrusted file; None where it is not a count that anything can have.

    Python's integers are unbounded, but printing one of thousands of digits is an error.
    """
    return value if type(value) is int and least <= value < below else None


def _checked_data(data: Any) -> dict[str, Any]:
    """What the file tells about its data, as far as a model depends on it."""
    _require(isinstance(data, dict), "it does not say what it was trained on")
    for name in ("num_features", "num_outputs", "edge_dim"):
        fits = count_of(data[name], 1, 2**31) is not None
        without = name == "edge_dim" and data[name] is None
        _require(fits or without, f"its {name} is {data[name]!r}")
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


def _with_options(spec: ClassSpec, cls: type | None = None) -> ClassSpec:
    """A model whose options are checked against the signature of its class."""
    found = Component("model", spec, cls or find_class("model", spec))
    return found.with_options(**dict(spec.options)).spec


def _check_numbers(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        number = isinstance(value, int | float)
        _require(not number or abs(value) < 2**63, f"its {name} is too large a number")


def _checked_weights(weights: Any) -> dict[str, Tensor]:
    _require(isinstance(weights, dict) and len(weights) > 0, "it has no weights")
    for name, value in weights.items():
        _require(isinstance(name, str), "its weights have no names")
        _require(isinstance(value, Tensor), f"the weights {printable(name)} are not a tensor")
        _require(is_stored(value), f"{printable(name)} is larger than the file")
    return weights


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
        _require(is_stored(value), f"{name} is larger than the file")
        _require(bool(value.isfinite().all()), f"{name} is not finite")
        _require(not name.endswith("std") or bool((value > 0).all()), f"its {name} is not positive")
    return scaling


def _named(spec: ClassSpec) -> str:
    """A class and its code, for people."""
    code = "" if spec.source is None else f", code {spec.source[:8]}"
    return printable(f"{spec.class_name} ({spec.target}{code})")


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise CheckpointError(f"{problem}.")
