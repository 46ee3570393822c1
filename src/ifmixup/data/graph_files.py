"""An untrusted folder of graphs, with one GraphML or node-link JSON file per graph."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ifmixup.data.dataset import NoGraphError, Rows, Skips
from ifmixup.data.networkx import read_networkx, target_cells
from ifmixup.data.raw import LoadOptions, RawGraphs
from ifmixup.data.table import Table
from ifmixup.errors import DatasetError, import_extra
from ifmixup.safe_io import check_size, max_bytes

MAX_FILE = 100 * 1024**2  # bytes of one graph
MAX_BYTES = 2 * 1024**3  # of all files of a folder
LABELS = "labels.csv"  # its first column is the name of a graph's file, or its stem


def graph_files(folder: Path) -> list[Path]:
    """The GraphML and JSON files of a folder, in the order of their names."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _READERS)


def read_graph_files(folder: Path, options: LoadOptions) -> RawGraphs:
    """The graphs of a folder. A file that is not a graph is skipped.

    Labels are in the columns ``options.label`` of ``labels.csv``, or else an attribute of the
    graphs; a graph without the attribute that identifies it has its file's name without the ending.
    """
    files = graph_files(folder)
    check_size(str(folder), sum(path.stat().st_size for path in files), MAX_BYTES)
    skips = Skips(str(folder), options.strict)
    graphs, read, lines = [], [], []
    for line, path in enumerate(files, 1):
        try:
            graphs.append(_read(path))
        except NoGraphError as error:
            skips.add(line, path.name, str(error), path.stem)
            continue
        read.append(path)
        lines.append(line)
    if not graphs:
        raise skips.nothing_left()
    cells, names = None, None
    if options.labelled and (folder / LABELS).is_file():
        cells, names = _labels(folder / LABELS, read, options.label)
    elif options.labelled:
        cells = target_cells(graphs, options.label)
    stems = [path.stem for path in read]
    raw = read_networkx(graphs, cells, skips, options, ids=stems, target_names=names)
    if options.columns and (folder / LABELS).is_file():
        rows, names = _labels(folder / LABELS, read, ",".join(options.columns))
        columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        raw.rows = Rows(range(len(rows)), columns=columns)
    raw.name = folder.resolve().name
    raw.lines, raw.texts = lines, [path.name for path in read]
    return raw


def _read(path: Path) -> Any:
    """The NetworkX graph in a file."""
    try:
        with path.open("rb") as stream:
            content = stream.read(max_bytes(MAX_FILE) + 1)
    except OSError as error:
        raise NoGraphError(f"it cannot be read: {error}") from error
    try:
        check_size("it", len(content), MAX_FILE)
    except DatasetError as error:
        raise NoGraphError(str(error)) from error
    return _READERS[path.suffix.lower()](content)


def _graphml(content: bytes) -> Any:
    networkx = import_extra("networkx", "plot")
    _refuse_doctype(content)
    try:
        graph = networkx.read_graphml(io.BytesIO(content))
    # A broken file makes it raise NetworkXError, KeyError, ValueError, TypeError, ...
    except Exception as error:
        raise NoGraphError(f"not GraphML that NetworkX can read: {error}") from error
    for _, _, attributes in graph.edges(data=True):
        attributes.pop("id", None)  # the name of the edge in the file, not a feature
    return graph


def _refuse_doctype(content: bytes) -> None:
    """Refuse a document type and entities: a few lines of them can expand to gigabytes."""

    def refuse(*_: Any) -> None:
        raise NoGraphError("it has a DOCTYPE, which GraphML does not need; refused")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    # An encoding that Python does not know is a LookupError, one of several bytes a ValueError.
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise NoGraphError(f"not XML: {error}") from error


def _node_link(content: bytes) -> Any:
    networkx = import_extra("networkx", "plot")
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NoGraphError(f"not JSON: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("nodes"), list):
        raise NoGraphError("not node-link JSON: there is no list 'nodes'")
    links = values.get("links", values.get("edges"))  # newer NetworkX writes "edges"
    if not isinstance(links, list):
        raise NoGraphError("not node-link JSON: there is no list 'links' or 'edges'")
    about = values.get("graph", {})
    graph = networkx.DiGraph() if values.get("directed") is True else networkx.Graph()
    graph.graph.update(about if isinstance(about, dict) else {})
    for index, node in enumerate(values["nodes"]):
        key = _key(node, "id", f"node {index}")
        if key in graph:
            raise NoGraphError(f"node {key!r} occurs twice")
        graph.add_node(key)
        graph.nodes[key].update(node)
        del graph.nodes[key]["id"]
    for index, link in enumerate(links):
        ends = [_key(link, name, f"link {index}") for name in ("source", "target")]
        for end in ends:
            if end not in graph:
                raise NoGraphError(f"link {index} has an end {end!r} that is not a node")
        graph.add_edge(*ends)
        others = link.keys() - {"source", "target", "key"}
        graph.edges[ends].update((name, link[name]) for name in link if name in others)
    return graph


def _key(values: Any, name: str, what: str) -> str | int | float:
    key = values.get(name) if isinstance(values, dict) else None
    if not isinstance(key, str | int | float):
        raise NoGraphError(f"{what} has no {name!r} that is a text or a number")
    return key


_READERS: dict[str, Callable[[bytes], Any]] = {".graphml": _graphml, ".json": _node_link}


def _labels(
    path: Path, files: Sequence[Path], label: str | None
) -> tuple[list[list[str]], list[str]]:
    """The labels of the files, and the names of their columns."""
    table = Table(path)
    columns = list(range(1, len(table.columns))) if label is None else table.indices(label)
    if not columns:
        raise DatasetError(f"{path} needs two columns, file and label; it has only one.")
    known: dict[str, list[str]] = {}
    for row in table.rows([0, *columns]):
        if row.problem is not None:
            raise DatasetError(f"{path}, line {row.line}: {row.problem}.")
        name = row.cells[0].strip()
        if name in known:
            raise DatasetError(f"{path}, line {row.line}: {name!r} occurs twice.")
        known[name] = row.cells[1:]
    nothing = [""] * len(columns)
    cells = []
    for file in files:
        found = [known[name] for name in (file.name, file.stem) if name in known] or [nothing]
        if found[0] != found[-1]:
            raise DatasetError(
                f"{path} has two labels for one file: {file.name!r} and {file.stem!r} differ. "
                "Leave out one of the lines."
            )
        cells.append(found[0])
    if all(row == nothing for row in cells):
        raise DatasetError(
            f"{path} has no label for any of the {len(files)} files, such as {files[0].name!r}."
        )
    return cells, [table.columns[column] for column in columns]
