"""Loading a dataset by its name."""

from __future__ import annotations

from ifmixup.data.dataset import TUGraphs
from ifmixup.data.download import download
from ifmixup.data.files import read_files
from ifmixup.data.find import PathLike, find
from ifmixup.data.names import canonical
from ifmixup.data.tu import parse


def load(name: str, root: PathLike | None = None) -> TUGraphs:
    """Load a dataset of the TU collection as a PyG ``InMemoryDataset``.

    MUTAG comes with ifmixup. Any other one is looked for in ``root``, in the folder that the
    environment variable ``IFMIXUP_DATA`` names and in the cache folder, as ``NAME.zip`` or as the
    unpacked text files of a PyG root (``NAME/raw/NAME_A.txt``); only then it is downloaded.

    Each graph has ``x``, ``edge_index``, ``y`` and, where the dataset has edge labels,
    ``edge_attr``, equal to those of PyG's ``TUDataset``. Datasets without node labels and
    attributes (IMDB) get one-hot degrees, whose width is fixed by the whole dataset. The text is
    read anew each time and nothing is cached, so there is nothing stale or half-written.

    Args:
        name: One of :data:`ifmixup.data.NAMES`, in any case and also as ``IMDB-B`` or ``IMDB-M``,
            or any other name of the collection.
        root: A folder to look in first, and to download to.

    Raises:
        DatasetError: If the dataset cannot be had, or its files are broken.

    Example:
        >>> load("MUTAG")
        MUTAG(188)
    """
    name = canonical(name)
    source = find(name, root) or download(name, root)
    return TUGraphs(name, *parse(read_files(source, name), str(source), name))
