"""A console for text that comes from files."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from ifmixup.safe_io import printable_lines


class PlainConsole(Console):
    """Shows text as it is: neither Rich nor the terminal obeys anything that stands in it.

    To Rich ``mol[v2].csv`` is markup and ``:key:`` a picture; to a terminal an escape code is a
    command. Lines are not wrapped, so that what is printed can be searched and copied.

    Args:
        stderr: Print there instead.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table or another thing of Rich's keeps its styles and is wrapped."""
        if any(not isinstance(each, str) for each in objects):
            options.setdefault("soft_wrap", False)
        shown = (printable_lines(each) if isinstance(each, str) else each for each in objects)
        super().print(*shown, **options)
