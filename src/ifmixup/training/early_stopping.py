"""The weights of the best epoch, and when to stop looking for better ones."""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any

from ifmixup.errors import InputError
from ifmixup.training.task import Score, validation_score
from ifmixup.training.trainer import Trainer


class BestWeights:
    """Keeps the weights of the epoch that was best on the validation graphs.

    Args:
        patience: After so many epochs without a better one it is :attr:`over`; None for never.

    Attributes:
        epoch: The best epoch so far, counted from 1.
        waited: How many epochs ago that was.
        restored: Whether the model has the best weights, and is not trained any more.
    """

    def __init__(self, patience: int | None = None) -> None:
        if patience is not None and (not isinstance(patience, Integral) or patience < 1):
            raise InputError(
                f"patience must be a whole number of epochs, at least 1, or None; got {patience!r}."
            )
        self.patience = patience
        self.score: Score | None = None
        self.epoch = 0
        self.waited = 0
        self.weights: dict[str, Any] = {}
        self.latest: dict[str, dict[str, float]] = {}
        self.restored = False

    @property
    def over(self) -> bool:
        """Whether the training is to stop."""
        return self.restored or (self.patience is not None and self.waited >= self.patience)

    def update(self, trainer: Trainer) -> None:
        """Keep the weights if the epoch that was just trained is the best so far."""
        score = validation_score(trainer.curves, trainer.higher_is_better)
        if self.score is None or score > self.score:
            self.score, self.epoch = score, trainer.epoch
            self.weights = copy.deepcopy(trainer.model.state_dict())
            self.latest = {name: dict(values) for name, values in trainer.latest.items()}
        self.waited = trainer.epoch - self.epoch

    def restore(self, trainer: Trainer) -> None:
        """Set the model to the best weights, and the latest metrics to those of that epoch."""
        if not self.restored:
            trainer.model.load_state_dict(self.weights)
            trainer.latest = self.latest
        self.weights, self.restored = {}, True

    def state_dict(self) -> dict[str, Any]:
        """As tensors and plain values."""
        return {name: value for name, value in vars(self).items() if name != "patience"}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where :meth:`state_dict` was taken."""
        vars(self).update({name: state[name] for name in self.state_dict()})
