"""``ifmixup report``: one page that shows what studies found."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import tyro

from ifmixup.cli.plain_console import PlainConsole
from ifmixup.report.report import report as write_report


def report(
    studies: Annotated[tuple[Path, ...], tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("report.html"),
    figures: Path | None = None,
    tables: Path | None = None,
) -> int:
    """Write what studies found as one HTML file that works without a network.

    Args:
        studies: Folders that ifmixup reproduce or ifmixup compare ran into.
        output: Where the page goes.
        figures: A folder for the figures as png and svg.
        tables: A folder for the tables as Markdown and LaTeX.
    """
    # By their names: where folders lie on a machine is nobody's business.
    command = shlex.join(["ifmixup", "report", *(path.resolve().name for path in studies)])
    written = write_report(studies, output, figures=figures, tables=tables, command=command)
    console = PlainConsole()
    console.print(f"Saved as {output}")
    if len(written) > 1:
        console.print(f"and {len(written) - 1} more files")
    return 0
