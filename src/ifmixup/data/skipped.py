"""Lines of a user's file that could not be used: kept, counted and shown, never dropped unseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ifmixup.errors import DatasetError

SHOWN = 10
"""How many skipped lines are listed before the rest is only counted."""

_LONGEST = 60


@dataclass(frozen=True)
class Skipped:
    """One line that was not used.

    Attributes:
        line: Where it stands: the line of a text file or the row of a table, counted from 1.
        text: What stands there, shortened.
        reason: Why it was not used.
        identifier: What the graph would have been called; None where that is not known.
    """

    line: int
    text: str
    reason: str
    identifier: str | None = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.text!r}: {self.reason}"


class Skips:
    """Collects what is skipped while a file is read, or stops at the first.

    Args:
        where: The file, for messages.
        strict: Whether the first line that cannot be used is an error.
    """

    def __init__(self, where: str, strict: bool = False) -> None:
        self.where = where
        self.strict = strict
        self.lines: list[Skipped] = []

    def add(self, line: int, text: str, reason: str, identifier: str | None = None) -> None:
        """Skip a line.

        Raises:
            DatasetError: If nothing may be skipped.
        """
        short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
        skipped = Skipped(line, short, reason, identifier)
        if self.strict:
            raise DatasetError(
                f"{self.where}, {skipped}. Mend the line, or let such lines be skipped: leave out "
                "strict (--strict)."
            )
        self.lines.append(skipped)


def summary(skipped: Sequence[Skipped], most: int = SHOWN) -> list[str]:
    """A line of text for each skipped line in the order of the file, then ``and n more``."""
    ordered = sorted(skipped, key=lambda one: one.line)
    shown = [str(one) for one in ordered[:most]]
    return [*shown, f"and {len(ordered) - most} more"] if len(ordered) > most else shown
