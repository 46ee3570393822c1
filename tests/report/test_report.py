import re
from html.parser import HTMLParser

import pytest

from ifmixup import errors
from ifmixup.errors import InputError, MissingExtraError
from ifmixup.report.chart import Grid, Panel, Series
from ifmixup.report.html import Section, notes
from ifmixup.report.report import page, report, sections
from ifmixup.study.study import save_studies
from stored_runs import done, filled, records_of, result, stored, study_of

pytest.importorskip("plotly")
pytest.importorskip("matplotlib")


def test_sections_in_their_order(studies):
    found = [(section.name, len(section.below)) for section in sections(studies)]
    assert found == [
        ("summary", 0),
        ("gcn", 3),
        ("depth", 2),
        (studies.shown[2].name, 3),
        ("statistics", 0),
        ("graph-sizes", 0),
        ("explorer", 1),
        ("origin", 0),
    ]


def test_files(tmp_path):
    study = study_of(protocols=["paper"], folds=3, name="Mine")
    records = records_of(study, lambda spec, validated: result())
    folder = stored(tmp_path / "s", study, records)
    written = report([folder], tmp_path / "r.html", figures=tmp_path / "f", tables=tmp_path / "t")
    assert all(path.stat().st_size > 0 for path in written)
    names = {path.name for path in written}
    assert {"r.html", "mine.md", "mine.tex"} <= names
    for kind in ("accuracy", "paired", "curves"):
        assert {f"mine-{kind}.pdf", f"mine-{kind}.svg"} <= names
    left = [path for path in tmp_path.rglob(".*") if path.suffix != ".lock"]
    assert not left  # nothing half written


def test_the_same_study_gives_the_same_page(own_folder, tmp_path):
    for name in ("a.html", "b.html"):
        report([own_folder], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_folder_that_is_not_there(own_folder, tmp_path):
    with pytest.raises(InputError, match="Create it first"):
        report([own_folder], tmp_path / "no" / "r.html")


def test_without_plotly(own_folder, tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(errors.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"ifmixup\[report\]"):
        report([own_folder], tmp_path / "r.html")


def test_a_single_fold_is_enough(tmp_path):
    study = study_of(protocols=["paper"], folds=1)
    records = records_of(study, lambda spec, validated: result())
    folder = stored(tmp_path / "s", study, records)
    written = report([folder], tmp_path / "r.html", figures=tmp_path / "f")
    assert "NaN" not in written[0].read_text(encoding="utf-8").split("</head>")[1]


def test_a_folder_without_a_study_and_one_without_runs(tmp_path):
    unknown = filled(tmp_path / "unknown", done(0))
    save_studies(tmp_path / "stopped", [study_of()])
    (path,) = report([unknown, tmp_path / "stopped"], tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    assert "unknown has 1 runs" in text
    assert "0 of its 10 runs are done" in text
    assert "No run of a known study has finished." in text
    assert str(tmp_path) not in text


def test_the_head_of_the_page_and_no_html_from_stores(own_folder, paper_folder, tmp_path):
    (path,) = report([paper_folder, own_folder], tmp_path / "r.html")
    body = path.read_text(encoding="utf-8").split("</head>")[1]
    assert "<h1>reproduced, own</h1>" in body
    assert "finished" in body
    assert "&lt;img src=x" in body
    assert "<img" not in body


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
    assert "2 runs &lt;b&gt;" in made
    assert "<title>report</title>" in page("", "", [])
