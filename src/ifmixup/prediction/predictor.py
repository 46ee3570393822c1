"""A trained model that predicts new graphs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, InMemoryDataset

from ifmixup.batch import from_batch
from ifmixup.components import foreign
from ifmixup.data import FeatureEncoder
from ifmixup.data.frames import is_frame, is_smiles
from ifmixup.data.molecules import graphs_of
from ifmixup.data.smiles import check_features
from ifmixup.edges import check_edge_index, check_edge_weight, shape_of
from ifmixup.errors import InputError, InputTypeError
from ifmixup.nn.inputs import GraphsModel
from ifmixup.prediction.model_file import build_model, read_model_file
from ifmixup.safe_io import printable
from ifmixup.training.run import choose_device
from ifmixup.training.scaling import Scaling
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer
from ifmixup.values import listed

BATCH_SIZE = 256  # graphs


class Predictor:
    """A trained model with everything it needs to predict: encoder, scaling and classes.

    Each graph is predicted independently of the other graphs (up to rounding).

    Args:
        model: The trained model, on the CPU; any ``nn.Module`` that is called as ``model(x,
            edge_index, edge_weight, batch)``.
        settings: How it was trained.
        data: What it was trained on, as :meth:`PackedDataset.describe
            <ifmixup.training.packed.PackedDataset.describe>` gives it.
        scaling: What features and values were standardised by, on the CPU.

    Attributes:
        task: ``classes``, ``labels`` or ``values``.
        class_names: The names of the classes, or of the T columns; numbers where they have none.
        encoder: Makes the features of graphs with categories; None where there were none.
    """

    def __init__(
        self, model: nn.Module, settings: Settings, data: dict[str, Any], scaling: Scaling
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
            # A model that reads no edge attributes must not ask for them.
            self.encoder = encoder if settings.use_edge_attr else replace(encoder, edges=None)

    @staticmethod
    def load(path: str | Path, model: Any = None) -> Predictor:
        """The model in a file that ``ifmixup train`` or :func:`ifmixup.training.fit.train` saved.

        The file is not trusted: only tensors and plain values are loaded, all are checked, and no
        code is imported because of it.

        Args:
            path: The file.
            model: The class, where the model is your own: the class itself, ``"nets.py:Net"`` or
                ``"package.module:Net"``. Its options come from the file. Other code than that of
                the training gives a warning.

        Raises:
            CheckpointError: If the file is not a model, is damaged, or its class is needed.
        """
        file = read_model_file(Path(path))
        return Predictor(file.build(model), file.settings, file.data, file.scaling)

    @staticmethod
    def of(trainer: Trainer) -> Predictor:
        """The model of a training as it is now; the training may go on without it."""
        data, spec = trainer.data.describe(), trainer.model_spec
        ours = not foreign(spec)
        model = build_model(spec, trainer.settings, data, empty=ours)
        # Cloned one by one: they may be views of one tensor, which each would be pickled with.
        weights = {k: v.detach().cpu().clone() for k, v in trainer.model.state_dict().items()}
        model.load_state_dict(weights, assign=ours)
        scaling = Scaling(*(each.cpu() for each in trainer.scaling.to_dict().values()))
        return Predictor(model, trainer.settings, data, scaling)

    def predict(
        self,
        graphs: Iterable[Data],
        batch_size: int = BATCH_SIZE,
        *,
        device: str = "auto",
    ) -> Iterator[Tensor]:
        """Predict graphs, batch by batch, in the order of the graphs.

        A list or a dataset is checked as a whole before anything is computed. Of any other iterable
        one batch at a time is read, checked and predicted.

        Args:
            graphs: A PyG dataset, a list of ``Data``, or an iterable of them; or molecules: a list
                or a Series of SMILES, or a DataFrame with a column ``smiles``.
            batch_size: Number of graphs per batch.
            device: ``auto``, ``cpu``, ``cuda`` or ``mps``.

        Returns:
            Tensors ``[b, C]`` or ``[b, T]`` of doubles on the CPU: probabilities of the classes
            that sum to one, the probability of each label, or values in their original units.
        """
        if isinstance(graphs, Data):
            raise InputTypeError("Expected several graphs; got one. Put it into a list: [graph].")
        if is_frame(graphs) or is_smiles(graphs):
            graphs = graphs_of(graphs, check_features(None, self.encoder))
        if isinstance(graphs, Sequence | np.ndarray | InMemoryDataset):
            # Not in a generator, which would check nothing before it is asked for a batch.
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

        If they do not fit, the error says which one, counted from ``first``, what was given, and
        what the model was trained on.
        """
        self.check_encoder(getattr(graphs, "encoder", None))
        several = list(graphs)
        for index, graph in enumerate(several, first):
            if not isinstance(graph, Data):
                raise InputTypeError(
                    f"Expected PyG Data; graph {index} is a {type(graph).__name__}."
                )
        keys = ("x", "edge_attr") if self.settings.use_edge_attr else ("x",)
        if self.encoder is not None and any(_has_categories(graph, keys) for graph in several):
            try:
                several = self.encoder.transform(several)
            except InputError as error:
                raise InputError(f"{error} {self.trained_on()}") from error
        read = [self._read(index, graph) for index, graph in enumerate(several, first)]
        if any("edge_weight" in graph for graph in read):
            # PyG batches what the first graph has, and no graph must depend on the others.
            for graph in read:
                if "edge_weight" not in graph:
                    graph.edge_weight = graph.x.new_ones(graph.num_edges)
        return read

    def answer(
        self, prepared: Iterable[Data], batch_size: int = BATCH_SIZE, *, device: str = "auto"
    ) -> Iterator[Tensor]:
        """Predict graphs that were :meth:`prepared`."""
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1; got {batch_size}.")
        target = choose_device(device)
        # A copy for another device: the predictor itself stays on the CPU, for any machine.
        model = self.model if target.type == "cpu" else copy.deepcopy(self.model).to(target)
        called = GraphsModel(model)
        return (self._outputs(called, batch, target) for batch in _batches(prepared, batch_size))

    def doubt(self, graph: Data) -> str | None:
        """Why the prediction of a graph that was :meth:`prepared` is doubtful; None if it is not.

        Categories that the training graphs did not have are zeros here.
        """
        start, doubts = 0, []
        for column in self.encoder.nodes if self.encoder is not None else ():
            if column.kinds is not None:
                unknown = int((graph.x[:, start : start + column.width] == 0).all(1).sum())
                if unknown:
                    nodes = "1 node" if unknown == 1 else f"{unknown} nodes"
                    doubts.append(f"{nodes} with an unknown {column.name}")
            start += column.width
        return f"{' and '.join(doubts)}: not in the training data" if doubts else None

    def _outputs(self, model: GraphsModel, batch: list[Data], device: torch.device) -> Tensor:
        with torch.no_grad():
            graphs = from_batch(Batch.from_data_list(batch).to(device))
            out = model(graphs).cpu().double()  # not every device has doubles
        if self.task == "classes":
            return out.softmax(1)
        return out.sigmoid() if self.task == "labels" else self.scaling.outputs(out)

    def check_encoder(self, other: FeatureEncoder | None) -> None:
        """Check that a dataset was not encoded otherwise: features of equal width may differ."""
        if other is None:
            return
        mine = None if self.encoder is None else self._kinds(self.encoder)
        theirs = self._kinds(other)
        if mine == theirs or (mine is None and not any(theirs)):
            return
        raise InputError(
            f"These graphs have their own encoding, not that of the model's training graphs. Load "
            f"them with encoder=predictor.encoder, or give graphs that are not encoded. "
            f"{self.trained_on()}"
        )

    def _kinds(self, encoder: FeatureEncoder) -> list[tuple[int | str, ...] | None]:
        """The categories of every column that the model reads."""
        edges = (encoder.edges or ()) if self.settings.use_edge_attr else ()
        return [column.kinds for column in (*encoder.nodes, *edges)]

    def _read(self, index: int, graph: Data) -> Data:
        """The part of a graph that the model reads, checked and standardised."""
        width, edge_dim = self.data["num_features"], self.data["edge_dim"]
        x, edge_attr = graph.get("x"), graph.get("edge_attr")
        if x is None or x.dim() != 2 or x.size(1) != width or not x.is_floating_point():
            given = "no node features x" if x is None else f"x of {shape_of(x)}"
            raise InputError(
                f"Graph {index} has {given}, but the model takes floats [nodes, {width}]. "
                f"{self.trained_on()}"
            )
        if not bool(x.isfinite().all()):
            raise InputError(
                f"The features x of graph {index} are not all finite. Fill in what is missing "
                f"(NaN), or leave the graph out."
            )
        kept = {"x": self.scaling.features(x.to(self.scaling.x_mean)), **_edges(index, graph)}
        count = kept["edge_index"].size(1)
        if self.settings.use_edge_attr:
            if edge_attr is None and not count:
                edge_attr = x.new_empty(0, edge_dim)
            shape = None if edge_attr is None else tuple(edge_attr.shape)
            if shape != (count, edge_dim) or not edge_attr.is_floating_point():
                given = (
                    "no edge_attr" if edge_attr is None else f"edge_attr of {shape_of(edge_attr)}"
                )
                raise InputError(
                    f"Graph {index} has {given}, but the model takes floats "
                    f"[{count} edges, {edge_dim}]. {self.trained_on()}"
                )
            kept["edge_attr"] = edge_attr.to(self.scaling.x_mean)
        return Data(**kept)

    def trained_on(self) -> str:
        """What the model was trained on, as a sentence for messages."""
        told = f"It was trained on {self.data['name']}, with {self.data['num_features']} features"
        if self.encoder is not None:
            told += f" ({listed(self.encoder.feature_names)})"
        return f"{printable(told, 500)}. Prepare these graphs in the same way."


def _batches(graphs: Iterable[Data], size: int) -> Iterator[list[Data]]:
    several = iter(graphs)
    while batch := list(islice(several, size)):
        yield batch


def _has_categories(graph: Data, keys: Sequence[str]) -> bool:
    """Whether a graph has features that must be encoded first."""
    found = [graph[key] for key in keys if isinstance(graph.get(key), Tensor)]
    numbered = any(each.dim() == 1 or not each.is_floating_point() for each in found)
    return "node_kinds" in graph or numbered


def _edges(index: int, graph: Data) -> dict[str, Tensor]:
    """The edges of a graph and their weights, checked."""
    where, nodes = f"Graph {index}", graph.x.size(0)
    edge_index, weight = graph.get("edge_index"), graph.get("edge_weight")
    if not nodes:
        raise InputError(f"{where} has no nodes; at least one is needed.")
    if edge_index is None:
        edge_index = graph.x.new_empty(2, 0).long()
    check_edge_index(edge_index, nodes, where=where)
    if weight is None:
        return {"edge_index": edge_index}
    check_edge_weight(weight, edge_index.size(1), where=where)
    return {"edge_index": edge_index, "edge_weight": weight}
