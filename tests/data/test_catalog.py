import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from torch_geometric.datasets import TUDataset

import ifmixup.data.catalog
from ifmixup.data.catalog import (
    NAMES,
    cache_folder,
    canonical,
    check_name,
    download,
    find,
    folders,
    is_name,
    named_folders,
    suggestion,
)
from ifmixup.data.load import load
from ifmixup.errors import DatasetError


def test_the_papers_eight_in_its_order():
    assert NAMES == (
        "PTC_MR",
        "NCI109",
        "NCI1",
        "MUTAG",
        "ENZYMES",
        "PROTEINS",
        "IMDB-MULTI",
        "IMDB-BINARY",
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("MUTAG", "MUTAG"),
        ("mutag", "MUTAG"),
        ("Ptc_mr", "PTC_MR"),
        ("IMDB-B", "IMDB-BINARY"),
        ("imdb-m", "IMDB-MULTI"),
        ("REDDIT-BINARY", "REDDIT-BINARY"),
        ("reddit-binary", "reddit-binary"),
    ],
)
def test_canonical(given, expected):
    assert canonical(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "..",
        ".",
        "../MUTAG",
        "a/b",
        "a\\b",
        "/etc",
        "C:x",
        "-x",
        "MUTAG\n",
        "é",
        "x" * 101,
        None,
    ],
)
def test_what_is_not_a_name(given):
    with pytest.raises(DatasetError, match="cannot be the name of a dataset"):
        canonical(given)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("PROTEIN", " Did you mean 'PROTEINS'?"),
        ("enzyme", " Did you mean 'ENZYMES'?"),
        ("imdb_b", " Did you mean 'IMDB-BINARY'?"),
        ("MUTAG", ""),
        ("something", ""),
    ],
)
def test_suggestion(given, hint):
    assert suggestion(given) == hint


@pytest.mark.parametrize(
    ("text", "expected"), [("MUTAG", True), ("a.b-c_1", True), ("../x", False), ("", False)]
)
def test_what_can_be_a_name(text, expected):
    assert is_name(text) is expected
    if expected:
        assert check_name(text) == text


PACKAGE = Path(ifmixup.data.catalog.__file__).parent


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
    assert folders() == [PACKAGE, cache_folder()]
    assert folders(tmp_path) == [tmp_path, PACKAGE, cache_folder()]
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path / "env"))
    assert folders(tmp_path) == [tmp_path, tmp_path / "env", PACKAGE, cache_folder()]

    assert find("TINY", tmp_path) is None
    for folder in (cache_folder(), tmp_path / "env", tmp_path):
        path = write_zip(folder / "TINY.zip", tiny)
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
    assert named_folders(None) == []


def test_a_file_is_not_a_root(tmp_path):
    file = tmp_path / "TINY.zip"
    file.touch()
    with pytest.raises(DatasetError, match=r"root must be a folder, but .*TINY\.zip is a file"):
        named_folders(file)


@pytest.fixture
def server(monkeypatch, tmp_path, tiny, write_zip):
    """A zip that a download brings, and what was asked for."""
    source = write_zip(tmp_path / "server" / "TINY.zip", tiny)
    asked = []

    def download_url(url, folder, log=True, filename=None):
        asked.append((url, log, socket.getdefaulttimeout()))
        return shutil.copy(source, folder)

    monkeypatch.setattr("ifmixup.data.catalog.download_url", download_url)
    return source, asked


def failing(monkeypatch, error):
    def download_url(url, folder, log=True, filename=None):
        Path(folder, "TINY.zip").write_bytes(b"PK half of it")
        raise error

    monkeypatch.setattr("ifmixup.data.catalog.download_url", download_url)


def test_it_goes_to_root(tmp_path, server):
    source, asked = server
    root = tmp_path / "a" / "b"
    assert repr(load("TINY", root)) == "TINY(2)"
    assert [path.name for path in root.iterdir()] == ["TINY.zip"]
    assert (root / "TINY.zip").read_bytes() == source.read_bytes()
    assert asked == [(f"{TUDataset.url}/TINY.zip", False, 30.0)]
    assert socket.getdefaulttimeout() is None
    load("TINY", root)
    assert len(asked) == 1


def test_without_root_to_the_variables_folder(monkeypatch, tmp_path, server):
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path))
    assert download("TINY") == tmp_path / "TINY.zip" == find("TINY")


def test_a_variables_folder_that_cannot_be_written_to(monkeypatch, tmp_path, server):
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert download("TINY") == cache_folder() / "TINY.zip"
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path / "nowhere"))
    assert download("TINY") == cache_folder() / "TINY.zip"


def test_without_anything_to_the_cache_and_found_there(server):
    assert download("TINY") == cache_folder() / "TINY.zip" == find("TINY")
    load("TINY")
    assert len(server[1]) == 1


@pytest.mark.parametrize(
    "error",
    [
        URLError("name or service not known"),
        HTTPError("https://x", 404, "Not Found", None, None),
        TimeoutError("timed out"),
        http.client.IncompleteRead(b""),
    ],
)
def test_a_failure_says_the_three_ways_and_leaves_nothing(monkeypatch, tmp_path, error):
    failing(monkeypatch, error)
    with pytest.raises(DatasetError) as caught:
        load("TINY", tmp_path)
    message = str(caught.value)
    assert str(tmp_path) in message
    assert type(error).__name__ in message
    assert "1. pass root= an existing PyG root, a folder that has TINY/raw/TINY_A.txt" in message
    assert "2. put TINY.zip into a folder" in message
    assert "the environment variable IFMIXUP_DATA" in message
    assert "3. connect to the internet" in message
    assert list(tmp_path.iterdir()) == []
    assert socket.getdefaulttimeout() is None


def test_a_failure_leaves_no_new_folder(monkeypatch):
    failing(monkeypatch, URLError("away"))
    with pytest.raises(DatasetError):
        load("TINY")
    assert not cache_folder().exists()


def test_what_is_not_a_dataset_is_not_kept(tmp_path, server):
    server[0].write_bytes(b"<html>log in to the network first</html>")
    with pytest.raises(DatasetError, match="not a zip that can be read"):
        load("TINY", tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_folder_that_cannot_be_made(tmp_path, server):
    (tmp_path / "file").touch()
    with pytest.raises(DatasetError, match="Three ways to provide it"):
        load("TINY", tmp_path / "file" / "root")


@pytest.mark.parametrize(("name", "hint"), [("PROTEIN", True), ("PROTEINS", False), ("XY", False)])
def test_a_name_that_is_almost_right(name, hint):
    with pytest.raises(DatasetError) as caught:
        load(name)
    assert ("Did you mean 'PROTEINS'?" in str(caught.value)) == hint


LOAD = """
import os, sys, time
from pathlib import Path
import ifmixup.data.catalog
from ifmixup.data import load

root, source, signals, dies = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]

def slow(url, folder, log=True, filename=None):
    path = Path(folder, "TINY.zip")
    path.write_bytes(source.read_bytes()[:300])
    (signals / "half way").touch()
    if dies:
        os._exit(9)
    until = time.monotonic() + 60
    while not (signals / "other done").exists() and time.monotonic() < until:
        time.sleep(0.01)
    path.write_bytes(source.read_bytes())
    return str(path)

ifmixup.data.catalog.download_url = slow
graphs = load("TINY", root)
print(graphs, graphs[1].num_nodes)
"""


@pytest.fixture
def start(tmp_path, tiny, write_zip):
    """Start a process that loads the tiny dataset by a download that pauses half way."""
    source = write_zip(tmp_path / "server" / "TINY.zip", tiny)
    script = tmp_path / "load.py"
    script.write_text(LOAD)
    (tmp_path / "signals").mkdir()
    arguments = [script, tmp_path / "root", source, tmp_path / "signals"]

    def run(*more):
        return subprocess.Popen(
            [sys.executable, *map(str, arguments), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    return run


def test_two_processes_at_once(tmp_path, start, server):
    signals, root = tmp_path / "signals", tmp_path / "root"
    other = start()
    until = time.monotonic() + 120
    while not (signals / "half way").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert find("TINY", root) is None  # the other one's half is not seen
    assert repr(load("TINY", root)) == "TINY(2)"
    assert len(server[1]) == 1
    (signals / "other done").touch()
    out, err = other.communicate(timeout=120)
    assert (out, other.returncode) == ("TINY(2) 4\n", 0), err
    assert [path.name for path in root.iterdir()] == ["TINY.zip"]


def test_a_process_that_dies_half_way(tmp_path, start, server):
    process = start("dies")
    process.communicate(timeout=120)
    assert process.returncode == 9
    assert len(list((tmp_path / "root").rglob("TINY.zip"))) == 1  # the half, in its own folder
    assert find("TINY", tmp_path / "root") is None
    assert repr(load("TINY", tmp_path / "root")) == "TINY(2)"
