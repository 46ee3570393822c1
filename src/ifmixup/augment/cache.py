"""Expensive results of fitting a method, kept on disk by content.

The cache is off unless the environment variable ``IFMIXUP_CACHE`` names a folder. A file is found
by a digest of the method, its options, the training graphs and the seed, so that a fold is fitted
once for all models. Files are written whole or not at all. They are not trusted: only tensors are
loaded, and a file that is broken, or not what its name says, is computed anew. A folder that cannot
be used costs a warning and the time to compute, nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from ifmixup.graphs import Graphs
from ifmixup.safe_io import atomically
from ifmixup.tensor_files import load_tensors
from ifmixup.values import Plain

VARIABLE = "IFMIXUP_CACHE"
FORMAT = 1  # another number makes new files: count up when a method's fit changes
MOST_BYTES = 2**31  # of all files; the least recently used ones go first

_OURS = re.compile(r"[a-z_]+-[0-9a-f]{64}\.pt")
_LEFT_OVER = re.compile(r"\.[a-z_]+-[0-9a-f]{64}\.pt\..*\.tmp")
_HOUR = 3600.0

Check = Callable[[dict[str, Tensor]], bool]


def remember(
    method: str,
    options: Mapping[str, Plain],
    graphs: Graphs,
    compute: Callable[[], dict[str, Tensor]],
    *,
    seed: int = 0,
    check: Check | None = None,
) -> dict[str, Tensor]:
    """What ``compute`` gives, from the cache if it is there.

    Args:
        method: The name of the method.
        options: All options that the result depends on.
        graphs: The graphs that it is computed from, and nothing else.
        compute: Computes it: tensors by name.
        seed: The seed of the computation.
        check: Whether tensors that were read from a file can be what ``compute`` gives.

    Returns:
        The tensors; on the processor if they were read.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return compute()
    path = Path(folder).expanduser() / f"{method}-{digest(method, options, graphs, seed)}.pt"
    found = _read(path)
    if found is not None:
        if check is None or check(found):
            return found
        _warn(path, "it does not hold what its name says")
    found = compute()
    _write(path, found)
    return found


def digest(method: str, options: Mapping[str, Plain], graphs: Graphs, seed: int) -> str:
    """The digest of a method, its options, graphs and a seed: 64 hexadecimal digits."""
    head = [FORMAT, torch.__version__, method, dict(options), seed]
    made = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    parts: dict[str, object] = {
        **{f"node {name}": value for name, value in graphs.nodes.items()},
        **{f"edge {name}": value for name, value in graphs.edges.items()},
        **{f"graph {name}": value for name, value in graphs.graphs.items()},
        "node_ptr": graphs.node_ptr,
        "edge_ptr": graphs.edge_ptr,
        "index": graphs.index,
    }
    for name, value in sorted(parts.items()):
        if not isinstance(value, Tensor):
            continue
        made.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        made.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return made.hexdigest()


def _read(path: Path) -> dict[str, Tensor] | None:
    """The tensors of a file; None if it is not there or cannot be used."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is larger than a file of this cache can be")
        found = load_tensors(path)
        if not isinstance(found, dict) or not all(
            isinstance(name, str) and _is_plain(value) for name, value in found.items()
        ):
            raise ValueError("it holds something other than plain tensors")
    except FileNotFoundError:
        return None
    except Exception as error:  # of a file that is something else, nearly any
        _warn(path, str(error).strip().split("\n")[0] or type(error).__name__)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the files that were used last are kept longest
    return found


def _is_plain(value: object) -> bool:
    """Whether a value is a dense tensor with numbers in it."""
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_meta


def _write(path: Path, found: dict[str, Tensor]) -> None:
    """Write a file and make room for it; a failure is a warning."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomically(path) as unfinished, unfinished.open("xb") as stream:
            torch.save({name: value.cpu() for name, value in found.items()}, stream)
        _make_room(path)
    except (OSError, RuntimeError) as error:  # torch raises RuntimeError on a full disk
        reason = str(error).strip().split("\n")[0]
        warnings.warn(
            f"The cache folder {path.parent} ({VARIABLE}) cannot be written to: {reason}. The "
            f"training goes on, but the next one has to compute the same again.",
            stacklevel=2,
        )


def _make_room(newest: Path) -> None:
    """Remove the least recently used files of the cache until all are small enough."""
    files = []
    for path in newest.parent.iterdir():
        is_left_over = _LEFT_OVER.fullmatch(path.name) is not None
        if not is_left_over and not _OURS.fullmatch(path.name):  # of the user's own
            continue
        try:
            state = path.stat()
        except OSError:  # another process was faster
            continue
        if is_left_over:
            if time.time() - state.st_mtime > _HOUR:  # of a process that was killed
                path.unlink(missing_ok=True)
            continue
        files.append((path == newest, state.st_mtime, state.st_size, path))
    total = sum(size for _, _, size, _ in files)
    for is_newest, _, size, path in sorted(files):
        if total <= MOST_BYTES or is_newest:
            return
        path.unlink(missing_ok=True)
        total -= size


def _warn(path: Path, reason: str) -> None:
    warnings.warn(
        f"The file {path} of the cache ({VARIABLE}) cannot be used: {reason}. It will be "
        f"recomputed.",
        stacklevel=2,
    )
