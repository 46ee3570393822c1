"""The command line: one small file a command, no logic."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence

import tyro

from ifmixup.cli import audit, compare, datasets, predict, report, reproduce, runs, show, train
from ifmixup.cli.config import expand_config
from ifmixup.cli.typed_words import TYPED
from ifmixup.errors import IfmixupError
from ifmixup.safe_io import printable_lines
from ifmixup.training.versions import versions

DESCRIPTION = (
    "Mix pairs of graphs to regularise graph classifiers, and see whether it helps. "
    "ifmixup --version says what is installed."
)

COMMANDS: dict[str, Callable[..., int]] = {
    "datasets": datasets.datasets,
    "audit": audit.audit,
    "show": show.show,
    "train": train.train,
    "predict": predict.predict,
    "compare": compare.compare,
    "reproduce": reproduce.reproduce,
    "runs": runs.runs,
    "report": report.report,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of ours is a line on stderr and exit code 2, not a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    TYPED.set(("ifmixup", *words))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name may hold what the terminal's encoding cannot say: no reason to stop half-way.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        if not _reader_has_left():
            raise
        return 1


def _run(words: Sequence[str]) -> int:
    if list(words) == ["--version"]:
        print(", ".join(f"{name} {number}" for name, number in versions().items()))
        return 0
    try:
        return tyro.extras.subcommand_cli_from_dict(
            COMMANDS, prog="ifmixup", description=DESCRIPTION, args=expand_config(words)
        )
    except IfmixupError as error:
        print(f"ifmixup: {printable_lines(error)}", file=sys.stderr)
        return 2


def _reader_has_left() -> bool:
    """Whether nobody reads what is printed any more, as after ``ifmixup runs | head``."""
    try:
        print(flush=True)
    except BrokenPipeError:
        # Python flushes once more at its end, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False
