"""Long sequences of numbers in little memory: the indices of a fold, the curves of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from ifmixup.errors import StoreError

if TYPE_CHECKING:
    from torch import Tensor

N = TypeVar("N", int, float)
_NUMBERS: dict[str, float] = {}  # by their JSON
_MOST_NUMBERS = 10_000


class Compact(Sequence[N], Generic[N]):
    """Numbers that cannot be changed, and that equal any sequence of the same numbers.

    A list takes 32 bytes or more for each number, and a study has millions of them.

    Args:
        values: A sequence of numbers, or an array.
    """

    __slots__ = ("array",)
    dtype: ClassVar[type]

    def __init__(self, values: Sequence[N] | np.ndarray) -> None:
        if isinstance(values, Compact) and values.array.dtype == self.dtype:
            self.array: np.ndarray = values.array
            return
        self.array = np.array(values, dtype=self.dtype)
        self.array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[N]:
        return iter(self.array.tolist())

    @overload
    def __getitem__(self, index: int) -> N: ...
    @overload
    def __getitem__(self, index: slice) -> list[N]: ...
    def __getitem__(self, index: int | slice) -> N | list[N]:
        return self.array[index].tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Compact):
            return np.array_equal(self.array, other.array)
        return isinstance(other, Sequence) and self.array.tolist() == list(other)

    def __hash__(self) -> int:
        return hash(self.array.tobytes())

    def __add__(self, other: Sequence[N]) -> Compact[N]:
        return type(self)(np.concatenate([self.array, np.asarray(other, self.dtype)]))

    def __repr__(self) -> str:
        return repr(self.array.tolist())


class Indices(Compact[int]):
    """Indices into a dataset."""

    __slots__ = ()
    dtype = np.int32

    def tensor(self) -> Tensor:
        """As a tensor of torch's index type, ``[n]``."""
        import torch

        return torch.from_numpy(self.array.astype(np.int64))


class Curve(Compact[float]):
    """One value per epoch."""

    __slots__ = ()
    dtype = np.float64


def length_of(curves: Mapping[str, Sequence[float]], name: str) -> int:
    """The number of values of a curve; 0 where there is none."""
    if name not in curves:
        return 0
    return curves.length(name) if isinstance(curves, StoredCurves) else len(curves[name])


class StoredCurves(Mapping[str, Curve]):
    """Curves by name from the JSON of a store, each decoded when it is first asked for.

    Half of the time of reading many runs is in decoding numbers, and a table reads few of them.

    Args:
        content: A JSON object of lists of numbers, without spaces.
        decode: Makes numbers of a list of JSON, or raises.
    """

    __slots__ = ("_curves", "_decode")

    def __init__(self, content: bytes, decode: Callable[[Any], list[float]]) -> None:
        self._decode = decode
        self._curves: dict[str, Curve | str] = {}
        text = content.decode()
        if text[:2] != '{"' or text[-2:] != "]}" or "\\" in text:  # none, or not as we write it
            given = json.loads(text)
            if not isinstance(given, dict):
                raise ValueError(f"{given!r:.60} is not an object of names and lists")
            self._curves = {name: Curve(decode(values)) for name, values in given.items()}
            return
        parts = text[2:-2].split('],"')
        nested = text.count("[") != len(parts) or text.count("{") != 1
        for part in parts:
            name, found, numbers = part.partition('":[')
            if nested or not found or '"' in name:
                raise ValueError(f"{part[:60]!r} is not a list of numbers")
            self._curves[intern(name)] = numbers

    def __getitem__(self, name: str) -> Curve:
        found = self._curves[name]
        if isinstance(found, str):
            found = self._curves[name] = Curve(self._decoded(name, found))
        return found

    def length(self, name: str) -> int:
        """The number of values of a curve, which is decoded only where it has texts or words."""
        found = self._curves[name]
        if isinstance(found, str):
            # One of these is in each text and word of JSON. One by one: it is done for every run.
            words = '"' in found or "u" in found or "l" in found or "a" in found or "I" in found
            if not words:
                return found.count(",") + 1 if found else 0
        return len(self[name])

    def _decoded(self, name: str, text: str) -> list[float]:
        # Accuracies of many runs are few different numbers: looking one up is faster than decoding.
        few = not name.endswith("_loss")
        if few:
            try:
                return [_NUMBERS[number] for number in text.split(",")]
            except KeyError:
                pass
        try:
            values = self._decode(json.loads(f"[{text}]"))
        except ValueError as error:
            raise StoreError(f"The curve {name[:60]!r} of a run cannot be read: {error}") from error
        if few and len(_NUMBERS) < _MOST_NUMBERS:
            _NUMBERS.update(zip(text.split(","), values, strict=True))
        return values

    def __contains__(self, name: object) -> bool:
        return name in self._curves

    def __iter__(self) -> Iterator[str]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)

    def __repr__(self) -> str:
        return repr(dict(self))
