"""A tiny TU dataset, written out, and no test reaches the network or the cache."""

import os
import zipfile
from pathlib import Path
from urllib.error import URLError

import pytest

from ifmixup.data.catalog import canonical, find

_FOLDER = os.environ.get("IFMIXUP_DATA")

# A triangle whose node 1 has a self-loop, then a path of three nodes and a node on its own.
# The edge 2-1 stands twice.
TINY = {
    "A": "1, 2\n2, 1\n1, 3\n3, 1\n2,3\n3,2\n1, 1\n2, 1\n4, 5\n5, 4\n6, 5\n5, 6\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_labels": "3\n5\n3\n4\n4\n3\n5\n",
    "edge_labels": "0\n0\n1\n1\n1\n1\n0\n0\n2\n2\n0\n0\n",
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path_factory):
    def no_network(url, folder, log=True, filename=None):
        raise URLError("no network in tests")

    monkeypatch.delenv("IFMIXUP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr("ifmixup.data.catalog.download_url", no_network)


@pytest.fixture
def tiny() -> dict[str, str]:
    """The text of each file of the tiny dataset."""
    return dict(TINY)


@pytest.fixture
def write_folder():
    """Write the files of a dataset into a folder."""

    def write(folder: Path, texts: dict[str, str], name: str = "TINY") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for part, text in texts.items():
            (folder / f"{name}_{part}.txt").write_bytes(text.encode())
        return folder

    return write


@pytest.fixture
def write_zip():
    """Write the files of a dataset into a zip."""

    def write(path: Path, texts: dict[str, str], name: str = "TINY") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, text in texts.items():
                archive.writestr(f"{name}/{name}_{part}.txt", text)
        return path

    return write


@pytest.fixture
def tu_source():
    """The zip or folder of a real dataset, or a skip that says why."""

    def source(name: str) -> Path:
        found = find(canonical(name), _FOLDER)
        if found is None:
            where = f"is not in {_FOLDER}" if _FOLDER else "needs IFMIXUP_DATA to be set"
            pytest.skip(f"{name} is not shipped and {where}")
        return found

    return source
