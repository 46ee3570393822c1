"""Text that nobody vouches for, such as a file's, made safe to show."""

from __future__ import annotations


def printable(value: object, most: int | None = 200) -> str:
    """``value`` as one line, with a ? for every sign that a terminal would obey.

    Args:
        value: Anything.
        most: The most signs that are shown; None shows all.
    """
    text = str(value)
    short = text if most is None or len(text) <= most else f"{text[: most - 1]}…"
    return "".join(sign if sign.isprintable() else "?" for sign in short)


def printable_lines(value: object) -> str:
    """The same for text of several lines, which stay lines."""
    return "\n".join(printable(line, None) for line in str(value).split("\n"))
