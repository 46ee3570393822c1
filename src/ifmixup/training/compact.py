"""Long sequences of numbers in little memory: the indices of a fold, the curves of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

N = TypeVar("N", int, float)


class Compact(Sequence[N], Generic[N]):
    """Numbers that cannot be changed, and that equal any sequence of the same numbers.

    A list takes 32 bytes or more for each number, and a study has millions of them.

    Args:
        values: A sequence of numbers, or an array, which is shared if it cannot be written.
    """

    __slots__ = ("array",)
    dtype: ClassVar[type]

    def __init__(self, values: Sequence[N] | np.ndarray) -> None:
        if isinstance(values, Compact) and values.array.dtype == self.dtype:
            self.array: np.ndarray = values.array
            return
        is_fixed = isinstance(values, np.ndarray) and not values.flags.writeable
        self.array = (np.asarray if is_fixed else np.array)(values, dtype=self.dtype)
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
    if type(curves) is StoredCurves:  # without making the curve: it is done for every run
        return curves.length(name)
    return len(curves[name]) if name in curves else 0


class StoredCurves(Mapping[str, Curve]):
    """Curves by name, as a store keeps them: their names and lengths as a line of JSON, and the
    bits of all their numbers. A table reads curves of many runs, and decoding text takes most of
    that time.

    Args:
        content: What :meth:`pack` made.

    Raises:
        ValueError: If it is something else.
    """

    __slots__ = ("_numbers", "_parts")

    def __init__(self, content: bytes) -> None:
        end = content.index(b"\n") + 1
        self._parts, total = _layout(content[:end])
        if len(content) - end != 8 * total:
            raise ValueError(f"curves of {total} values do not take {len(content) - end} bytes")
        self._numbers = np.frombuffer(content, "<f8", total, end)

    @staticmethod
    def pack(curves: Mapping[str, Sequence[float]]) -> bytes:
        """The bytes of curves."""
        head = json.dumps([[name, len(values)] for name, values in curves.items()])
        head += " " * ((-len(head) - 1) % 8) + "\n"  # numbers are read faster at multiples of 8
        numbers = [np.asarray(values, "<f8") for values in curves.values()]
        return head.encode() + b"".join(each.tobytes() for each in numbers)

    def __getitem__(self, name: str) -> Curve:
        return Curve(self._numbers[self._parts[name]])

    def length(self, name: str) -> int:
        """The number of values of a curve; 0 where there is none."""
        part = self._parts.get(name)
        return 0 if part is None else part.stop - part.start

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(dict(self))


@lru_cache(maxsize=256)
def _layout(head: bytes) -> tuple[dict[str, slice], int]:
    """Where each curve is, and the number of values of all, once for the many runs of a study."""
    parts: dict[str, slice] = {}
    start = 0
    for name, length in json.loads(head):
        if type(name) is not str or type(length) is not int or length < 0 or name in parts:
            raise ValueError(f"{head[:60]!r} are not names and lengths of curves")
        parts[name] = slice(start, start + length)
        start += length
    return parts, start
