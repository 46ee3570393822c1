"""The code blocks of a page, which the tests run.

How a page is written for it:

- A block of ``python`` is run; the blocks of a page share one namespace, first to last.
- Lines of a block of ``sh``, ``bash`` or ``console`` (there after ``$``) are commands.
- A block of ``text`` right under one of these is what it prints; ``...`` stands for anything.
- A block of ``toml``, ``csv`` or ``python`` whose first line is ``# NAME`` is a file called NAME,
  without that line, for what follows; Python is also run.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace

SHELLS = ("sh", "bash", "console")
FILES = ("toml", "csv")
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: The first word after the fence, ``{name}`` for a directive.
        text: What stands in it.
        line: The line of the page on which its text begins, from 1.
        output: What it prints, where the page says so.
        after: Whether nothing but empty lines stands between the block before and this one.
    """

    language: str
    text: str
    line: int
    output: str | None = None
    after: bool = False


def find_blocks(markdown: str) -> list[Block]:
    """All fenced blocks of a page, each with the output that stands under it."""
    found: list[Block] = []
    for block in _fenced(markdown):
        prints = bool(found) and found[-1].language in ("python", *SHELLS)
        if prints and block.language == "text" and block.after and found[-1].output is None:
            found[-1] = replace(found[-1], output=block.text)
        else:
            found.append(block)
    return found


def _fenced(markdown: str) -> Iterator[Block]:
    opened: re.Match[str] | None = None
    start, after = 0, False
    inside: list[str] = []
    for number, line in enumerate(markdown.splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence is not None:
                opened, start, inside = fence, number + 1, []
            elif line.strip():
                after = False
        elif fence is not None and _closes(fence, opened):
            words = opened["info"].split()
            text = textwrap.dedent("\n".join(inside))
            yield Block(words[0] if words else "", text, start, after=after)
            opened, after = None, True
        else:
            inside.append(line)
    if opened is not None:
        raise ValueError(f"The block that begins on line {start - 1} has no end.")


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    same = fence["fence"][0] == opened["fence"][0]
    return same and len(fence["fence"]) >= len(opened["fence"]) and not fence["info"].strip()


def commands(block: Block) -> list[str]:
    """The commands of a shell block, a line each, without comments and prompts."""
    text = block.text.replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    bare = (shlex.join(shlex.split(line, comments=True)) for line in lines)
    return [line for line in bare if line]


def file_of(block: Block) -> tuple[str, str] | None:
    """The name and the text of the file that a block is; None for a block that only shows."""
    first, _, rest = block.text.partition("\n")
    name = re.fullmatch(r"# ([\w.-]+\.\w+)", first)
    if block.language not in (*FILES, "python") or name is None:
        return None
    return name[1], f"{rest}\n"


def matches(expected: str, printed: str) -> bool:
    """Whether ``printed`` is what a page says; ``...`` stands for anything, more lines too."""
    want, have = (_tidy(text) for text in (expected, printed))
    pattern = ".*".join(re.escape(part) for part in want.split("..."))
    return re.fullmatch(pattern, have, re.DOTALL) is not None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
