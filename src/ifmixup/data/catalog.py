"""The datasets that have a name: which there are, where they are looked for, how to get them."""

from __future__ import annotations

import difflib
import http.client
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torch_geometric.data import download_url
from torch_geometric.datasets import TUDataset

from ifmixup.data.raw import LoadOptions
from ifmixup.data.tu import read_tu
from ifmixup.errors import DatasetError
from ifmixup.safe_io import cache_folder

NAMES = ("PTC_MR", "NCI109", "NCI1", "MUTAG", "ENZYMES", "PROTEINS", "IMDB-MULTI", "IMDB-BINARY")
"""The paper's eight datasets, in the order of its tables."""

VARIABLE = "IFMIXUP_DATA"  # the environment variable that names a folder of datasets
TIMEOUT = 30.0  # seconds to wait for an answer before a download fails

PathLike = str | os.PathLike[str]

_KNOWN = {name.lower(): name for name in NAMES}
_KNOWN |= {"imdb-m": "IMDB-MULTI", "imdb-b": "IMDB-BINARY"}
# A name becomes part of paths and of a URL. It starts with a letter or a digit, which excludes
# "..", "/" and "-x".
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def canonical(name: str) -> str:
    """The collection's spelling of ``name``: one of the eight in any case, else as given."""
    return _KNOWN.get(check_name(name).lower(), name)


def is_name(text: str) -> bool:
    """Whether ``text`` can be the name of a dataset."""
    return bool(_NAME.fullmatch(text))


def check_name(name: str) -> str:
    """``name`` if it can be the name of a dataset."""
    if not isinstance(name, str) or not is_name(name):
        raise DatasetError(
            f"{name!r} cannot be the name of a dataset: a name has letters, digits, '_', '.' and "
            f"'-' only. The paper's are {', '.join(NAMES)}."
        )
    return name


def suggestion(name: str) -> str:
    """`` Did you mean 'NCI1'?`` for a name that is almost one of the eight, else nothing."""
    if name in NAMES:
        return ""
    near = difflib.get_close_matches(name.lower(), _KNOWN, n=1, cutoff=0.7)
    return f" Did you mean {_KNOWN[near[0]]!r}?" if near else ""


def find(name: str, root: PathLike | None = None) -> Path | None:
    """The zip or folder that holds dataset ``name``, or ``None``; nothing is downloaded."""
    for base in folders(root):
        # The zip first: unlike a folder it has checksums. "NAME/raw" is how PyG unpacks it.
        if os.path.isfile(base / f"{name}.zip"):
            return base / f"{name}.zip"
        for folder in (base / name / "raw", base / name, base / "raw", base):
            if os.path.isfile(folder / f"{name}_A.txt"):
                return folder
    return None


def folders(root: PathLike | None = None) -> list[Path]:
    """The folders to look in, first to last: ``root``, the variable's, our own, the cache."""
    own = Path(__file__).parent  # MUTAG.zip comes with the package
    return [*named_folders(root), own, cache_folder()]


def named_folders(root: PathLike | None) -> list[Path]:
    """The folders that the user named: ``root``, then that of the environment variable."""
    if root is not None and os.path.isfile(Path(root).expanduser()):
        raise DatasetError(f"root must be a folder, but {root} is a file. Give its parent.")
    named = (root, os.environ.get(VARIABLE) or None)
    return [Path(folder).expanduser() for folder in named if folder is not None]


def download(name: str, root: PathLike | None = None) -> Path:
    """Download dataset ``name`` and return the path of its zip.

    It goes to ``root``, else to the folder that ``IFMIXUP_DATA`` names if that can be written to,
    else to the user's cache folder. If that fails, the error lists the ways to provide it.
    """
    target = _target(root)
    url = f"{TUDataset.url}/{name}.zip"
    existed = target.is_dir()
    try:
        target.mkdir(parents=True, exist_ok=True)
        # Downloaded and checked in a folder of our own, then moved in one step: other processes
        # see either no zip or a whole one, even if this one is killed.
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target) as folder:
            with _timeout(TIMEOUT):
                path = Path(download_url(url, folder, log=False))
            read_tu(path, name, LoadOptions())  # whole and readable
            os.replace(path, target / f"{name}.zip")
    except (OSError, http.client.HTTPException, DatasetError) as error:
        if not existed:
            with suppress(OSError):  # another process may be using it by now
                target.rmdir()
        raise DatasetError(_three_ways(name, root, url, error)) from error
    return target / f"{name}.zip"


def _target(root: PathLike | None) -> Path:
    for folder in named_folders(root):
        if root is not None or (folder.is_dir() and os.access(folder, os.W_OK)):
            return folder
    return cache_folder()


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    """A timeout for PyG's download, which sets none and might wait for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _three_ways(name: str, root: PathLike | None, url: str, error: Exception) -> str:
    looked = ", ".join(map(str, folders(root)))
    return (
        f"There is no dataset {name!r} in {looked}, and the download failed "
        f"({type(error).__name__}: {error}).{suggestion(name)} Three ways to provide it:\n"
        f"  1. pass root= an existing PyG root, a folder that has {name}/raw/{name}_A.txt;\n"
        f"  2. put {name}.zip into a folder and name that folder by root= or by the environment "
        f"variable {VARIABLE};\n"
        f"  3. connect to the internet: it is downloaded from {url}."
    )
