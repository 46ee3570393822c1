import pytest

from ifmixup.data.catalog import VARIABLE
from ifmixup.report.sections.graph_sizes import graph_sizes


@pytest.fixture
def section(studies, monkeypatch, tmp_path):
    """On a machine that has only the bundled dataset."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return graph_sizes(studies)


def test_every_graph_is_counted_before_and_after(section):
    (grid,) = section.grids
    assert [panel.x_label for panel in grid.panels] == ["nodes", "edges"]
    for panel in grid.panels:
        assert [sum(series.y) for series in panel.series] == [188, 188]


def test_what_is_not_here_is_said_and_escaped(section):
    said = section.parts[-1]
    assert "NCI109 is not on this machine" in said
    assert "<img" not in said
