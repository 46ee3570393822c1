from pathlib import Path

import pytest

import ifmixup.data.find
from ifmixup.data.find import cache_folder, find, places, root_folder, variable_folder
from ifmixup.errors import DatasetError

PACKAGE = Path(ifmixup.data.find.__file__).parent


@pytest.mark.parametrize("folder", ["TINY/raw", "TINY", "raw", "."])
def test_unpacked(tmp_path, tiny, write_folder, folder):
    write_folder(tmp_path / folder, tiny)
    assert find("TINY", tmp_path) == tmp_path / folder
    assert find("TINY", str(tmp_path)) == tmp_path / folder
    assert find("OTHER", tmp_path) is None


def test_the_zip_comes_first(tmp_path, tiny, write_folder, write_zip):
    write_folder(tmp_path / "TINY" / "raw", tiny)
    path = write_zip(tmp_path / "TINY.zip", tiny)
    assert find("TINY", tmp_path) == path


def test_a_folder_called_zip_is_not_one(tmp_path):
    (tmp_path / "TINY.zip").mkdir()
    assert find("TINY", tmp_path) is None


def test_root_then_variable_then_package_then_cache(monkeypatch, tmp_path, tiny, write_zip):
    assert places() == [PACKAGE, cache_folder()]
    assert places(tmp_path) == [tmp_path, PACKAGE, cache_folder()]
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path / "env"))
    assert places(tmp_path) == [tmp_path, tmp_path / "env", PACKAGE, cache_folder()]

    assert find("TINY", tmp_path) is None
    for place in (cache_folder(), tmp_path / "env", tmp_path):
        path = write_zip(place / "TINY.zip", tiny)
        assert find("TINY", tmp_path) == path


def test_mutag_is_in_the_package(tmp_path):
    assert find("MUTAG") == PACKAGE / "MUTAG.zip"
    assert find("MUTAG", tmp_path / "nowhere") == PACKAGE / "MUTAG.zip"
    assert (PACKAGE / "MUTAG.md").is_file()


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "ifmixup"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for nothing in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", nothing)
        assert cache_folder() == tmp_path / "home" / ".cache" / "ifmixup"


def test_an_empty_variable_is_not_set(monkeypatch):
    monkeypatch.setenv("IFMIXUP_DATA", "")
    assert variable_folder() is None


def test_a_file_is_not_a_root(tmp_path):
    file = tmp_path / "TINY.zip"
    file.touch()
    with pytest.raises(DatasetError, match=r"root must be a folder, but .*TINY\.zip is a file"):
        root_folder(file)
