import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from ifmixup.errors import InputError, MissingExtraError
from ifmixup.report.save import check_output, save_figure, save_text

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}


@pytest.fixture
def figure():
    figure = Figure(figsize=(2, 1))
    figure.text(0.5, 0.5, "λ = 0.75")
    return figure


@pytest.mark.parametrize("name", ["mix.png", "mix.svg", "mix.pdf", "MIX.PNG"])
def test_the_ending_is_the_format_and_the_bytes_are_the_same_each_time(figure, tmp_path, name):
    path = tmp_path / name
    path.write_text("what was there")
    save_figure(figure, path)
    first = path.read_bytes()
    assert first.startswith(MAGIC[name.lower().rpartition(".")[2]])
    save_figure(figure, path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_text_stays_text_and_settings_stay_as_they_were(figure, tmp_path):
    before = matplotlib.rcParams.copy()
    save_figure(figure, tmp_path / "mix.svg")
    assert "λ = 0.75</text>" in (tmp_path / "mix.svg").read_text(encoding="utf-8")
    assert all(matplotlib.rcParams[key] == before[key] for key in before if key != "backend")


def test_a_failure_leaves_what_was_there(figure, tmp_path, monkeypatch):
    path = tmp_path / "mix.png"
    path.write_text("what was there")

    def half_written(where, **options):
        Path(where).write_bytes(b"half")
        raise RuntimeError("out of ink")

    monkeypatch.setattr(figure, "savefig", half_written)
    with pytest.raises(RuntimeError, match="out of ink"):
        save_figure(figure, path)
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["mix.jpg", "mix", "mix.png.txt"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=rf"saved as \.png, \.svg, \.pdf; got '{name}'"):
        check_output(tmp_path / name)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        check_output(tmp_path / "nowhere" / "mix.png")


def test_the_extra_is_named(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ifmixup\[plot\]'"):
        save_figure(figure, tmp_path / "mix.png")


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
