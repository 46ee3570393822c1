"""The commands that a study was made with, a line each, beside its runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from ifmixup.study.database import explained

FILE_NAME = "commands.txt"
MAX_BYTES = 1_000_000
OF_THE_MACHINE = ("--folder", "--root", "--workers", "--address", "--device")


def note_command(folder: Path, words: Sequence[str]) -> None:
    """Add a command to those of a study, unless it is there.

    Args:
        folder: The study's folder.
        words: What was typed. Options that say where things are on this machine are left out: they
            change no number.
    """
    line = shlex.join(_without(words, OF_THE_MACHINE))
    if line in noted_commands(folder):
        return
    path = folder / FILE_NAME
    with explained(path), path.open("a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")


def noted_commands(folder: Path) -> list[str]:
    """The commands of a study, first to last; none where nobody noted any."""
    path = folder / FILE_NAME
    if not path.is_file():
        return []
    with explained(path), path.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(MAX_BYTES).splitlines()


def _without(words: Sequence[str], options: Iterable[str]) -> list[str]:
    """The words without these options and the one value that each takes."""
    kept: list[str] = []
    skip = False
    for word in words:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif name in options:
            skip = not equals
        else:
            kept.append(word)
    return kept
