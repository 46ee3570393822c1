"""The report as one HTML page that needs only a browser."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from ifmixup.errors import import_extra
from ifmixup.report.chart import Grid
from ifmixup.report.html import Html, Section, element, escape, json_script, legend, plot, slug
from ifmixup.report.plotly_chart import figure


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The page: a title, a paragraph under it, and sections."""
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
