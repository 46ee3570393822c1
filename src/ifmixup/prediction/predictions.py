"""Predictions for the rows of a source: one a row, in its order, with what was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor

from ifmixup.data.load import Part
from ifmixup.errors import InputError
from ifmixup.prediction.predictor import BATCH_SIZE, Predictor


@dataclass(frozen=True)
class Prediction:
    """What a model says of one row.

    Attributes:
        id: The row's identifier.
        output: C probabilities, T probabilities or T values; None where the row has no graph.
        problem: Why there is no output, or what makes it doubtful.
    """

    id: str
    output: list[float] | None
    problem: str | None = None

    @property
    def best(self) -> int | None:
        """The number of the most probable class."""
        return None if self.output is None else self.output.index(max(self.output))


def predictions(
    predictor: Predictor,
    parts: Iterable[Part],
    *,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
) -> Iterator[Prediction]:
    """Predict the rows of a source; no more than a part of it is in memory.

    Each part is checked before anything of it is computed.

    Args:
        predictor: The trained model.
        parts: What :func:`~ifmixup.data.load.read_in_parts` gives.
        batch_size: How many graphs are computed at once.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
    """
    seen = 0
    for part in _explained(parts, predictor):
        predictor.check_encoder(part.encoder)
        graphs = predictor.prepared(part.graphs, seen)
        seen += len(graphs)
        doubts = iter([predictor.doubt(graph) for graph in graphs])
        outputs = _rows(predictor.answer(graphs, batch_size, device=device))
        for name, problem in zip(part.ids, part.problems, strict=True):
            if problem is not None:
                yield Prediction(name, None, problem)
            else:
                yield Prediction(name, next(outputs), next(doubts))


def _explained(parts: Iterable[Part], predictor: Predictor) -> Iterator[Part]:
    """The parts; where they cannot be encoded for the model, it is said what the model knows."""
    try:
        yield from parts
    except InputError as error:
        raise InputError(f"{error} {predictor.trained_on()}") from error


def _rows(outputs: Iterable[Tensor]) -> Iterator[list[float]]:
    for output in outputs:
        yield from output.tolist()
