"""HTML from values that nobody vouches for: whatever is text is escaped here."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True)
class Entry:
    """An entry of a table.

    Attributes:
        text: What it says.
        classes: CSS classes: our own words, never those of a file.
        tint: How strongly it is coloured, from 0 to 1.
        rows: How many lines it spans.
        columns: How many columns it spans.
    """

    text: str
    classes: str = ""
    tint: float | None = None
    rows: int = 1
    columns: int = 1


def escape(text: str) -> Html:
    """Text as HTML; what is HTML already stays as it is."""
    return text if isinstance(text, Html) else Html(html.escape(text))


def element(name: str, *children: str, **attributes: str | None) -> Html:
    """An element; ``class_`` is its class, and an attribute that is None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{''.join(map(escape, children))}</{name}>")


def notes(texts: Iterable[str]) -> Html:
    """Small print."""
    return Html("".join(element("p", text, class_="note") for text in texts))


def table(
    heads: Sequence[Sequence[Entry]], groups: Iterable[Sequence[Sequence[Entry]]], caption: str
) -> Html:
    """A table that scrolls sideways where it is wider than the screen.

    Args:
        heads: The lines of its head.
        groups: Its lines, group by group; an entry of class ``name`` is the head of its line.
        caption: What it is, for those who hear it.
    """
    head = element("thead", *(element("tr", *(_entry(e, "th") for e in row)) for row in heads))
    bodies = [
        element("tbody", *(element("tr", *(_entry(e, "td") for e in row)) for row in rows))
        for rows in groups
    ]
    inner = element("table", element("caption", caption, class_="quiet"), head, *bodies)
    return element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _entry(entry: Entry, name: str) -> Html:
    heading = name == "th" or "name" in entry.classes.split()
    scope = "col" if name == "th" else "row"
    if name == "td" and entry.columns > 1:
        scope = "rowgroup"
    return element(
        "th" if heading else "td",
        entry.text,
        class_=entry.classes or None,
        scope=scope if heading else None,
        style=None if entry.tint is None else f"--tint:{entry.tint:.2f}",
        rowspan=str(entry.rows) if entry.rows > 1 else None,
        colspan=str(entry.columns) if entry.columns > 1 else None,
    )


def json_script(value: Any, **attributes: str) -> Html:
    """Values for a script to read, as an element that nothing in them can close."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return element("script", Html(text), type="application/json", **attributes)


def slug(text: str) -> str:
    """Text as a name for links and files."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "unnamed"
