import pytest

from ifmixup.cli import main
from stored_runs import records_of, result, stored, study_of


@pytest.fixture
def folder(tmp_path):
    study = study_of(protocols=["paper"], folds=2)
    records = records_of(study, lambda spec, validated: result())
    return stored(tmp_path / "study", study, records)


def test_a_report(folder, tmp_path, capsys):
    pytest.importorskip("plotly")
    page, tables = tmp_path / "report.html", tmp_path / "tables"
    assert main(["report", str(folder), "-o", str(page), "--tables", str(tables)]) == 0
    said = capsys.readouterr().out
    assert f"Saved as {page}" in said
    assert "2 more files" in said
    text = page.read_text(encoding="utf-8")
    assert "<span>ifmixup</span> <span>report</span> <span>study" in text
    assert str(tmp_path) not in text


def test_nothing_to_report(tmp_path, capsys):
    pytest.importorskip("plotly")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 2
    assert "holds no runs" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
