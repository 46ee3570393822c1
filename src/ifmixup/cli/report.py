"""``ifmixup report``: one page that shows what studies found."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import tyro

from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import NO_DEFAULT


def report(
    studies: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="FOLDER ...", help_behavior_hint=""),
    ],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("report.html"),
    figures: Annotated[Path | None, NO_DEFAULT] = None,
    tables: Annotated[Path | None, NO_DEFAULT] = None,
) -> int:
    """Write the results of studies as one HTML file that works without a network.

    Args:
        studies: Folders written by ifmixup compare or ifmixup reproduce.
        output: HTML file to write.
        figures: Folder for the figures as PDF and SVG, as wide as a column or a page.
        tables: Folder for the tables as Markdown and LaTeX.
    """
    from ifmixup.report.report import report as write_report

    # By their names: a page does not tell where folders are on a machine.
    command = shlex.join(["ifmixup", "report", *(path.resolve().name for path in studies)])
    written = write_report(studies, output, figures=figures, tables=tables, command=command)
    console = PlainConsole()
    console.print(f"Saved as {output}")
    if len(written) > 1:
        console.print(f"and {len(written) - 1} more files")
    return 0
