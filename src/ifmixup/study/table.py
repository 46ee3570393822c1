"""A table as Markdown, LaTeX or for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ifmixup.study.numbers import INTERVAL
from ifmixup.study.numbers import UNKNOWN as UNKNOWN
from ifmixup.study.numbers import percent as percent

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "*": r"\rlap{$^*$}",
    "λ": r"$\lambda$",
    "Δ": r"$\Delta$",
    "ρ": r"$\rho$",
    "²": "$^2$",
    "→": r"$\to$",
    "×": r"$\times$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_NUMBER = re.compile(r"([+−]?)(\d+)(?:\.(\d+))?")
_NAME = 16  # how wide names are before they are wrapped
_GAP = "   "  # between items of a stacked row


@dataclass(frozen=True)
class Table:
    """Texts in rows, for a README or a paper."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1  # so many columns are names, to the left; the others are numbers, to the right
    title: str = ""
    notes: Sequence[str] = ()  # what must be read with it
    bold: Collection[tuple[int, int]] = ()  # the (row, column) that stand out
    rules: Collection[int] = ()  # the rows that a line is drawn above
    prose: Collection[str] = ()  # the columns that LaTeX leaves out: a paper says these in words

    def markdown(self) -> str:
        """As Markdown; texts are escaped."""
        sides = [":--"] * self.names + ["--:"] * (len(self.head) - self.names)
        lines = [[escape_markdown(text) for text in self.head], sides]
        for i, row in enumerate(self.rows):
            texts = [escape_markdown(text) for text in row]
            lines.append([f"**{t}**" if (i, j) in self.bold else t for j, t in enumerate(texts)])
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        title = [f"## {escape_markdown(self.title)}\n"] if self.title else []
        return "\n".join([*title, table, *(f"{escape_markdown(note)}\n" for note in self.notes)])

    def latex(self, name: Callable[[str], str] = str) -> str:
        r"""As a ``tabular`` that needs ``\usepackage{booktabs}``; notes are comments.

        The numbers of a column stand under each other by their decimal points: they are padded
        with ``\phantom`` digits. Of a cell in bold its first number is. ``name`` says how papers
        write what stands in the columns of names.
        """
        shown = [j for j, head in enumerate(self.head) if head not in self.prose]
        names = [j for j in shown if j < self.names]
        lines = [f"% {_one_line(text)}" for text in (self.title, *self.notes) if text]
        columns = "l" * len(names) + "r" * (len(shown) - len(names))
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
        lines += [" & ".join(escape_latex(self.head[j]) for j in shown) + r" \\", r"\midrule"]
        cells: dict[int, list[str]] = {}
        for j in shown:
            column = [row[j] for row in self.rows]
            bold = {i for i, at in self.bold if at == j}
            if j in names:
                cells[j] = [escape_latex(name(text)) for text in column]
                cells[j] = [rf"\textbf{{{t}}}" if i in bold else t for i, t in enumerate(cells[j])]
            else:
                cells[j] = _aligned(column, bold)
        for i in range(len(self.rows)):
            lines += [r"\midrule"] * (i in self.rules)
            lines.append(" & ".join(cells[j][i] for j in shown) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


@dataclass(frozen=True)
class TerminalRow:
    """A row for a terminal: the group that it stands under, one text per column, and a style."""

    group: Sequence[str]
    cells: Sequence[str]
    style: str = ""


@dataclass(frozen=True)
class TerminalTable:
    """A table for a terminal of any width: nothing of it is ever cropped.

    Rows stand under a line that names their group. Where the columns do not fit side by side, each
    row is stacked: its name, and right of it what each column has.

    Attributes:
        head: The titles of the columns; a line break is one in the terminal, too.
        rows: The rows.
        notes: What must be read with it.
        title: Above it.
        wraps: The columns whose texts may take several lines.
        left: The columns whose texts are to the left.
    """

    head: Sequence[str]
    rows: Sequence[TerminalRow]
    notes: str = ""
    title: str | None = None
    wraps: Collection[int] = field(default=frozenset())
    left: Collection[int] = field(default=frozenset())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        room = options.max_width - 2 * (len(self.head) - 1)
        least = self._widths(wrapped=True)
        if sum(least) <= room:
            yield self._side_by_side(self._lowest(least, self._widths(wrapped=False), room))
        else:
            yield self._stacked(options.max_width)
        if self.notes:
            yield Text(self.notes, style="italic")

    def _widths(self, *, wrapped: bool) -> list[int]:
        """How wide its columns are, side by side, where texts that may wrap do so or not."""
        from rich.cells import cell_len

        widths = []
        for j, title in enumerate(self.head):
            texts = [*title.split("\n"), *(row.cells[j] for row in self.rows)]
            named = min(_NAME, max(map(cell_len, texts))) if j == 0 else 0
            if wrapped and j in self.wraps:
                texts = [word for text in texts for word in text.split()]
            texts += [row.group[j] for row in self.rows if j < len(row.group)]
            widths.append(max(named, *map(cell_len, texts)))
        return widths

    def _lowest(self, least: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
        """Widths with which the table has the fewest lines: the first column, which is often the
        widest, gets more or less of the room, and the others share the rest.
        """
        most = min(wanted[0], least[0] + room - sum(least))
        return min(
            (
                _shared([first, *least[1:]], [first, *wanted[1:]], room)
                for first in range(most, least[0] - 1, -1)
            ),
            key=lambda widths: sum(
                max(_lines(row.cells[j], widths[j]) for j in (0, *self.wraps)) for row in self.rows
            ),
        )

    def _side_by_side(self, widths: Sequence[int]) -> RichTable:
        from rich.text import Text

        table = self._empty()
        for j, (title, width) in enumerate(zip(self.head, widths, strict=True)):
            table.add_column(
                Text(title),
                no_wrap=j not in self.wraps,
                width=width,  # Rich would make columns narrower than their least, and crop the last
                overflow="fold",
                justify="left" if j in self.left else "right",
            )
        for group, rows in self._groups():
            if group:
                table.add_row(*(Text(name, style="bold") for name in group))
            for row in rows:
                table.add_row(*(Text(cell, style=row.style) for cell in row.cells))
            table.add_section()
        return table

    def _stacked(self, width: int) -> RichTable:
        from rich.cells import cell_len
        from rich.text import Text

        named = [text for row in self.rows for text in (row.cells[0], *row.group[:1])]
        first = max(map(cell_len, named), default=0)
        first = max(8, min(first, width // 3))
        titles = [" ".join(title.replace(INTERVAL, "").split()) for title in self.head]
        table = self._empty()
        table.add_column(Text(titles[0]), width=first, overflow="fold")
        table.add_column("", overflow="fold")
        for group, rows in self._groups():
            if group:
                table.add_row(Text(group[0], style="bold"), Text("  ".join(group[1:]), "bold"))
            for row in rows:
                items = [
                    f"{title} {cell}"
                    for title, cell in zip(titles[1:], row.cells[1:], strict=True)
                    if cell
                ]
                text = "\n".join(_packed(items, width - first - 2))
                table.add_row(Text(row.cells[0], style=row.style), Text(text, style=row.style))
            table.add_section()
        return table

    def _empty(self) -> RichTable:
        from rich import box
        from rich.table import Table as RichTable

        return RichTable(
            title=self.title,
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),  # and one of the box: two between columns
        )

    def _groups(self) -> list[tuple[Sequence[str], list[TerminalRow]]]:
        """The rows, those of one group together."""
        found: list[tuple[Sequence[str], list[TerminalRow]]] = []
        for row in self.rows:
            if not found or found[-1][0] != row.group:
                found.append((row.group, []))
            found[-1][1].append(row)
        return found


def escape_markdown(text: str) -> str:
    """Text in which Markdown finds nothing to obey."""
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", _one_line(text))


def escape_latex(text: str) -> str:
    """Text in which LaTeX finds nothing to obey."""
    return "".join(_LATEX.get(sign, sign) for sign in _one_line(text))


def _shared(least: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
    """Widths of at least ``least`` and at most ``wanted``, which share what is left of ``room``."""
    widths = list(least)
    left = room - sum(widths)
    for j in sorted(range(len(widths)), key=lambda j: wanted[j] - least[j]):
        waiting = sum(wanted[k] > widths[k] for k in range(len(widths)))
        more = min(wanted[j] - widths[j], left // waiting if waiting else 0)
        widths[j] += more
        left -= more
    return widths


def _lines(text: str, width: int) -> int:
    """How many lines a text takes whose words all fit into the width."""
    return len(_packed(text.split(), width, gap=" "))


def _packed(items: Iterable[str], width: int, gap: str = _GAP) -> list[str]:
    """Items in as few lines as they fit into; one that is longer has lines of its own."""
    from rich.cells import cell_len

    lines: list[str] = []
    for item in items:
        if lines and cell_len(lines[-1]) + len(gap) + cell_len(item) <= width:
            lines[-1] += gap + item
        else:
            lines.append(item)
    return lines


def _aligned(column: Sequence[str], bold: Collection[int]) -> list[str]:
    """The cells of a column of numbers for LaTeX, padded to stand under each other."""
    parts = [list(_NUMBER.finditer(text)) for text in column]
    widest = max(map(len, parts), default=0)
    sizes = []  # of the n-th numbers: whether one has a sign, digits before and after the point
    for n in range(widest):
        there = [found[n].groups("") for found in parts if len(found) == widest]
        sizes.append(tuple(max(len(group[k]) for group in there) for k in range(3)))
    return [
        _padded(text, found, sizes if len(found) == widest else [], i in bold)
        for i, (text, found) in enumerate(zip(column, parts, strict=True))
    ]


def _padded(
    text: str, found: Sequence[re.Match[str]], sizes: Sequence[tuple[int, ...]], bold: bool
) -> str:
    out, at = "", 0
    for n, match in enumerate(found):
        sign, whole, decimals = match.groups("")
        made = escape_latex(match[0])
        if n == 0 and bold:
            made = rf"\textbf{{{made}}}"
        if n < len(sizes):
            signs, before, after = sizes[n]
            left = before - len(whole)
            made = rf"\phantom{{{'+' * (signs > len(sign))}{'0' * left}}}{made}"
            missing = after - len(decimals)
            made += rf"\phantom{{{'.' * (missing == after)}{'0' * missing}}}" if missing else ""
            made = made.replace(r"\phantom{}", "")
        out += escape_latex_part(text[at : match.start()]) + made
        at = match.end()
    rest = escape_latex_part(text[at:])
    return rf"\textbf{{{rest}}}" if bold and not found else out + rest


def escape_latex_part(text: str) -> str:
    """As :func:`escape_latex`, for a part of a line: spaces at its ends stay."""
    return "".join(_LATEX.get(sign, sign) for sign in text.replace("\n", " "))


def _one_line(text: str) -> str:
    return " ".join(text.split())
