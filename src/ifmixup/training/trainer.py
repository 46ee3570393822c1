"""One training: the loop, epoch by epoch, that can stop anywhere between two epochs and go on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ifmixup import augment
from ifmixup.errors import InputError, TrainingError
from ifmixup.graphs import Graphs, is_undirected, select
from ifmixup.nn import MODELS, Neighbours
from ifmixup.training.flat_adamw import FlatAdamW
from ifmixup.training.flat_parameters import flatten_parameters, is_flat
from ifmixup.training.loss import loss_of, number_known
from ifmixup.training.metrics import metrics
from ifmixup.training.norm_statistics import measure_statistics
from ifmixup.training.packed import PackedDataset
from ifmixup.training.scaling import Scaling
from ifmixup.training.settings import Settings
from ifmixup.training.task import LOSSES

NODES_AT_ONCE = 10_000  # batches are prepared together up to about so many nodes


class Trainer:
    """A model, its optimiser and its random state, ready for the next epoch.

    Continuous features and values are standardised as the graphs to train on have them; features of
    0 and 1, classes, labels and edge attributes stay as they are. The same arguments give the same
    numbers, bit for bit, on one kind of processor with one thread.

    Args:
        settings: How to train.
        data: The dataset, on the device to train on.
        train: The graphs to train on, as their places in the dataset.
        validation: The graphs that may choose an epoch; may be empty.
        test: The graphs to judge on; may be empty.
        seed: Seeds the weights, the order of the graphs, dropout and the method.
    """

    def __init__(
        self,
        settings: Settings,
        data: PackedDataset,
        *,
        train: Tensor,
        validation: Tensor | None = None,
        test: Tensor | None = None,
        seed: int = 0,
    ) -> None:
        if settings.use_edge_attr and data.edge_dim is None:
            raise InputError(f"{data.name} has no edge attributes to use (use_edge_attr).")
        device = data.graphs.node_ptr.device
        self.settings = settings
        self.train = train.to(device)
        self.scaling = _scaling(data, self.train)
        data = data if settings.use_edge_attr else data.without_edge_attr()
        self.data = replace(data, graphs=self.scaling.graphs(data.graphs, data.task))
        self.loss = loss_of(data.task)
        self.order = torch.Generator().manual_seed(seed)
        options = settings.model_options()
        if settings.use_edge_attr:
            options["edge_dim"] = data.edge_dim
        torch.manual_seed(seed)
        self.model = MODELS[settings.model](
            data.num_features, settings.hidden, settings.layers, data.num_outputs, **options
        ).to(device)
        self.method = augment.create(
            settings.method,
            data.num_classes,
            generator=torch.Generator().manual_seed(seed + 1),
            **settings.method_options(),
        )
        if isinstance(self.method, augment.IfMixup):
            self.method.coalesce = False  # the same to our models, and faster
        self.optimizer = FlatAdamW(
            flatten_parameters(self.model), settings.learning_rate, settings.weight_decay
        )
        mirrored = is_undirected(self.data.graphs)
        self.graphs = self.method.prepare(self.data.graphs)
        self.mirrored = mirrored and self.method.keeps_undirected
        nodes_a_batch = settings.batch_size * self.graphs.num_nodes / self.graphs.num_graphs
        self.batches_at_once = max(1, int(NODES_AT_ONCE / nodes_a_batch))
        # Graphs that are only looked at are batched once.
        self.looked_at = {
            name: self._batches(index.to(device), mirrored)
            for name, index in (("validation", validation), ("test", test))
            if index is not None and index.numel()
        }
        self.epoch = 0
        self.curves: dict[str, list[float]] = {"train_loss": []}
        for name in self.looked_at:
            self.curves |= {f"{name}_{data.metric}": [], f"{name}_loss": []}
        self.latest: dict[str, dict[str, float]] = {}
        self.seconds = 0.0
        self.prepare_seconds = 0.0

    def run_epoch(self) -> None:
        """Train one epoch, look at validation and test, and add a point to every curve."""
        start = time.perf_counter()
        if isinstance(self.method, augment.IfMixup):
            self.method.set_epoch(self.epoch)
        self.model.train()
        self.method.train()
        self._keep_flat()
        losses, counts = [], []
        halved = self.epoch // self.settings.halve_every
        self.optimizer.learning_rate = self.settings.learning_rate * 0.5**halved
        for graphs in self._training_batches():
            began = time.perf_counter()
            inputs = model_inputs(graphs, self.mirrored)
            self.prepare_seconds += time.perf_counter() - began
            h, y = self.method.mix_embeddings(self.model.embed(**inputs), graphs.graphs["y"])
            loss = self.loss(self.model.classify(h), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.detach())
            counts.append(graphs.num_graphs if self.data.task == "classes" else number_known(y))
        # Only here does the processor wait for a GPU.
        weights = [float(count) for count in counts]
        values = torch.stack(losses).cpu().double().numpy()
        mean_loss = float(np.average(values, weights=weights)) if any(weights) else 0.0
        if not math.isfinite(mean_loss):
            raise TrainingError(
                f"The training loss is {mean_loss} in epoch {self.epoch + 1}. "
                f"A smaller learning rate may help (it is {self.settings.learning_rate})."
            )
        self.curves["train_loss"].append(mean_loss)
        if self.settings.norm == "exact":
            batches = (model_inputs(graphs, self.mirrored) for graphs in self._training_batches())
            measure_statistics(self.model, batches)
        for name in self.looked_at:
            self.latest[name] = self.evaluate(name)
            found, metric = self.latest[name], self.data.metric
            self.curves[f"{name}_{metric}"].append(found[metric])
            self.curves[f"{name}_loss"].append(found[LOSSES[self.data.task]])
        self.epoch += 1
        self.seconds += time.perf_counter() - start

    def _keep_flat(self) -> None:
        """Lay the weights out anew if someone has moved, copied or cleared them."""
        if not all(parameter.requires_grad for parameter in self.model.parameters()):
            raise TrainingError(
                "A parameter of the model was frozen (requires_grad is False), but a Trainer "
                "trains all of them. Write a loop of your own to train a part."
            )
        if not is_flat(self.model, self.optimizer.weights):
            self.optimizer.follow(flatten_parameters(self.model))

    def evaluate(self, name: str) -> dict[str, float]:
        """The metrics on ``validation`` or ``test``."""
        self.model.eval()
        with torch.inference_mode():
            out = [self.model(**inputs) for inputs, _ in self.looked_at[name]]
        y = torch.cat([y for _, y in self.looked_at[name]])
        data, unit = self.data, self.scaling.y_std
        return metrics(torch.cat(out), y, data.task, data.metric, unit)

    def state_dict(self) -> dict[str, Any]:
        """All that the next epoch depends on, as tensors and plain values."""
        generator = self.method.generator
        assert generator is not None  # made above
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "order": self.order.get_state(),
            "method": generator.get_state(),
            "torch": torch.get_rng_state(),
            "device": self._device_state(),
            "epoch": self.epoch,
            "curves": self.curves,
            "latest": self.latest,
            "scaling": self.scaling.to_dict(),
            "seconds": self.seconds,
            "prepare_seconds": self.prepare_seconds,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where :meth:`state_dict` was taken."""
        generator = self.method.generator
        assert generator is not None  # made above
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.order.set_state(state["order"])
        generator.set_state(state["method"])
        torch.set_rng_state(state["torch"])
        device = self.train.device
        if device.type != "cpu" and state["device"] is not None:
            torch.get_device_module(device).set_rng_state(state["device"])
        self.epoch = state["epoch"]
        self.curves = {name: list(values) for name, values in state["curves"].items()}
        self.latest = {name: dict(values) for name, values in state["latest"].items()}
        self.seconds = state["seconds"]
        self.prepare_seconds = state["prepare_seconds"]

    def _device_state(self) -> Tensor | None:
        """The random state of a GPU, which dropout draws from there."""
        device = self.train.device
        return None if device.type == "cpu" else torch.get_device_module(device).get_rng_state()

    def _indices(self) -> Iterator[Tensor]:
        """The graphs of each step of an epoch."""
        size, device = self.settings.batch_size, self.train.device
        count = self.train.numel()
        if self.settings.steps_per_epoch is None:
            order = torch.randperm(count, generator=self.order)
            yield from self.train[order.to(device)].split(size)
        else:
            for _ in range(self.settings.steps_per_epoch):
                order = torch.randperm(count, generator=self.order)[:size]
                yield self.train[order.to(device)]

    def _training_batches(self) -> Iterator[Graphs]:
        """The changed graphs of each step of an epoch."""
        indices = self._indices()
        while batches := list(islice(indices, self.batches_at_once)):
            began = time.perf_counter()
            taken = self.method.take(self.graphs, batches)
            self.prepare_seconds += time.perf_counter() - began
            yield from taken

    def _batches(self, index: Tensor, mirrored: bool) -> list[tuple[dict[str, Any], Tensor]]:
        """What the model takes, and the targets, of graphs that are only looked at."""
        parts = index.split(max(self.settings.batch_size, 256))
        cut = [select(self.data.graphs, part) for part in parts]
        return [(model_inputs(graphs, mirrored), graphs.graphs["y"]) for graphs in cut]


def _scaling(data: PackedDataset, train: Tensor) -> Scaling:
    """What the training graphs are standardised by; there must be something to learn from them."""
    if data.task != "classes" and not int(number_known(data.y[train.to(data.y.device)])):
        raise InputError(
            f"None of the {train.numel()} graphs of {data.name} to train on has a target y that is "
            f"known: all are missing (NaN)."
        )
    return Scaling.fit(data, train)


def model_inputs(graphs: Graphs, mirrored: bool) -> dict[str, Any]:
    """What a model of :mod:`ifmixup.nn` takes.

    Args:
        graphs: The graphs.
        mirrored: Whether they are known to be :func:`~ifmixup.graphs.is_undirected`, which saves
            sorting their edges.
    """
    edge_index = graphs.edge_index
    return {
        "x": graphs.nodes["x"],
        "edge_index": Neighbours.mirrored(edge_index, graphs.num_nodes) if mirrored else edge_index,
        "edge_weight": graphs.edges.get("edge_weight"),
        "batch": graphs.node_graph,
        "edge_attr": graphs.edges.get("edge_attr"),
        "batch_size": graphs.num_graphs,
    }
