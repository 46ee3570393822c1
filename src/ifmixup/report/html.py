"""HTML from untrusted values: all text is escaped here. A section of the page is made of it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ifmixup.report.chart import Grid


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A section of the page: a heading, under it text, tables and charts, and the sections below.

    Its name is for links: small letters, digits and hyphens.
    """

    name: str
    title: str
    parts: Sequence[Html | Grid]
    below: Sequence[Section] = ()

    @property
    def grids(self) -> list[Grid]:
        """The charts."""
        return [part for part in self.parts if isinstance(part, Grid)]


@dataclass(frozen=True)
class Entry:
    """An entry of a table."""

    text: str
    classes: str = ""  # of CSS: constants of ours, never text from a file
    tint: float | None = None  # how strongly it is coloured, from 0 to 1
    columns: int = 1  # that it spans


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
    """Paragraphs in small print."""
    return Html("".join(element("p", text, class_="note") for text in texts))


def legend(colours: Iterable[tuple[str, str]]) -> Html:
    """A list of names, each after a square of its colour."""
    items = [element("li", element("i", style=f"background:{colour}"), n) for n, colour in colours]
    return element("ul", *items, class_="legend")


def plot(caption: str, name: str, *below: Html, wide: bool = False, **attributes: str) -> Html:
    """A framed plot that the page's script draws in the element with the id ``name``.

    The attributes, such as ``aria_label``, are those of that element; ``below`` follows it.
    """
    drawn = element("div", class_="plot", id=name, role="img", **attributes)
    frame = "panel wide" if wide else "panel"
    return element("figure", element("figcaption", caption), drawn, *below, class_=frame)


def table(head: Sequence[Entry], groups: Iterable[Sequence[Sequence[Entry]]], caption: str) -> Html:
    """A table that scrolls sideways if it is wider than the screen, and then shows that it does;
    screen readers get the caption.

    Its rows are in groups; an entry of class ``name`` is the head of its row.
    """
    parts = [("thead", "th", [head]), *(("tbody", "td", rows) for rows in groups)]
    bodies = [
        element(part, *(element("tr", *(_entry(e, kind, len(row)) for e in row)) for row in rows))
        for part, kind, rows in parts
    ]
    inner = element("table", element("caption", caption, class_="quiet"), *bodies)
    wide = element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)
    hint = element("p", "↔ scrolls sideways", class_="hint", aria_hidden="true")
    return Html(element("div", wide, class_="frame") + hint)


def json_script(value: Any, **attributes: str) -> Html:
    """Values for a script to read, in an element that no value can close."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return element("script", Html(text), type="application/json", **attributes)


def slug(text: str) -> str:
    """Text as a name for links and files."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "unnamed"


def _entry(entry: Entry, name: str, in_row: int) -> Html:
    heading = name == "th" or "name" in entry.classes.split()
    scope = "col" if name == "th" else "row"
    if name == "td" and in_row == 1:  # the title of a group
        scope = "rowgroup"
    return element(
        "th" if heading else "td",
        entry.text,
        class_=entry.classes or None,
        scope=scope if heading else None,
        style=None if entry.tint is None else f"--tint:{entry.tint:.2f}",
        colspan=str(entry.columns) if entry.columns > 1 else None,
    )
