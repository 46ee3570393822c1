"""The report of studies: one page for a browser, and its tables and figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from string import Template

from ifmixup.errors import InputError, import_extra
from ifmixup.paper.cells import counts_table, readings_table
from ifmixup.paper.selection import selection_table
from ifmixup.paper.tables import main_table, study_latex, study_table
from ifmixup.report import charts
from ifmixup.report.chart import Grid
from ifmixup.report.explorer import explorer
from ifmixup.report.html import Html, Section, element, escape, json_script, legend, plot, slug
from ifmixup.report.matplotlib_chart import draw
from ifmixup.report.plotly_chart import figure
from ifmixup.report.save import save_figure, save_text
from ifmixup.report.studies import ShownStudy, Studies, gather
from ifmixup.report.tables import (
    answer,
    origin,
    statistics,
    study_section,
    summary,
    unknown_section,
)
from ifmixup.study.answer import first_sentence

_MOST_ANSWERS = 8


def report(
    folders: Sequence[Path],
    output: Path,
    *,
    figures: Path | None = None,
    tables: Path | None = None,
    command: str = "",
) -> list[Path]:
    """Write the report of the studies in ``folders`` as a page, and return all files written.

    Folders that are given for figures (pdf and svg) and tables (Markdown and LaTeX) are created if
    they are missing. The ``command`` of the report is written in it.
    """
    import_extra("plotly", "report")
    if figures is not None:
        import_extra("matplotlib", "plot")
    if not output.parent.is_dir():
        raise InputError(f"The folder {str(output.parent)!r} does not exist. Create it first.")
    studies = gather(folders, command)
    found = sections(studies)
    save_text(page(", ".join(studies.names), lead(studies), found), output)
    written = [output]
    if tables is not None:
        written += save_tables(studies, _folder(tables))
    if figures is not None:
        each = [part for section in found for part in (section, *section.below)]
        written += _save_figures(each, _folder(figures))
    return written


def sections(studies: Studies) -> list[Section]:
    """The sections of the page."""
    several = len(studies.shown) > 1 or any(len(s.study.datasets) > 1 for s in studies.shown)
    found = [unknown_section(studies), summary(studies) if several else None]
    for shown in studies.shown:
        below = [charts.expected_best(shown), charts.figure_bars(shown), charts.paired_dots(shown)]
        below += [charts.learning_curves(shown), charts.calibration(shown)]
        section = study_section(shown, answered=len(studies.shown) == 1)
        found.append(replace(section, below=[part for part in below if part]))
    found += [statistics(studies), charts.graph_sizes(studies), explorer(studies.examples)]
    found.append(origin(studies))
    return [section for section in found if section is not None and any(section.parts)]


def page(title: str, lead: Html, sections: Sequence[Section]) -> str:
    """The page: a title, what is said under it, and sections."""
    offline = import_extra("plotly.offline", "report")
    bodies, contents = [], []
    for section in sections:
        name = slug(section.name)
        parts = [element("h2", section.title), *_parts(section, name)]
        links = []
        for number, each in enumerate(section.below):
            own = f"{name}-{number + 1}"
            parts += [element("h3", each.title, id=own), *_parts(each, own)]
            links.append(element("li", element("a", each.title, href=f"#{own}")))
        bodies.append(element("section", *parts, id=name))
        inner = element("ol", *links) if links else Html("")
        contents.append(element("li", element("a", section.title, href=f"#{name}"), inner))
    template = Template(_file("page.html"))
    return template.substitute(
        title=escape(title or "report"),
        lead=escape(lead),
        style=_file("page.css"),
        plotly=offline.get_plotlyjs().replace("</script", "<\\/script"),
        contents=element("ol", *contents),
        body="\n".join(bodies),
        script=_file("page.js"),
    )


def _parts(section: Section, name: str) -> list[Html]:
    return [
        _grid(part, f"{name}-{index}") if isinstance(part, Grid) else part
        for index, part in enumerate(section.parts)
    ]


def _grid(grid: Grid, name: str) -> Html:
    """Panels side by side, as many as there is room for, under one legend."""
    panels = []
    for index, panel in enumerate(grid.panels):
        own, values = f"plot-{name}-{index}", figure(panel)
        data = json_script(values, class_="figure", data_of=own)
        label = f"{panel.title}: {panel.y_label} {panel.x_label}"
        height = f"min-height:{values['layout']['height']}px"
        panels.append(plot(panel.title, own, data, aria_label=label, style=height))
    about = element("p", grid.title, class_="about")
    return Html(about + legend(grid.legend().items()) + element("div", *panels, class_="panels"))


def _file(name: str) -> str:
    return files("ifmixup.report").joinpath(name).read_text(encoding="utf-8")


def save_tables(studies: Studies, folder: Path) -> list[Path]:
    """Write the table of each study as Markdown and LaTeX, and the main table of the paper."""
    comparisons = [shown.comparison for shown in studies.shown]
    of_paper = {
        "main.md": ("Without and with ifMixup", main_table(comparisons)),
        "counts.md": ("How near, and what mixing does: cells counted", counts_table(comparisons)),
        "readings.md": ("Which reading of the paper is the default", readings_table(comparisons)),
        "choosing.md": ("What choosing on the test folds is worth", selection_table(comparisons)),
    }
    texts = {
        name: replace(made, title=title).markdown()
        for name, (title, made) in of_paper.items()
        if made is not None
    }
    for shown in studies.shown:
        made = replace(study_table(shown.comparison), title=shown.title)
        texts |= {
            f"{shown.name}.md": made.markdown(),
            f"{shown.name}.tex": study_latex(shown.comparison, shown.title),
        }
    for name, text in texts.items():
        save_text(text, folder / name)
    return [folder / name for name in texts]


def lead(studies: Studies) -> Html:
    """What was found, first of all, and then what it rests on."""
    records = studies.records
    if not records:
        return element("p", "No run of a known study has finished.")
    answers = [each for each in studies.shown if each.comparison.rows]
    if len(answers) == 1:
        said = answer(answers[0])
    else:
        said = Html("".join(_short_answer(each) for each in answers[:_MOST_ANSWERS]))
    datasets = sorted({record.spec.dataset for record in records})
    days = sorted(record.finished_at[:10] for record in records)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    runs = f"{len(records)} runs on {', '.join(datasets)}, finished {when} (UTC)."
    return Html(said + element("p", runs, class_="lead"))


def _short_answer(shown: ShownStudy) -> Html:
    """The first sentence of an answer, with a link to the rest."""
    said = first_sentence(shown.comparison.answer())
    link = element("a", shown.title, href=f"#{slug(shown.name)}")
    return element("p", link, f": {said}", class_="answer")


def _save_figures(parts: Sequence[Section], folder: Path) -> list[Path]:
    written = []
    for grid in (grid for section in parts for grid in section.grids):
        drawn = draw(grid)
        for ending in (".pdf", ".svg"):
            written.append(folder / f"{slug(grid.name)}{ending}")
            save_figure(drawn, written[-1])
    return written


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be created: {error}.") from error
    return path
