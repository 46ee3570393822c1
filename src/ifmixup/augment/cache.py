"""Expensive results of fitting a method, kept on disk by content.

Files are in the folder ``fits`` of the user's cache (``~/.cache/ifmixup``), or in the folder that
the environment variable ``IFMIXUP_CACHE`` names; ``IFMIXUP_CACHE=off`` keeps nothing. They take at
most 2 GB together. A file is found by a digest of the method, its options, the training graphs and
the seed: a fold is fitted once for all models, by one process while others that need the same wait.
Files are written whole or not at all. They are not trusted: only tensors are loaded, and a file
that is broken, or not what its name says, is computed anew. A folder that cannot be used costs a
warning and the time to compute, nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

import torch
from torch import Tensor

from ifmixup.errors import CacheWarning
from ifmixup.graphs import Graphs
from ifmixup.safe_io import atomically, cache_folder
from ifmixup.tensor_files import load_tensors
from ifmixup.values import Plain

VARIABLE = "IFMIXUP_CACHE"
OFF = "off"
FORMAT = 2  # another number makes new files: count up when a method's fit changes
MOST_BYTES = 2**31  # of all files; the least recently used ones go first

_OURS = re.compile(r"[a-z_]+-[0-9a-f]{64}\.pt")
_LEFT_OVER = re.compile(r"\.[a-z_]+-[0-9a-f]{64}\.pt\.(.*\.tmp|lock)")
_HOUR, _HALF_A_MINUTE = 3600.0, 30.0
_SECONDS = "fit_seconds"  # beside the tensors: how long it took to compute them
_SAVED: ContextVar[list[float] | None] = ContextVar("saved", default=None)
_SWITCHED_OFF: ContextVar[bool] = ContextVar("switched_off", default=False)

Check = Callable[[dict[str, Tensor]], bool]


def remember(
    method: str,
    options: Mapping[str, Plain],
    graphs: Graphs,
    compute: Callable[[], dict[str, Tensor]],
    *,
    seed: int = 0,
    check: Check | None = None,
    waiting: Callable[[], None] | None = None,
) -> dict[str, Tensor]:
    """What ``compute`` gives, from the cache if it is there.

    Args:
        method: The name of the method.
        options: All options that the result depends on.
        graphs: The graphs that it is computed from, and nothing else.
        compute: Computes it: tensors by name.
        seed: The seed of the computation.
        check: Whether tensors that were read from a file can be what ``compute`` gives.
        waiting: Called every half minute while another process computes the same.

    Returns:
        The tensors; on the processor if they were read.
    """
    root = folder()
    if root is None:
        return compute()
    path = root / f"{method}-{digest(method, options, graphs, seed)}.pt"
    with _alone(path, waiting):
        found = _read(path)
        if found is not None:
            seconds = _pop_seconds(found)
            if seconds is not None and (check is None or check(found)):
                saved = _SAVED.get()
                if saved is not None:
                    saved.append(seconds)
                return found
            _warn(path, "its content does not match its name")
        began = time.perf_counter()
        found = compute()
        took = torch.tensor(time.perf_counter() - began, dtype=torch.float64, device="cpu")
        _write(path, {**found, _SECONDS: took})
    return found


def folder() -> Path | None:
    """Where files are kept; None where nothing is."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() == OFF or _SWITCHED_OFF.get():
        return None
    found = Path(named).expanduser() if named else cache_folder() / "fits"
    return found if named or found.is_absolute() else None  # a user without a home


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Nothing is kept in the block: for a trial that is not a training."""
    token = _SWITCHED_OFF.set(True)
    try:
        yield
    finally:
        _SWITCHED_OFF.reset(token)


@contextlib.contextmanager
def saved_seconds() -> Iterator[list[float]]:
    """A list of how long what is read from the cache in the block took when it was computed."""
    saved: list[float] = []
    token = _SAVED.set(saved)
    try:
        yield saved
    finally:
        _SAVED.reset(token)


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


@contextlib.contextmanager
def _alone(path: Path, waiting: Callable[[], None] | None) -> Iterator[None]:
    """Wait until no other process computes the same; where files cannot be locked, do not.

    The lock of a process that is killed is free. Its file is removed in the end; a process that
    comes at that moment at worst computes the same once more.
    """
    from filelock import FileLock, Timeout

    file = path.with_name(f".{path.name}.lock")
    lock = FileLock(file)
    with contextlib.suppress(OSError, NotImplementedError):
        path.parent.mkdir(parents=True, exist_ok=True)
        while not lock.is_locked:
            try:
                lock.acquire(timeout=_HALF_A_MINUTE)
            except Timeout:  # which is an OSError
                if waiting is not None:
                    waiting()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if lock.is_locked:
                file.unlink(missing_ok=True)
        lock.release()


def _pop_seconds(found: dict[str, Tensor]) -> float | None:
    """Take how long it took from among the tensors of a file; None if that is not there."""
    value = found.pop(_SECONDS, None)
    seconds = float(value) if value is not None and value.numel() == 1 else math.nan
    return seconds if 0 <= seconds < math.inf else None


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
            f"The cache folder {path.parent} cannot be written to: {reason}. Training continues, "
            f"but the next one has to compute this again. Set the environment variable {VARIABLE} "
            f"to another folder, or to {OFF}.",
            CacheWarning,
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
        CacheWarning,
        stacklevel=2,
    )
