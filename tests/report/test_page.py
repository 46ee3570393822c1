import re
from html.parser import HTMLParser

import pytest

from ifmixup.report.page import page
from ifmixup.report.report import sections

pytest.importorskip("plotly")


@pytest.fixture(scope="module")
def made(studies):
    return page(studies, sections(studies))


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]


def test_nothing_comes_from_elsewhere(made):
    reader = Reader()
    reader.feed(made)
    outside = [value for name, value in reader.attributes if name in ("src", "href")]
    assert all(value.startswith(("#", "data:,")) for value in outside)
    assert made.count("plotly.js v") == 1


def test_names_are_there_once_and_every_link_leads_somewhere(made):
    reader = Reader()
    reader.feed(made)
    assert len(reader.ids) == len(set(reader.ids))
    links = [value[1:] for name, value in reader.attributes if name == "href" and value[0] == "#"]
    assert set(links) <= set(reader.ids)
    assert "content" in links


def test_text_from_stores_stays_text(made):
    reader = Reader()
    reader.feed(made)
    assert "img" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "&lt;img src=x" in made
    assert "<img" not in re.sub(r"<script>\s*/\*.*?</script>", "", made, flags=re.DOTALL)


def test_what_the_head_says(made):
    assert "<title>reproduced, own</title>" in made
    assert 'name="viewport"' in made
    assert "finished" in made
