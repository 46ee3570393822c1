"""How long a study will still take."""

from __future__ import annotations

import time
from collections.abc import Callable

from ifmixup.training import RunSpec


class TimeLeft:
    """An estimate from the mean seconds of a run and the number of runs at a time.

    The runs that are under way count by their epochs, so that the estimate is there before the
    first run has finished, and goes down steadily rather than in steps.

    Args:
        total: How many runs there are.
        clock: Tells the time in seconds.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.clock = clock
        self.ended = 0  # well or not
        self.measured = 0  # well: only these say how long a run takes
        self.seconds = 0.0
        self.slots = 1
        # When each run under way began, and the part of its epochs that it told to have done. A
        # display reads this from a thread of its own: pairs are replaced, never changed.
        self._under_way: dict[RunSpec, tuple[float, float]] = {}

    @property
    def running(self) -> int:
        """How many runs are under way."""
        return len(self._under_way)

    def started(self, spec: RunSpec) -> None:
        """A run begins, or begins again."""
        self._under_way[spec] = (self.clock(), 0.0)
        self.slots = max(self.slots, self.running)

    def epoch(self, spec: RunSpec, number: int) -> None:
        """A run has done so many of its epochs."""
        if spec in self._under_way:
            since, _ = self._under_way[spec]
            self._under_way[spec] = (since, min(1.0, number / spec.settings.epochs))

    def finished(self, spec: RunSpec, *, failed: bool) -> None:
        """A run has ended."""
        since, _ = self._under_way.pop(spec, (None, 0.0))
        self.ended += 1
        if since is not None and not failed:
            self.measured += 1
            self.seconds += self.clock() - since

    def left(self) -> float | None:
        """The seconds that are left; None as long as nothing is known."""
        now = self.clock()
        runs = [(now - since, told) for since, told in list(self._under_way.values())]
        # A run that tells no epochs says nothing about its speed before it has finished.
        work = self.measured + sum(told for _, told in runs)
        spent = self.seconds + sum(elapsed for elapsed, told in runs if told)
        if not work or not spent:
            return None
        mean = spent / work
        parts = [told or min(0.95, elapsed / mean) for elapsed, told in runs]
        todo = max(0.0, self.total - self.ended - sum(parts))
        waiting = self.total - self.ended > len(runs)
        # Never less than the run that is furthest from its end, however many slots there are.
        longest = 1.0 if waiting else 1.0 - min(parts, default=1.0)
        return mean * max(todo / self.slots, longest)
