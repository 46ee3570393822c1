"""A dataset of any size in files that are mapped into memory: written as a stream, read by index.

A folder ``NAME.packed`` holds one binary file per attribute and ``packed.json``, which says what is
in them. Mapped pages belong to the system: several workers share one copy, and a process's own
memory does not grow with the dataset.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.dataset import usual_metric
from ifmixup.errors import DatasetError, InputError
from ifmixup.graphs import Graphs, is_undirected
from ifmixup.training.packed import PackedDataset, kind_of, num_outputs, pack
from ifmixup.values import as_dict, decode_fields

ENDING = ".packed"
FORMAT = 1
AT_ONCE = 2000  # graphs in memory while a stream is written
_HEAD = "packed.json"
_HASHED = 1 << 16  # rows of a file that are hashed at once
_DTYPES = ("float32", "float64", "int64")
_LEVELS = {"x": "nodes", "y": "graphs", "node_ptr": "", "edge_ptr": ""}  # else edges

PathLike = str | os.PathLike[str]


def pack_stream(
    graphs: Iterable[Data],
    folder: PathLike,
    *,
    name: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    class_names: Sequence[str] | None = None,
    each: Callable[[int], None] | None = None,
) -> PackedDataset:
    """Write a stream of graphs into a folder, and open it as a dataset.

    Only a few thousand graphs are in memory at a time. The result is the same as that of packing a
    list of the same graphs, down to the fingerprint, and :func:`ifmixup.compare` takes it.

    Args:
        graphs: Any iterable of PyG ``Data`` with ``x``, ``edge_index`` and ``y``, such as a
            generator; it is read once.
        folder: Where the files go; it ends in ``.packed`` and must not exist yet. It is there
            whole or not at all.
        name: What to call the dataset; by default the folder's name.
        task: ``classes``, ``labels`` or ``values``; by default what the first graphs look like.
        metric: What predictions are judged by; by default the usual metric of the task.
        class_names: The names of the classes, or of the columns of ``y``.
        each: Called with the number of graphs written so far, for a progress bar.

    Example:
        >>> import tempfile
        >>> from ifmixup.data import load
        >>> path = Path(tempfile.mkdtemp()) / "mutag.packed"
        >>> len(pack_stream(iter(load("MUTAG")), path))
        188
    """
    target = Path(folder)
    if target.suffix != ENDING:
        raise InputError(f"The folder of a packed dataset ends in {ENDING}; got {target.name!r}.")
    if target.exists():
        raise InputError(f"{target} already exists. Remove it, or choose another folder.")
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        unfinished.mkdir(parents=True)
        head = _write(graphs, unfinished, name or target.stem, task, metric, class_names, each)
        text = json.dumps({"format": FORMAT, **head}, indent=1) + "\n"
        (unfinished / _HEAD).write_text(text, encoding="utf-8")
        os.replace(unfinished, target)
    except OSError as error:
        raise DatasetError(f"{target} cannot be written: {error}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return open_packed(target)


def is_packed(source: object) -> bool:
    """Whether ``source`` is the path of a packed dataset."""
    return isinstance(source, str | os.PathLike) and (Path(source) / _HEAD).is_file()


def open_packed(folder: PathLike) -> PackedDataset:
    """Open what :func:`pack_stream` wrote; the files are mapped, not read.

    Raises:
        DatasetError: If files are missing, or are not of the size that they should have.
    """
    path = Path(folder)
    try:
        head = dict(as_dict(json.loads((path / _HEAD).read_text(encoding="utf-8"))))
        if head.pop("format", None) != FORMAT:
            raise InputError(f"its format is not {FORMAT}")
        arrays = as_dict(head.pop("arrays", None))
        if not {"x", "edge_index", "y", "node_ptr", "edge_ptr"} <= arrays.keys():
            raise InputError("an attribute is missing")
        tensors = {key: _mapped(path, key, *as_file) for key, as_file in arrays.items()}
        graphs = _graphs(tensors)
        _check(graphs)
        empty = {"graphs": None, "split": None, "rows": None, "folder": None}
        found = decode_fields("it", {**head, **empty}, PackedDataset, graphs=Any)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DatasetError(f"{path} is not a packed dataset: {error}.") from error
    return PackedDataset(**{**found, "graphs": graphs, "folder": str(path.resolve())})


def _write(
    graphs: Iterable[Data],
    folder: Path,
    name: str,
    task: str | None,
    metric: str | None,
    class_names: Sequence[str] | None,
    each: Callable[[int], None] | None,
) -> dict[str, Any]:
    """Write all files but the head, and return that."""
    files = _Files(folder)
    first: PackedDataset | None = None
    columns: set[int] = set()
    undirected = [True, True]  # without and with edge attributes
    count = outputs = 0
    try:
        for several in _several(graphs):
            try:
                part = pack(several, name, task=task, metric=metric)
                first = first or part
                task = first.task
                _check_alike(first, part)
            except InputError as error:
                raise InputError(f"In the graphs from index {count} on: {error}") from error
            columns.update(part.continuous)
            outputs = max(outputs, part.num_outputs)
            for i, found in enumerate((part.without_edge_attr(), part)):
                undirected[i] = undirected[i] and is_undirected(found.graphs)
            files.add(part.graphs)
            count += len(several)
            if each is not None:
                each(count)
        if first is None:
            raise InputError("The stream has no graphs; at least two are needed.")
        arrays = files.close()
    finally:
        files.close()
    tensors = {key: _mapped(folder, key, *as_file) for key, as_file in arrays.items()}
    listed = sorted(columns)
    names = None if class_names is None else [str(one) for one in class_names]
    return {
        "name": name,
        "num_outputs": num_outputs(outputs, first.task, names),
        "fingerprint": _fingerprint(_graphs(tensors), kind_of(first.task, listed)),
        "task": first.task,
        "metric": metric or usual_metric(first.task, _graphs(tensors).graphs["y"]),
        "class_names": names,
        "encoder": None,
        "continuous": listed,
        "undirected": undirected,
        "arrays": arrays,
    }


class _Files:
    """One open file per attribute; parts of a dataset are added to their ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open: dict[str, Any] = {}
        self.arrays: dict[str, list[Any]] = {}
        self.nodes = self.edges = 0

    def add(self, graphs: Graphs) -> None:
        new = not self.open
        # Without the end of a part, which is where the next one begins.
        at = {"node_ptr": graphs.node_ptr + self.nodes, "edge_ptr": graphs.edge_ptr + self.edges}
        for key, ptr in at.items():
            self._append(key, ptr if new else ptr[1:])
        # An edge is a row here, and a column in memory: its two nodes are read together.
        self._append("edge_index", (graphs.edge_index + self.nodes).t())
        for level in (graphs.nodes, graphs.edge_attributes, graphs.graphs):
            for key, value in level.items():
                self._append(key, value)
        self.nodes += graphs.num_nodes
        self.edges += graphs.edge_index.size(1)

    def _append(self, key: str, value: Tensor) -> None:
        array = value.contiguous().numpy()
        if key not in self.open:
            self.open[key] = (self.folder / f"{key}.bin").open("wb")
            self.arrays[key] = [array.dtype.name, [0, *array.shape[1:]]]
        self.arrays[key][1][0] += len(array)
        self.open[key].write(array.astype(array.dtype.newbyteorder("<"), copy=False).data)

    def close(self) -> dict[str, list[Any]]:
        """Bring everything to the disk; the type and shape of each file."""
        for stream in self.open.values():
            if not stream.closed:
                stream.flush()
                os.fsync(stream.fileno())
                stream.close()
        return self.arrays


def _several(graphs: Iterable[Data]) -> Iterator[list[Data]]:
    """The graphs of a stream in parts; the last one has at least two, if there are two."""
    stream = iter(graphs)
    part = list(islice(stream, AT_ONCE))
    while part:
        more = list(islice(stream, AT_ONCE))
        if len(more) == 1:
            part, more = [*part, *more], []
        yield part
        part = more


def _check_alike(first: PackedDataset, part: PackedDataset) -> None:
    """Check that a part has the same attributes of the same width as the first one."""
    pairs = [(first.graphs.nodes, part.graphs.nodes), (first.graphs.edges, part.graphs.edges)]
    for one, other in (*pairs, (first.graphs.graphs, part.graphs.graphs)):
        if one.keys() != other.keys():
            raise InputError(f"they have {sorted(other)}, but the first ones have {sorted(one)}.")
        for key, value in one.items():
            shapes = [list(v.shape[2:] if key == "edge_index" else v.shape[1:])
                      for v in (value, other[key])]  # fmt: skip
            if shapes[0] != shapes[1] or value.dtype != other[key].dtype:
                raise InputError(
                    f"rows of {key} are {shapes[1]} of {other[key].dtype}, but those of the first "
                    f"graphs {shapes[0]} of {value.dtype}. Encode all graphs alike."
                )


def _mapped(folder: Path, key: str, kind: Any, shape: Any) -> Tensor:
    """One file as a tensor whose memory is the file's."""
    sizes = [int(size) for size in shape]
    if not key.isidentifier() or kind not in _DTYPES or not sizes or min(sizes) < 0:
        raise InputError(f"{key!r} cannot be {kind!r} of shape {shape!r:.60}")
    path, dtype = folder / f"{key}.bin", np.dtype(kind).newbyteorder("<")
    needed = int(np.prod(sizes, dtype=object)) * dtype.itemsize
    if path.stat().st_size != needed:
        raise InputError(f"{path.name} has {path.stat().st_size} bytes; it should have {needed}")
    if not needed:
        return torch.empty(sizes, dtype=getattr(torch, kind))
    array = np.memmap(path, dtype, "r", shape=tuple(sizes))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(array)


def _graphs(tensors: dict[str, Tensor]) -> Graphs:
    levels: dict[str, dict[str, Tensor]] = {"nodes": {}, "edges": {}, "graphs": {}, "": {}}
    for key, value in tensors.items():
        levels[_LEVELS.get(key, "edges")][key] = value.t() if key == "edge_index" else value
    return Graphs(levels["nodes"], levels["edges"], levels["graphs"], **levels[""])


def _check(graphs: Graphs) -> None:
    """Check that what belongs together has the same length, and that graphs are in order."""
    rows = {"nodes": graphs.node_ptr, "edges": graphs.edge_ptr}
    for what, ptr in rows.items():
        if ptr.dim() != 1 or len(ptr) < 2 or int(ptr[0]) or bool((ptr.diff() < 0).any()):
            raise InputError(f"the pointers of {what} are not in order")
    if graphs.edge_index.dim() != 2 or len(graphs.edge_index) != 2:
        raise InputError("edge_index does not have two rows")
    lengths = [(value, int(graphs.node_ptr[-1])) for value in graphs.nodes.values()]
    lengths += [(v, int(graphs.edge_ptr[-1])) for v in graphs.edge_attributes.values()]
    lengths += [(graphs.edge_index[0], int(graphs.edge_ptr[-1]))]
    lengths += [(value, graphs.num_graphs) for value in graphs.graphs.values()]
    if any(len(value) != length for value, length in lengths):
        raise InputError("its files have different numbers of rows")


def _fingerprint(graphs: Graphs, more: str) -> str:
    """The fingerprint of :func:`ifmixup.training.packed.pack`, of a few rows at a time."""
    hasher = hashlib.sha256(more.encode())
    levels = {**graphs.nodes, **graphs.edges, **graphs.graphs, "node_ptr": graphs.node_ptr}
    for name, value in sorted(levels.items()):
        hasher.update(f"{name} {value.dtype} {tuple(value.shape)};".encode())
        for row in value if name == "edge_index" else [value]:
            for part in row.split(_HASHED):
                hasher.update(part.contiguous().numpy().tobytes())
    return hasher.hexdigest()[:24]
