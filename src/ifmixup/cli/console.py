"""Printing text that may come from files, and what several commands print."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console

from ifmixup.safe_io import printable_lines

if TYPE_CHECKING:
    from ifmixup.data import GraphDataset
    from ifmixup.study.comparison import Comparison


class PlainConsole(Console):
    """Shows text as it is: neither Rich nor the terminal interprets anything in it.

    To Rich ``mol[v2].csv`` is markup and ``:key:`` a picture; to a terminal an escape code is a
    command. Lines are not wrapped, so they can be searched and copied.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table or another object of Rich's keeps its styles and is wrapped."""
        if any(not isinstance(each, str) for each in objects):
            options.setdefault("soft_wrap", False)
        shown = (printable_lines(each) if isinstance(each, str) else each for each in objects)
        super().print(*shown, **options)


def print_answer(found: Comparison, config: Mapping[str, Any], console: Console) -> None:
    """Print what a study found in plain words, how to train the best model, and its notes.

    The paragraph is wrapped at the width of the terminal; the command is one line, to copy.
    """
    from rich.text import Text

    said, _, command = found.answer(config).partition("\n")
    console.print(Text(printable_lines(f"\n{said}")))
    if command:
        console.print(f"\n  {command}\n")
    for note in found.study.notes:
        console.print(Text(printable_lines(note)))


def print_skipped(dataset: GraphDataset, console: Console) -> None:
    """Print the lines of a source that could not be used."""
    from ifmixup.data.dataset import summary

    for line in summary(dataset.skipped):
        console.print(f"Skipped {line.removeprefix('and ')}")


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    console: Console,
    *,
    left: Collection[str] = (),
) -> None:
    """Print rows of printable text under a head, with one space between columns.

    Columns named in ``left`` start at the left; those that are too long for the terminal are
    folded. Rich's own table takes a millisecond per row, and there may be tens of thousands.
    """
    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    folded = [index for index, name in enumerate(head) if name in left]
    while sum(widths) + len(widths) - 1 > console.width and folded:
        widest = max(folded, key=widths.__getitem__)
        if widths[widest] <= cell_len(head[widest]):
            break
        widths[widest] -= 1
    lines = [_line(head, head, widths, left), ["─" * (sum(widths) + len(widths) - 1)]]
    lines += [_line(row, head, widths, left) for row in rows]
    console.file.write("\n".join(text for line in lines for text in line) + "\n")


def _line(
    cells: Sequence[str], head: Sequence[str], widths: Sequence[int], left: Collection[str]
) -> list[str]:
    """The line of a row, or its lines where a cell is folded."""
    parts = [
        [cell] if cell_len(cell) <= width else chop_cells(cell, width)
        for cell, width in zip(cells, widths, strict=True)
    ]
    lines = []
    for number in range(max(map(len, parts))):
        texts = []
        for part, name, width in zip(parts, head, widths, strict=True):
            text = part[number] if number < len(part) else ""
            texts.append(set_cell_size(text, width) if name in left else text.rjust(width))
        lines.append(" ".join(texts).rstrip())
    return lines
