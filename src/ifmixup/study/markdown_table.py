"""A table as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, names: int) -> str:
    """Lines of ``| a | b |``, the first ``names`` columns to the left and the others to the right.

    Texts are taken as they are: who does not know them escapes them.
    """
    sides = [":--"] * names + ["--:"] * (len(head) - names)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, sides, *rows))
