"""The last resort: PyG's download of a TU zip, put in place whole or not at all."""

from __future__ import annotations

import http.client
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torch_geometric.data import download_url
from torch_geometric.datasets import TUDataset

from ifmixup.data.files import read_files
from ifmixup.data.find import VARIABLE, PathLike, cache_folder, places, root_folder, variable_folder
from ifmixup.data.names import suggestion
from ifmixup.data.tu import parse
from ifmixup.errors import DatasetError

TIMEOUT = 30.0
"""Seconds without an answer after which the network counts as not there."""


def download(name: str, root: PathLike | None = None) -> Path:
    """Download dataset ``name`` and return the path of its zip.

    It goes to ``root``, else to the folder that ``IFMIXUP_DATA`` names if that can be written to,
    else to the user's cache folder.

    Raises:
        DatasetError: If it cannot be had; the message says the ways to provide it.
    """
    target = _target(root)
    url = f"{TUDataset.url}/{name}.zip"
    was_there = target.is_dir()
    try:
        target.mkdir(parents=True, exist_ok=True)
        # Read whole inside a folder of our own and then moved in one step: whoever looks into
        # `target` sees no zip or a good one, whatever other processes do and wherever we die.
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target) as folder:
            with _timeout(TIMEOUT):
                path = Path(download_url(url, folder, log=False))
            parse(read_files(path, name), str(path), name)
            os.replace(path, target / f"{name}.zip")
    except (OSError, http.client.HTTPException, DatasetError) as error:
        if not was_there:  # a folder that we made for nothing goes again, unless it is in use
            with suppress(OSError):
                target.rmdir()
        raise DatasetError(_three_ways(name, root, url, error)) from error
    return target / f"{name}.zip"


def _target(root: PathLike | None) -> Path:
    given, variable = root_folder(root), variable_folder()
    if given is not None:
        return given
    if variable is not None and variable.is_dir() and os.access(variable, os.W_OK):
        return variable
    return cache_folder()


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    """PyG's download sets no timeout of its own and would wait for ever behind a silent wall."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _three_ways(name: str, root: PathLike | None, url: str, error: Exception) -> str:
    looked = ", ".join(str(place) for place in places(root))
    return (
        f"There is no dataset {name!r} in {looked}, and the download failed "
        f"({type(error).__name__}: {error}).{suggestion(name)} Three ways to provide it:\n"
        f"  1. pass root= an existing PyG root, a folder that has {name}/raw/{name}_A.txt;\n"
        f"  2. put {name}.zip into a folder and name that folder by root= or by the environment "
        f"variable {VARIABLE};\n"
        f"  3. be online, so that it can be downloaded from {url}."
    )
