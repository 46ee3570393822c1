"""A trained model that answers for graphs it has not seen."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, InMemoryDataset

from ifmixup.batch import from_batch
from ifmixup.data import FeatureEncoder
from ifmixup.errors import InputError, InputTypeError
from ifmixup.nn.graph_model import GraphModel
from ifmixup.prediction.check_graph import check_edges, shape_of
from ifmixup.prediction.model_file import ModelFile, empty_model, read_model_file
from ifmixup.safe_io import printable
from ifmixup.training.run import choose_device
from ifmixup.training.scaling import Scaling
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer, model_inputs

BATCH_SIZE = 256  # graphs


class Predictor:
    """A trained model with all that it needs to answer: its encoder, its scaling, its classes.

    Each graph is answered for itself: which others are asked about, and in which order, makes no
    difference but rounding.

    Args:
        model: The trained model, on the CPU.
        settings: How it was trained.
        data: What it was trained on, as :meth:`PackedDataset.describe
            <ifmixup.training.PackedDataset.describe>` gives it.
        scaling: What features and values were standardised by, on the CPU.

    Attributes:
        task: ``classes``, ``labels`` or ``values``.
        class_names: The names of the classes, or of the T columns; numbers where they have none.
        encoder: Makes the features of graphs with categories; None where there were none.
    """

    def __init__(
        self, model: GraphModel, settings: Settings, data: dict[str, Any], scaling: Scaling
    ) -> None:
        self.model = model.eval()
        self.settings = settings
        self.data = data
        self.scaling = scaling
        self.task: str = data["task"]
        names = data["class_names"] or map(str, range(data["num_outputs"]))
        self.class_names: list[str] = list(names)
        self.encoder: FeatureEncoder | None = None
        if data["encoder"] is not None:
            encoder = FeatureEncoder.of(data["encoder"])
            # A model that reads no edge attributes shall not ask for them.
            self.encoder = encoder if settings.use_edge_attr else replace(encoder, edges=None)

    @staticmethod
    def load(path: str | Path) -> Predictor:
        """The model in a file that ``ifmixup train`` or :func:`ifmixup.training.train` saved.

        The file is not trusted: only tensors and plain values are loaded, and all are checked.

        Raises:
            CheckpointError: If the file is none of ours, or damaged.
        """
        return Predictor.of_file(read_model_file(Path(path)))

    @staticmethod
    def of_file(file: ModelFile) -> Predictor:
        """The model of a file that has been read."""
        return Predictor(file.model, file.settings, file.data, file.scaling)

    @staticmethod
    def of(training: Trainer) -> Predictor:
        """The model of a training as it is now; the training may go on without it."""
        data = training.data.describe()
        model = empty_model(training.settings, data)
        # Cloned one by one: they are views of one tensor, which each of them would be saved with.
        weights = {k: v.detach().cpu().clone() for k, v in training.model.state_dict().items()}
        model.load_state_dict(weights, assign=True)
        scaling = Scaling(*(each.cpu() for each in training.scaling.to_dict().values()))
        return Predictor(model, training.settings, data, scaling)

    def predict(
        self,
        graphs: Iterable[Data],
        batch_size: int = BATCH_SIZE,
        *,
        device: str = "auto",
    ) -> Iterator[Tensor]:
        """What the model says of graphs, batch by batch, in the order of the graphs.

        What is in memory, a list or a dataset, is checked as a whole before anything is computed.
        Of anything else no more than a batch is held in memory, and each batch is checked when it
        comes.

        Args:
            graphs: A PyG dataset, a list of ``Data``, or anything that gives one after the other.
            batch_size: How many graphs at once.
            device: ``auto``, ``cpu``, ``cuda`` or ``mps``.

        Returns:
            Tensors ``[b, C]`` or ``[b, T]`` of doubles on the CPU: probabilities of the classes
            that sum to one, the probability of each label, or values in their original units.
        """
        if isinstance(graphs, Data):
            raise InputTypeError("Expected several graphs; got one. Put it into a list: [graph].")
        if isinstance(graphs, Sequence | np.ndarray | InMemoryDataset):
            # Here and not in a generator, which does nothing before it is asked for a batch.
            return self.answer(self.prepared(graphs), batch_size, device=device)
        batches = enumerate(_batches(graphs, batch_size))
        prepared = (
            graph
            for number, batch in batches
            for graph in self.prepared(batch, number * batch_size)
        )
        return self.answer(prepared, batch_size, device=device)

    def prepared(self, graphs: Iterable[Data], first: int = 0) -> list[Data]:
        """Graphs with the features that the model reads: encoded, checked and standardised.

        Args:
            graphs: The graphs.
            first: The number of the first of them, for messages.

        Raises:
            InputError: If they do not fit; the message says what was given and what the model
                was trained on.
        """
        self.check_encoder(getattr(graphs, "encoder", None))
        several = list(graphs)
        for place, graph in enumerate(several, first):
            if not isinstance(graph, Data):
                raise InputTypeError(
                    f"Expected PyG Data; graph {place} is a {type(graph).__name__}."
                )
        keys = ("x", "edge_attr") if self.settings.use_edge_attr else ("x",)
        if self.encoder is not None and any(_has_categories(graph, keys) for graph in several):
            try:
                several = self.encoder.transform(several)
            except InputError as error:
                raise InputError(f"{error} {self.trained_on()}") from error
        read = [self._read(place, graph) for place, graph in enumerate(several, first)]
        if any("edge_weight" in graph for graph in read):
            # PyG batches what the first graph has: a weight must not depend on the company.
            for graph in read:
                if "edge_weight" not in graph:
                    graph.edge_weight = graph.x.new_ones(graph.num_edges)
        return read

    def answer(
        self, prepared: Iterable[Data], batch_size: int = BATCH_SIZE, *, device: str = "auto"
    ) -> Iterator[Tensor]:
        """What the model says of graphs that :meth:`prepared` has made fit."""
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1; got {batch_size}.")
        there = choose_device(device)
        # A copy where it moves, so that the model at rest is on the CPU, for any machine.
        model = self.model if there.type == "cpu" else copy.deepcopy(self.model).to(there)
        return (self._outputs(model, batch, there) for batch in _batches(prepared, batch_size))

    def doubt(self, graph: Data) -> str | None:
        """What makes the answer for a graph that was :meth:`prepared` doubtful; None if nothing.

        The categories of a node that the training graphs did not have are zeros here.
        """
        place, doubts = 0, []
        for column in self.encoder.nodes if self.encoder is not None else ():
            if column.kinds is not None:
                unknown = int((graph.x[:, place : place + column.width] == 0).all(1).sum())
                if unknown:
                    nodes = "1 node" if unknown == 1 else f"{unknown} nodes"
                    doubts.append(f"{nodes} of an unknown {column.name}")
            place += column.width
        return f"{' and '.join(doubts)}: not in the training data" if doubts else None

    def _outputs(self, model: GraphModel, batch: list[Data], device: torch.device) -> Tensor:
        with torch.no_grad():
            graphs = from_batch(Batch.from_data_list(batch).to(device))
            # doubles on the CPU: not every device has them
            return self._meaning(model(**model_inputs(graphs, mirrored=False)).cpu().double())

    def _meaning(self, out: Tensor) -> Tensor:
        if self.task == "classes":
            return out.softmax(1)
        return out.sigmoid() if self.task == "labels" else self.scaling.outputs(out)

    def check_encoder(self, other: FeatureEncoder | None) -> None:
        """See that a dataset was not encoded otherwise: features of the same width may differ."""
        if other is None:
            return
        mine = None if self.encoder is None else self._kinds(self.encoder)
        theirs = self._kinds(other)
        if mine == theirs or (mine is None and not any(theirs)):
            return
        raise InputError(
            "These graphs were encoded by themselves, and not as the model's training graphs. "
            "Load them with encoder=predictor.encoder, or give graphs that are not encoded. "
            f"{self.trained_on()}"
        )

    def _kinds(self, encoder: FeatureEncoder) -> list[tuple[int | str, ...] | None]:
        """The categories of every column that the model reads."""
        edges = (encoder.edges or ()) if self.settings.use_edge_attr else ()
        return [column.kinds for column in (*encoder.nodes, *edges)]

    def _read(self, place: int, graph: Data) -> Data:
        """The part of a graph that the model reads, standardised."""
        width, edge_dim = self.data["num_features"], self.data["edge_dim"]
        x, edge_attr = graph.get("x"), graph.get("edge_attr")
        if x is None or x.dim() != 2 or x.size(1) != width or not x.is_floating_point():
            given = "no node features x" if x is None else f"x of {shape_of(x)}"
            raise InputError(
                f"Graph {place} has {given}, but the model takes floats [nodes, {width}]. "
                f"{self.trained_on()}"
            )
        if not bool(x.isfinite().all()):
            raise InputError(
                f"The features x of graph {place} are not all finite. Fill in what is missing "
                f"(NaN), or leave the graph out."
            )
        check_edges(place, graph)
        kept = {"x": self.scaling.features(x.to(self.scaling.x_mean))}
        edge_index = graph.get("edge_index")
        kept["edge_index"] = x.new_empty(2, 0).long() if edge_index is None else edge_index
        if graph.get("edge_weight") is not None:
            kept["edge_weight"] = graph.edge_weight
        if self.settings.use_edge_attr:
            if edge_attr is None and not graph.num_edges:
                edge_attr = x.new_empty(0, edge_dim)
            shape = None if edge_attr is None else tuple(edge_attr.shape)
            if shape != (graph.num_edges, edge_dim) or not edge_attr.is_floating_point():
                given = (
                    "no edge_attr" if edge_attr is None else f"edge_attr of {shape_of(edge_attr)}"
                )
                raise InputError(
                    f"Graph {place} has {given}, but the model takes floats "
                    f"[{graph.num_edges} edges, {edge_dim}]. {self.trained_on()}"
                )
            kept["edge_attr"] = edge_attr.to(self.scaling.x_mean)
        return Data(**kept)

    def trained_on(self) -> str:
        """What the model knows, as a sentence for messages."""
        told = f"It was trained on {self.data['name']}, with {self.data['num_features']} features"
        if self.encoder is not None:
            names = self.encoder.feature_names
            more = f", and {len(names) - 10} more" if len(names) > 10 else ""
            told += f" ({', '.join(names[:10])}{more})"
        return f"{printable(told, 500)}. Prepare these graphs as those were."


def _batches(graphs: Iterable[Data], size: int) -> Iterator[list[Data]]:
    several = iter(graphs)
    while batch := list(islice(several, size)):
        yield batch


def _has_categories(graph: Data, keys: Sequence[str]) -> bool:
    """Whether a graph has features that are yet to be encoded."""
    if "node_kinds" in graph:
        return True
    found = [graph.get(key) for key in keys]
    return any(
        isinstance(each, Tensor) and (each.dim() == 1 or not each.is_floating_point())
        for each in found
    )
