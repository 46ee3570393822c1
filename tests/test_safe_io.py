import errno
import fcntl
import threading
from pathlib import Path

import pytest

from ifmixup.data import NAMES
from ifmixup.safe_io import atomically, folder_name, has_locks, printable, printable_lines


def test_replaces_what_was_there_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    with atomically(path) as unfinished:
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, OSError])
def test_a_stop_keeps_what_was_there(tmp_path: Path, stop: type[BaseException]) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write() -> None:
        with atomically(path) as unfinished:
            unfinished.write_text("half of")
            raise stop

    with pytest.raises(stop):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomically(tmp_path / "file.txt"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), atomically(tmp_path) as unfinished:
        unfinished.write_text("new")
    assert tmp_path.is_dir()


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    together = threading.Barrier(2)

    def write(sign: str) -> None:
        with atomically(path) as unfinished:
            unfinished.write_text(sign)
            together.wait(10)
            assert unfinished.read_text() == sign

    threads = [threading.Thread(target=write, args=(sign,)) for sign in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in "ab"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_with_and_without_locks(tmp_path: Path, monkeypatch) -> None:
    assert has_locks(tmp_path)
    assert has_locks(tmp_path / "not there")  # which is said elsewhere

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    assert not has_locks(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_obeys_nothing():
    assert printable("a\x1b[2Jb\nc\u202ed é λ") == "a?[2Jb?c?d é λ"


def test_long_texts_are_cut():
    assert printable("abcdef", 4) == "abc…"
    assert printable("abcd", 4) == "abcd"


def test_anything_has_a_text():
    assert printable(None) == "None"
    assert printable(["a"]) == "['a']"


def test_all_of_it():
    assert printable("x" * 500, None) == "x" * 500


def test_lines_stay_lines():
    assert printable_lines("a\x1b[2J\nb\rc\n") == "a?[2J\nb?c\n"


@pytest.mark.parametrize("name", [*NAMES, "ogbg-molhiv", "graphs-0a1b2c3d", "Größe", "mol.v2"])
def test_usual_names_stay(name):
    assert folder_name(name) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../evil", "_.._evil"),
        ("/etc", "_etc"),
        ("a\\b:c d\x1b", "a_b_c_d_"),
        (".hidden", "hidden"),
        ("..", "graphs"),
        ("", "graphs"),
        ("x" * 300, "x" * 100),
    ],
)
def test_others_are_made_safe(name, expected):
    assert folder_name(name) == expected
