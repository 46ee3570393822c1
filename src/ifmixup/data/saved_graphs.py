"""Graphs in a ``.pt`` file, read without running anything that the file brings."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from ifmixup.data.stored import is_stored
from ifmixup.errors import DatasetError

MAX_BYTES = 8 * 1024**3
"""The largest file, in bytes and unpacked."""

MAX_SHARED = 1024**3
"""How much more than the file, in bytes, the graphs may hold where they share tensors."""

# The parts of a Data, which PyG does not declare safe itself: classes that only hold values.
_SAFE = [DataEdgeAttr, DataTensorAttr, GlobalStorage]

_HOW = (
    "Save the graphs as a plain list, torch.save(list(dataset), 'graphs.pt'), or with "
    "InMemoryDataset.save(list(dataset), 'graphs.pt'); each a Data with tensors, numbers and texts."
)


def read_saved(path: Path) -> Sequence[Data]:
    """The graphs of a file: a list of ``Data``, or what ``InMemoryDataset.save`` writes.

    Only tensors, plain values and PyG's own ``Data`` are loaded (``weights_only=True``).

    Raises:
        DatasetError: If the file needs more than that, or holds something else.
    """
    if not path.is_file():
        raise DatasetError(f"There is no file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile) as error:
        raise DatasetError(f"{path} is not a file of torch.save ({error}). {_HOW}") from error
    if size > MAX_BYTES:
        raise DatasetError(f"{path} holds {size} bytes, more than the {MAX_BYTES} allowed.")
    try:
        with _allowed():
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DatasetError(
            f"{path} is refused: it needs more than tensors and PyG's Data, which could run "
            f"anything on this machine. {_HOW}"
        ) from error
    # A damaged file makes torch raise RuntimeError, ValueError, KeyError, AttributeError, ...
    except Exception as error:
        raise DatasetError(f"{path} cannot be read ({error}). {_HOW}") from error
    try:
        _check_stored(found, path)
        graphs = _graphs(found, path)
        _check_shared(graphs, size, path)
        return graphs
    except DatasetError:
        raise
    except Exception as error:
        raise DatasetError(f"{path} does not hold whole graphs ({error}). {_HOW}") from error


def _allowed() -> AbstractContextManager[None]:
    """Lets PyG's parts be loaded, and nothing that is not named here or by PyG."""
    if hasattr(torch.serialization, "safe_globals"):
        return torch.serialization.safe_globals(_SAFE)
    torch.serialization.add_safe_globals(_SAFE)  # torch 2.4 has no other way
    return nullcontext()


def _graphs(found: Any, path: Path) -> list[Data]:
    if isinstance(found, tuple) and len(found) in (2, 3):
        data, slices = found[:2]
        data = Data.from_dict(data) if isinstance(data, dict) else data
        if isinstance(data, Data) and isinstance(slices, dict | None):
            return list(_Saved(data, slices))
    graphs = [found] if isinstance(found, Data) else found
    if not isinstance(graphs, list) or not all(isinstance(graph, Data) for graph in graphs):
        raise DatasetError(f"{path} holds a {type(found).__name__}, not graphs. {_HOW}")
    # Made anew: what was loaded is a Data by its name only, and may lack any part of one.
    return [Data.from_dict(graph.to_dict()) for graph in graphs]


def _check_stored(found: Any, path: Path) -> None:
    """See that tensors are as large as they say, before anything is made of them."""
    for tensor in _tensors(found):
        if tensor.layout == torch.strided and not is_stored(tensor):
            raise DatasetError(
                f"{path} has a tensor {list(tensor.shape)} of which it holds only a part. Save "
                "whole tensors: tensor.contiguous()."
            )


def _check_shared(graphs: list[Data], size: int, path: Path) -> None:
    """See that a few tensors, in graphs without number, do not unfold to more than there is."""
    total = sum(
        value.numel() * value.element_size()
        for graph in graphs
        for value in graph.to_dict().values()
        if isinstance(value, torch.Tensor)
    )
    if total > size + MAX_SHARED:
        raise DatasetError(
            f"{path} holds {size} bytes, but its graphs {total}: they share tensors. At most "
            f"{MAX_SHARED} bytes more than the file are allowed."
        )


def _tensors(found: Any) -> Iterator[torch.Tensor]:
    """All tensors in lists, dicts and graphs; each once, as lists may hold each other."""
    waiting, seen = [found], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, Data):
            waiting += one.to_dict().values()


class _Saved(InMemoryDataset):
    """What ``InMemoryDataset.save`` wrote."""

    def __init__(self, data: Data, slices: dict[str, torch.Tensor] | None) -> None:
        super().__init__(root=None)
        self.data, self.slices = data, slices
