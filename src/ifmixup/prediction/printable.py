"""Text of a file that nobody vouches for, made safe to show."""

from __future__ import annotations


def printable(value: object, most: int = 200) -> str:
    """``value`` as one line of at most ``most`` signs, none of which a terminal would obey."""
    text = str(value)
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(sign if sign.isprintable() else "?" for sign in short)
