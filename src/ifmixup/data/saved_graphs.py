"""Graphs in an untrusted ``.pt`` file: read without running any code in the file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from ifmixup.data.dataset import GraphDataset
from ifmixup.errors import DatasetError
from ifmixup.safe_io import check_size, printable
from ifmixup.tensor_files import load_tensors

MAX_BYTES = 8 * 1024**3  # of a file
MAX_SHARED = 1024**3  # how many more bytes than the file graphs that share tensors may hold

# A Data and its parts: classes that only hold values.
_SAFE = (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage)

_HOW = (
    "Save the graphs as a plain list, torch.save(list(dataset), 'graphs.pt'), or with "
    "InMemoryDataset.save(list(dataset), 'graphs.pt'); each a Data with tensors, numbers and texts."
)


def read_saved(path: Path) -> Sequence[Data]:
    """The graphs of a file: a list of ``Data``, or the output of ``InMemoryDataset.save``.

    Only tensors, plain values and PyG's own ``Data`` are loaded; a file that needs more is refused
    (:mod:`ifmixup.tensor_files`).
    """
    if not path.is_file():
        raise DatasetError(f"There is no file {path}.")
    size = path.stat().st_size
    check_size(str(path), size, MAX_BYTES)
    try:
        found = load_tensors(path, _SAFE)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from error
    except UnpicklingError as error:
        raise DatasetError(
            f"{path} is refused: it needs more than tensors and PyG's Data, which could run "
            f"anything on this machine or fill its memory ({printable(error)}). {_HOW}"
        ) from error
    except zipfile.BadZipFile as error:
        raise DatasetError(f"{path} is not a file of torch.save ({error}). {_HOW}") from error
    # A damaged file makes torch raise RuntimeError, ValueError, KeyError, AttributeError, ...
    except Exception as error:
        raise DatasetError(f"{path} cannot be read ({printable(error)}). {_HOW}") from error
    try:
        # Before anything is computed with a tensor that is not as large as it claims.
        for tensor in _tensors(found):
            if tensor.layout == torch.strided and not is_stored(tensor):
                raise DatasetError(
                    f"{path} has a tensor {list(tensor.shape)} of which it holds only a part. Save "
                    "whole tensors: tensor.contiguous()."
                )
        graphs = _graphs(found, path)
        tensors = [tensor for graph in graphs for tensor in _tensors(graph)]
        total = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    except DatasetError:
        raise
    except Exception as error:
        raise DatasetError(f"{path} does not hold whole graphs ({error}). {_HOW}") from error
    if total > size + MAX_SHARED:  # many graphs that share a few tensors
        raise DatasetError(
            f"{path} holds {size} bytes, but its graphs {total}: they share tensors. At most "
            f"{MAX_SHARED} bytes more than the file are allowed."
        )
    return graphs


def is_stored(tensor: Tensor) -> bool:
    """Whether each number of a dense tensor has memory of its own.

    ``torch.zeros(1).expand(10**9)`` is 4 bytes in a file, and gigabytes as soon as something is
    computed with it. A tensor on the device meta has no memory at all.
    """
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return False
    return tensor.untyped_storage().nbytes() >= tensor.numel() * tensor.element_size()


def _graphs(found: Any, path: Path) -> list[Data]:
    if isinstance(found, tuple) and len(found) in (2, 3):
        data, slices = found[:2]
        data = Data.from_dict(data) if isinstance(data, dict) else data
        if isinstance(data, Data) and isinstance(slices, dict | None):
            return list(GraphDataset(path.stem, data, slices))  # type: ignore[arg-type]
    graphs = [found] if isinstance(found, Data) else found
    if not isinstance(graphs, list) or not all(isinstance(graph, Data) for graph in graphs):
        raise DatasetError(f"{path} holds a {type(found).__name__}, not graphs. {_HOW}")
    # A new Data of its values: the loaded object may lack any part of one.
    return [Data.from_dict(graph.to_dict()) for graph in graphs]


def _tensors(found: Any) -> Iterator[Tensor]:
    """All tensors in lists, dicts and graphs, each once: lists may hold each other."""
    waiting, seen = [found], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, Data):
            waiting += one.to_dict().values()
