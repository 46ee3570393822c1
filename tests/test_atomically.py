import threading
from pathlib import Path

import pytest

from ifmixup.atomically import atomically


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
