"""The command line: one small file a command, no logic."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import tyro

from ifmixup.cli.audit import audit
from ifmixup.cli.datasets import datasets
from ifmixup.errors import IfmixupError

DESCRIPTION = "Mix pairs of graphs to regularise graph classifiers, and see whether it helps."

COMMANDS: dict[str, Callable[..., int]] = {"datasets": datasets, "audit": audit}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of ours is a line on stderr and exit code 2, not a traceback."""
    try:
        return tyro.extras.subcommand_cli_from_dict(
            COMMANDS, prog="ifmixup", description=DESCRIPTION, args=arguments
        )
    except IfmixupError as error:
        print(f"ifmixup: {error}", file=sys.stderr)
        return 2
