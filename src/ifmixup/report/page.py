"""The report as one page of HTML that needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from ifmixup.errors import import_extra
from ifmixup.report.chart import Grid
from ifmixup.report.markup import Html, element, escape, json_script, slug
from ifmixup.report.plotly_chart import figure
from ifmixup.report.section import Section
from ifmixup.report.studies import Studies


def page(studies: Studies, sections: Sequence[tuple[Section, Sequence[Section]]]) -> str:
    """The page.

    Args:
        studies: What it is about, for its head.
        sections: The sections, each with those that stand under it.
    """
    offline = import_extra("plotly.offline", "report")
    bodies, contents = [], []
    for section, below in sections:
        name = slug(section.name)
        parts = [element("h2", section.title), *_parts(section, name)]
        links = []
        for number, each in enumerate(below):
            own = f"{name}-{number + 1}"
            parts += [element("h3", each.title, id=own), *_parts(each, own)]
            links.append(element("li", element("a", each.title, href=f"#{own}")))
        bodies.append(element("section", *parts, id=name))
        inner = element("ol", *links) if links else Html("")
        contents.append(element("li", element("a", section.title, href=f"#{name}"), inner))
    template = Template(_file("page.html"))
    return template.substitute(
        title=escape(", ".join(studies.names) or "report"),
        lead=escape(_lead(studies)),
        style=_file("page.css"),
        plotly=offline.get_plotlyjs().replace("</script", "<\\/script"),
        contents=element("ol", *contents),
        body="\n".join(bodies),
        script=_file("page.js"),
    )


def _lead(studies: Studies) -> str:
    records = studies.records
    datasets = sorted({record.spec.dataset for record in records})
    days = sorted(record.finished_at[:10] for record in records)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{len(records)} runs on {', '.join(datasets)}, finished {when} (UTC)."


def _parts(section: Section, name: str) -> list[Html]:
    return [
        _grid(part, f"{name}-{place}") if isinstance(part, Grid) else part
        for place, part in enumerate(section.parts)
    ]


def _grid(grid: Grid, name: str) -> Html:
    """Panels side by side, as many as there is room for, under one legend."""
    swatches = [
        element("li", element("i", style=f"background:{colour}"), text)
        for text, colour in grid.legend().items()
    ]
    panels = []
    for place, panel in enumerate(grid.panels):
        own = f"plot-{name}-{place}"
        what = f"{panel.title}: {panel.y_label} {panel.x_label}"
        values = figure(panel)
        height = f"min-height:{values['layout']['height']}px"
        panels.append(
            element(
                "figure",
                element("figcaption", panel.title),
                element("div", class_="plot", id=own, role="img", aria_label=what, style=height),
                json_script(values, class_="figure", data_of=own),
                class_="panel",
            )
        )
    return Html(
        element("p", grid.title, class_="about")
        + element("ul", *swatches, class_="legend")
        + element("div", *panels, class_="panels")
    )


def _file(name: str) -> str:
    return files("ifmixup.report").joinpath(name).read_text(encoding="utf-8")
