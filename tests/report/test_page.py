import re
from html.parser import HTMLParser

import pytest

from ifmixup.report.chart import Grid, Panel, Series
from ifmixup.report.html import Section, notes
from ifmixup.report.page import page

pytest.importorskip("plotly")
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def made():
    series = Series(HOSTILE, "line", [1, 2], [0.5, 0.6], "#ff0000")
    grid = Grid("g", HOSTILE, [Panel(HOSTILE, [series], HOSTILE, HOSTILE), Panel("b", [series])])
    below = [Section("below", "Below", [grid]), Section("below", "Also below", [grid])]
    first = Section("first", HOSTILE, [grid, notes([HOSTILE]), grid], below)
    last = Section("The last", "Last", [])
    return page(HOSTILE, "2 runs <b>", [first, last])


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]


@pytest.fixture(scope="module")
def reader(made):
    reader = Reader()
    reader.feed(made)
    return reader


def test_nothing_is_loaded_from_elsewhere(made, reader):
    outside = [value for name, value in reader.attributes if name in ("src", "href")]
    assert all(value.startswith(("#", "data:,")) for value in outside)
    assert made.count("plotly.js v") == 1


def test_ids_are_unique_and_every_link_has_a_target(reader):
    assert len(reader.ids) == len(set(reader.ids))
    links = [value[1:] for name, value in reader.attributes if name == "href" and value[0] == "#"]
    assert links == ["content", "first", "first-1", "first-2", "the-last"]
    assert set(links) <= set(reader.ids)


def test_every_plot_has_its_values(reader):
    values = [value for name, value in reader.attributes if name == "data-of"]
    assert len(values) == 8
    assert set(values) <= set(reader.ids)


def test_untrusted_text_stays_text(made, reader):
    assert "img" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "&lt;img src=x" in made
    assert "<img" not in re.sub(r"<script>\s*/\*.*?</script>", "", made, flags=re.DOTALL)


def test_the_head(made):
    assert "<title>&lt;/script&gt;" in made
    assert 'name="viewport"' in made
    assert '<p class="lead">2 runs &lt;b&gt;</p>' in made
    assert "<title>report</title>" in page("", "", [])
