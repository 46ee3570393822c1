"""The text files of a TU dataset, read into memory from a zip or a folder that nobody vouches for.

Nothing is unpacked to the disk, so no path in a zip can lead anywhere and no process that is
killed leaves half a dataset behind.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from ifmixup.errors import DatasetError

MAX_BYTES = 2 * 1024**3
"""The most text, in bytes, that one dataset may hold."""

_PARTS = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels", "node_attributes")


@dataclass(frozen=True)
class TextFile:
    """One file: where it is, for messages, and what it holds."""

    where: str
    content: bytes


def read_files(path: Path, name: str) -> dict[str, TextFile]:
    """The files of dataset ``name`` in a zip or a folder, by what stands after ``NAME_``.

    Raises:
        DatasetError: If the zip is broken, encrypted or hostile, or the files are too large.
    """
    return _read_folder(path, name) if path.is_dir() else _read_zip(path, name)


def _read_folder(folder: Path, name: str) -> dict[str, TextFile]:
    try:
        paths = {part: folder / f"{name}_{part}.txt" for part in _PARTS}
        wanted = _wanted([part for part, path in paths.items() if path.is_file()])
        sizes = {part: paths[part].stat().st_size for part in wanted}
        _check_total(sum(sizes.values()), folder)
        files = {}
        for part in wanted:
            with paths[part].open("rb") as stream:
                files[part] = _read(stream, sizes[part], str(paths[part]))
        return files
    except OSError as error:
        raise DatasetError(f"The dataset in {folder} cannot be read: {error}.") from error


def _read_zip(path: Path, name: str) -> dict[str, TextFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path, name)
            wanted = _wanted(members)
            _check_total(sum(members[part].file_size for part in wanted), path)
            files = {}
            for part in wanted:
                member = members[part]
                with archive.open(member) as stream:
                    files[part] = _read(stream, member.file_size, f"{path}: {member.filename}")
            return files
    except DatasetError:
        raise
    # A damaged zip makes zipfile and its decompressors raise nearly anything: BadZipFile,
    # zlib.error, EOFError, struct.error, NotImplementedError, UnicodeDecodeError, ...
    except Exception as error:
        raise DatasetError(
            f"{path} is not a zip that can be read ({error}). Replace it with a whole copy."
        ) from error


def _members(archive: zipfile.ZipFile, path: Path, name: str) -> dict[str, zipfile.ZipInfo]:
    """The members ``NAME/NAME_*.txt`` or ``NAME_*.txt`` that are of use, by part."""
    pattern = re.compile(rf"(?:{re.escape(name)}/)?{re.escape(name)}_({'|'.join(_PARTS)})\.txt")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if _leaves_folder(info.filename):
            raise DatasetError(
                f"{path} is refused: its member {info.filename!r} points outside of the zip."
            )
        match = pattern.fullmatch(info.filename)
        if match is None:
            continue
        if info.flag_bits & 0x1:
            raise DatasetError(f"{path} is refused: its member {info.filename!r} is encrypted.")
        if match[1] in members:
            raise DatasetError(f"{path} is refused: it holds {name}_{match[1]}.txt twice.")
        members[match[1]] = info
    return members


def _leaves_folder(member: str) -> bool:
    path = PurePosixPath(member.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or bool(re.match(r"[A-Za-z]:", member))


def _wanted(present: Collection[str]) -> list[str]:
    """The parts to read: labels are the features, so attributes beside them stay unread."""
    return [part for part in present if part != "node_attributes" or "node_labels" not in present]


def _check_total(size: int, path: Path) -> None:
    if size > MAX_BYTES:
        raise DatasetError(
            f"{path} is refused: it holds {size} bytes of text, more than the {MAX_BYTES} allowed."
        )


def _read(stream: IO[bytes], size: int, where: str) -> TextFile:
    """Read what was announced, never more: the announced sizes are within the bound."""
    content = stream.read(size + 1)
    if len(content) != size:
        raise DatasetError(f"{where} does not have the {size} bytes that it announces.")
    return TextFile(where, content)
