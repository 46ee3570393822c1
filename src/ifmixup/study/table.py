"""Numbers as text, and a table as Markdown, LaTeX or for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from ifmixup.study.statistics import Difference
from ifmixup.training.task import is_fraction

if TYPE_CHECKING:
    from rich.table import Column
    from rich.table import Table as RichTable

UNKNOWN = "–"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "*": "$^*$",
    "λ": r"$\lambda$",
    "×": r"$\times$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


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

    def latex(self) -> str:
        r"""As a ``tabular`` that needs ``\usepackage{booktabs}``; notes are comments."""
        lines = [f"% {_one_line(text)}" for text in (self.title, *self.notes) if text]
        columns = "l" * self.names + "r" * (len(self.head) - self.names)
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
        lines += [" & ".join(map(escape_latex, self.head)) + r" \\", r"\midrule"]
        for i, row in enumerate(self.rows):
            texts = [escape_latex(text) for text in row]
            texts = [rf"\textbf{{{t}}}" if (i, j) in self.bold else t for j, t in enumerate(texts)]
            lines += [r"\midrule"] * (i in self.rules)
            lines.append(" & ".join(texts) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def grouped_table(
    columns: Iterable[Column],
    rows: Iterable[tuple[tuple[str, ...], Iterable[str], str]],
    notes: str,
    title: str | None = None,
) -> RichTable:
    """A table for a terminal: rows, each with its group, cells and style, stand together under a
    line that names their group.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(
        *columns,
        title=title,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        caption=Text(notes),
        caption_justify="left",
    )
    last = None
    for group, cells, style in rows:
        if group != last:
            if last is not None:
                table.add_section()
            table.add_row(*(Text(name, style="bold") for name in group))
            last = group
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table


def escape_markdown(text: str) -> str:
    """Text in which Markdown finds nothing to obey."""
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", _one_line(text))


def escape_latex(text: str) -> str:
    """Text in which LaTeX finds nothing to obey."""
    return "".join(_LATEX.get(sign, sign) for sign in _one_line(text))


def metric_text(metric: str, value: float, size: float, *, sign: bool = False) -> str:
    """A number of a metric: a fraction in per cent, an error with the decimals ``size`` needs."""
    if is_fraction(metric):
        return percent(value, sign=sign)
    return number(value, size, sign=sign)


def difference_text(found: Difference, metric: str = "accuracy", size: float = math.nan) -> str:
    """A difference and its 95 % interval: ``+1.2 [−0.4, +2.8]``; a fraction is written in points,
    another metric with the decimals that ``size`` needs, such as the mean itself.
    """
    mean, low, high = (
        metric_text(metric, value, size, sign=True) for value in (found.mean, found.low, found.high)
    )
    if math.isnan(found.low):  # one fold, or the same difference on all
        return f"{mean} [{UNKNOWN}]"
    return f"{mean} [{low}, {high}]"


def percent(value: float, *, sign: bool = False) -> str:
    """A fraction in per cent with one decimal, rounded to the nearest.

    Halves go to the even digit of the decimal number that a person sees: 0.8935 is 89.4, though
    the computer's 0.8935 is a little less. A rounded zero has no sign.
    """
    if not math.isfinite(value):
        return UNKNOWN
    exact = Decimal(repr(float(value))) * 100
    rounded = exact.quantize(Decimal("0.1"), rounding=ROUND_HALF_EVEN)
    if rounded == 0:
        return "0.0"
    before = "−" if rounded < 0 else "+" if sign else ""
    return f"{before}{abs(rounded)}"


def number(value: float, size: float, *, sign: bool = False) -> str:
    """A number with as many decimals as ``size`` needs to show three digits that count.

    A mean, its deviation and a difference to it are then written alike.
    """
    if not math.isfinite(value):
        return UNKNOWN
    large = math.floor(math.log10(abs(size))) if math.isfinite(size) and size else 0
    text = f"{abs(value):.{max(0, 2 - large)}f}"
    if not float(text):
        return text
    return f"{'−' if value < 0 else '+' if sign else ''}{text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
