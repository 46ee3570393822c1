"""The report of studies: a page, and the same tables and figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ifmixup.errors import InputError, import_extra
from ifmixup.paper.main_table import main_table
from ifmixup.paper.table import lines
from ifmixup.report.explorer import explorer
from ifmixup.report.html import Section, slug
from ifmixup.report.matplotlib_chart import draw
from ifmixup.report.page import page
from ifmixup.report.save import save_figure, save_text
from ifmixup.report.sections.calibration import calibration
from ifmixup.report.sections.experiment_table import experiment_table
from ifmixup.report.sections.figure_bars import figure_bars
from ifmixup.report.sections.graph_sizes import graph_sizes
from ifmixup.report.sections.learning_curves import learning_curves
from ifmixup.report.sections.origin import origin
from ifmixup.report.sections.paired_dots import paired_dots
from ifmixup.report.sections.statistics import statistics
from ifmixup.report.sections.summary import summary
from ifmixup.report.studies import Studies, gather
from ifmixup.report.table_files import to_latex, to_markdown

_UNDER_A_TABLE = (figure_bars, paired_dots, learning_curves, calibration)


def report(
    folders: Sequence[Path],
    output: Path,
    *,
    figures: Path | None = None,
    tables: Path | None = None,
    command: str = "",
) -> list[Path]:
    """Write the report of the studies in ``folders``.

    Args:
        folders: Folders of ``ifmixup reproduce`` or ``ifmixup compare``.
        output: The page; a file of HTML that works without a network.
        figures: A folder for the figures as png and svg; made where it is missing.
        tables: A folder for the tables as Markdown and LaTeX; made where it is missing.
        command: What the report was asked for with, to be written in it.

    Returns:
        The files that were written.
    """
    import_extra("plotly", "report")
    if figures is not None:
        import_extra("matplotlib", "plot")
    if not output.parent.is_dir():
        raise InputError(f"The folder {str(output.parent)!r} does not exist. Make it first.")
    studies = gather(folders, command)
    found = sections(studies)
    save_text(page(", ".join(studies.names), _lead(studies), found), output)
    written = [output]
    if tables is not None:
        written += save_tables(studies, _folder(tables))
    if figures is not None:
        each = [part for section, below in found for part in (section, *below)]
        written += _save_figures(each, _folder(figures))
    return written


def sections(studies: Studies) -> list[tuple[Section, list[Section]]]:
    """The sections of the page, each with those that stand under it."""
    first = summary(studies)
    found: list[tuple[Section, list[Section]]] = [] if first is None else [(first, [])]
    for experiment in studies.experiments:
        own = experiment_table(studies, experiment)
        if own is not None:
            below = (make(studies, experiment) for make in _UNDER_A_TABLE)
            found.append((own, [section for section in below if section is not None]))
    rest = (statistics(studies), graph_sizes(studies), explorer(), origin(studies))
    return found + [(section, []) for section in rest if section is not None]


def save_tables(studies: Studies, folder: Path) -> list[Path]:
    """Write the table of each experiment as Markdown and LaTeX, and the main one."""
    written = []
    if any(cell.experiment in ("gcn", "gin") for cell in studies.cells):
        written.append(folder / "main.md")
        save_text(f"## Without and with ifMixup\n\n{main_table(studies.cells)}", written[-1])
    for experiment in studies.experiments:
        found = lines(experiment, studies.of(experiment))
        for ending, make in ((".md", to_markdown), (".tex", to_latex)):
            written.append(folder / f"{slug(experiment.name)}{ending}")
            save_text(make(experiment, found), written[-1])
    return written


def _lead(studies: Studies) -> str:
    records = studies.records
    datasets = sorted({record.spec.dataset for record in records})
    days = sorted(record.finished_at[:10] for record in records)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{len(records)} runs on {', '.join(datasets)}, finished {when} (UTC)."


def _save_figures(parts: Sequence[Section], folder: Path) -> list[Path]:
    written = []
    for grid in (grid for section in parts for grid in section.grids):
        drawn = draw(grid)
        for ending in (".png", ".svg"):
            written.append(folder / f"{slug(grid.name)}{ending}")
            save_figure(drawn, written[-1])
    return written


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be made: {error}.") from error
    return path
