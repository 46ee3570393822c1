"""How every model is trained, whatever the model and the method are: one source of truth.

The options of the command line, configuration files, grids and the store are made from it. What one
model or one method takes is an option of its class; see :mod:`ifmixup.components`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ifmixup.errors import InputError, known_name
from ifmixup.values import Plain, as_type, field_types


@dataclass(frozen=True)
class Settings:
    """How a model is trained.

    Attributes:
        epochs: Number of epochs.
        learning_rate: Initial learning rate of AdamW.
        halve_every: Number of epochs after which the learning rate is halved.
        weight_decay: Weight decay of AdamW.
        batch_size: Number of graphs per batch.
        steps_per_epoch: Number of random batches per epoch (50 in the GIN reference code).
        label_smoothing: Fraction of each class label that is spread over all classes.
        recompute_bn: Recompute the statistics of batch norm after every epoch, with the weights at
            its end.
        train_share: Fraction of the training graphs to train on, for experiments with few labels;
            stratified, and smaller fractions are part of larger ones.
        label_noise: Fraction of the training and validation graphs that get the label of another
            class, for experiments with wrong labels.
        use_edge_attr: Pass edge attributes to the model. By default, if the graphs have them and
            the model reads them (gin does), except on the paper's eight datasets.
    """

    epochs: int = 350
    learning_rate: float = 0.01
    halve_every: int = 50
    weight_decay: float = 0.01
    batch_size: int = 32
    steps_per_epoch: int | None = None
    label_smoothing: float = 0.0
    recompute_bn: bool = False
    train_share: float = 1.0
    label_noise: float = 0.0
    use_edge_attr: bool | None = None

    def __post_init__(self) -> None:
        for name, hint in setting_types().items():  # the same value is the same run
            object.__setattr__(self, name, as_type(name, getattr(self, name), hint))
        for name in ("epochs", "halve_every", "batch_size", "steps_per_epoch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1; got {value}.")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise InputError(
                f"learning_rate must be above 0 and weight_decay at least 0; got "
                f"{self.learning_rate} and {self.weight_decay}."
            )
        for name in ("label_smoothing", "label_noise"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"{name} must be at least 0 and below 1; got {getattr(self, name)}."
                )
        if not 0 < self.train_share <= 1:
            raise InputError(f"train_share must be above 0 and at most 1; got {self.train_share}.")

    def with_(self, **changes: Any) -> Settings:
        """A copy with other values; an unknown name is answered with the nearest one."""
        for name in changes:
            known_name("setting", name, setting_types())
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Plain]:
        """All settings by name."""
        return dict(vars(self))  # which are plain

    @staticmethod
    def of(values: Mapping[str, Any]) -> Settings:
        """Settings from a mapping, such as a configuration file; defaults for the rest."""
        return Settings().with_(**values)


def setting_types() -> dict[str, Any]:
    """The type of each setting, by name, in the order of the class."""
    return field_types(Settings)
