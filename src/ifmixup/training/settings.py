"""Everything that decides how a model is trained, but the data: one source of truth.

The options of the command line, the configuration files, the grid and the store are made from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np
import torch

from ifmixup import augment
from ifmixup.errors import InputError, unknown_name
from ifmixup.nn import MODELS

NORMS = ("batch", "exact", "none")
_MODEL_OPTIONS = {"gat": ("heads",), "gatv2": ("heads",), "gin": ("use_edge_attr",)}


@dataclass(frozen=True)
class Settings:
    """How one model is trained with one method.

    Attributes:
        model: gcn (with skip connections), gin, gat or gatv2.
        method: What happens to the training graphs: none, ifmixup, mixup_graph, drop_edge,
            drop_node, attribute_masking.
        epochs: How many epochs; see steps_per_epoch for what an epoch is.
        learning_rate: The initial learning rate of AdamW.
        halve_every: The learning rate is halved every so many epochs.
        weight_decay: The weight decay of AdamW.
        batch_size: How many graphs a step.
        hidden: The width of every layer.
        layers: The number of layers.
        dropout: Dropout after the dense layer.
        readout: From nodes to a graph: mean, sum or max.
        norm: batch for batch norm in every layer, or none. exact is batch norm whose statistics are
            measured anew after every epoch, with the weights that it ended with.
        jk: last classifies the last layer; sum puts a head on every layer (jumping knowledge).
        steps_per_epoch: None: an epoch is a pass over the data. A number: so many random batches
            (the GIN reference takes 50).
        heads: Attention heads (gat, gatv2).
        use_edge_attr: Whether the model reads edge attributes (gin). Unlike node features they are
            not standardised: numbers should be of the size of one.
        alpha: λ ~ Beta(alpha, beta) (ifmixup, mixup_graph).
        beta: See alpha.
        p: The probability that a graph is mixed (ifmixup, mixup_graph).
        ratio: pair draws a λ a pair, batch a λ a batch (ifmixup, mixup_graph).
        pairing: random, same-size or self (ifmixup).
        shuffle_every: New node orders of the partner every so many epochs; None: never (ifmixup).
        drop_ratio: The fraction that is dropped (drop_edge, drop_node).
        mask_ratio: The fraction of nodes that are masked (attribute_masking).
    """

    model: str = "gcn"
    method: str = "none"
    epochs: int = 350
    learning_rate: float = 0.01
    halve_every: int = 50
    weight_decay: float = 0.0
    batch_size: int = 32
    hidden: int = 64
    layers: int = 5
    dropout: float = 0.5
    readout: str = "sum"
    norm: str = "batch"
    jk: str = "last"
    steps_per_epoch: int | None = None
    heads: int = 1
    use_edge_attr: bool = False
    alpha: float = 20.0
    beta: float = 1.0
    p: float = 1.0
    ratio: str = "pair"
    pairing: str = "random"
    shuffle_every: int | None = None
    drop_ratio: float = 0.2
    mask_ratio: float = 0.2

    def __post_init__(self) -> None:
        for field in fields(self):  # the same value is the same run, whatever its type was
            value = _as_type(field.name, getattr(self, field.name), _types()[field.name])
            object.__setattr__(self, field.name, value)
        if self.model not in MODELS:
            raise unknown_name("model", self.model, MODELS)
        if self.norm not in NORMS:
            raise unknown_name("norm", self.norm, NORMS)
        for name in ("epochs", "halve_every", "batch_size", "hidden", "layers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1; got {getattr(self, name)}.")
        if self.steps_per_epoch is not None and self.steps_per_epoch < 1:
            raise InputError(f"steps_per_epoch must be at least 1; got {self.steps_per_epoch}.")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise InputError(
                f"learning_rate must be above 0 and weight_decay at least 0; got "
                f"{self.learning_rate} and {self.weight_decay}."
            )
        if self.use_edge_attr and "use_edge_attr" not in _MODEL_OPTIONS.get(self.model, ()):
            readers = [name for name, taken in _MODEL_OPTIONS.items() if "use_edge_attr" in taken]
            raise InputError(
                f"The model {self.model!r} does not read edge attributes (use_edge_attr). "
                f"{' and '.join(readers)} does; or leave use_edge_attr out."
            )
        augment.create(self.method, **self.method_options())  # says what is wrong with its options
        with torch.device("meta"):  # without memory, and without drawing from anyone's generator
            MODELS[self.model](1, self.hidden, 1, 1, **self.model_options())

    def method_options(self) -> dict[str, Any]:
        """The options that the method takes."""
        if self.method not in augment.names():
            raise unknown_name("method", self.method, augment.names())
        taken = inspect.signature(augment.get(self.method)).parameters
        return {name: value for name, value in asdict(self).items() if name in taken}

    def model_options(self) -> dict[str, Any]:
        """The options that the model takes, but its widths and edge attributes."""
        options = {key: getattr(self, key) for key in ("dropout", "readout", "norm", "jk")}
        if self.norm == "exact":  # the same model; what is exact is up to the training
            options["norm"] = "batch"
        if "heads" in _MODEL_OPTIONS.get(self.model, ()):
            options["heads"] = self.heads
        return options

    def relevant(self) -> dict[str, Any]:
        """The settings that make a difference to this model and method, by name.

        Two settings that agree here give the same numbers, so that this is what a run is known by.
        """
        values = asdict(self)
        every_method = {
            name
            for method in augment.names()
            for name in inspect.signature(augment.get(method)).parameters
        }
        every_model = {name for names in _MODEL_OPTIONS.values() for name in names}
        mine = {*self.method_options(), *_MODEL_OPTIONS.get(self.model, ())}
        return {
            name: value
            for name, value in values.items()
            if name in mine or name not in every_method | every_model
        }

    def with_(self, **changes: Any) -> Settings:
        """A copy with other values; a name that is not known is answered with the nearest one."""
        known = [field.name for field in fields(self)]
        for name in changes:
            if name not in known:
                raise unknown_name("setting", name, known)
        return replace(self, **changes)

    @staticmethod
    def of(values: Mapping[str, Any]) -> Settings:
        """Settings from a mapping, such as a configuration file, and defaults for the rest."""
        return Settings().with_(**values)


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Settings)


def _as_type(name: str, value: Any, hint: Any) -> Any:
    """``value`` as the type of its setting: 0 and 0.0 are the same dropout; 2.5 epochs are none."""
    if isinstance(value, np.generic):
        value = value.item()
    allowed = get_args(hint) or (hint,)
    if type(value) in allowed:
        return value
    if float in allowed and type(value) is int:
        return float(value)
    names = " or ".join("None" if kind is type(None) else kind.__name__ for kind in allowed)
    raise InputError(f"{name} must be {names}; got {value!r}.")
