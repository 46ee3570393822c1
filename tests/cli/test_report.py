import pytest

from ifmixup.cli import main
from stored_runs import done, filled


@pytest.fixture
def folder(tmp_path):
    runs = [done(f, protocol="paper", method=m) for f in (0, 1) for m in ("none", "ifmixup")]
    return filled(tmp_path / "study", *runs)


def test_a_report(folder, tmp_path, capsys):
    pytest.importorskip("plotly")
    page, tables = tmp_path / "report.html", tmp_path / "tables"
    assert main(["report", str(folder), "-o", str(page), "--tables", str(tables)]) == 0
    said = capsys.readouterr().out
    assert f"Saved as {page}" in said
    assert "2 more files" in said
    text = page.read_text(encoding="utf-8")
    assert "ifmixup report study" in text
    assert str(tmp_path) not in text


def test_nothing_to_report(tmp_path, capsys):
    pytest.importorskip("plotly")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 2
    assert "holds no runs" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
