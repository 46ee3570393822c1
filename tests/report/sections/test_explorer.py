import pytest

from ifmixup.errors import MissingExtraError
from ifmixup.report.sections import explorer as module
from ifmixup.report.sections.explorer import explorer


def test_a_slider_that_keys_can_move():
    pytest.importorskip("networkx")
    (html,) = explorer().parts
    assert '<input type="range" id="explorer-lam"' in html
    assert html.count('class="plot"') == 3
    assert 'aria-live="polite"' in html
    assert "bond of A" in html
    assert "nothing guarantees it: <code>ifmixup audit</code>" in html  # no more than is true


def test_without_the_packages_that_draw(monkeypatch):
    def missing(name, extra):
        raise MissingExtraError(f"{name} needs ifmixup[{extra}]")

    monkeypatch.setattr(module, "import_extra", missing)
    (html,) = explorer().parts
    assert "Not drawn. networkx needs ifmixup[plot]" in html
