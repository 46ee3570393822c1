"""The command line: one small file a command, no logic."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence

import tyro

from ifmixup.cli import audit, compare, datasets, predict, report, reproduce, runs, show, train
from ifmixup.cli.config import expand_config
from ifmixup.cli.typed_words import TYPED
from ifmixup.errors import IfmixupError
from ifmixup.printable import printable_lines

DESCRIPTION = "Mix pairs of graphs to regularise graph classifiers, and see whether it helps."

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
        return tyro.extras.subcommand_cli_from_dict(
            COMMANDS, prog="ifmixup", description=DESCRIPTION, args=expand_config(words)
        )
    except IfmixupError as error:
        print(f"ifmixup: {printable_lines(error)}", file=sys.stderr)
        return 2
