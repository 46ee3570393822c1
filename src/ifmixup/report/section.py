"""A part of the report: a heading, and under it text, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ifmixup.report.chart import Grid
from ifmixup.report.markup import Html


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes:
        name: What links to it are called: small letters, digits and hyphens.
        title: The heading.
        parts: What stands under it, in order.
    """

    name: str
    title: str
    parts: Sequence[Html | Grid]

    @property
    def grids(self) -> list[Grid]:
        """The charts."""
        return [part for part in self.parts if isinstance(part, Grid)]
