import pytest

from ifmixup.errors import InputError
from ifmixup.report.save_text import save_text


def test_text_is_replaced_whole(tmp_path):
    save_text("λ", tmp_path / "a.html")
    save_text("other \ud800", tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "other \\ud800"
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        save_text("x", tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
