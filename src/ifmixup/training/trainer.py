"""One training: the loop, epoch by epoch, that can stop between any two epochs and go on."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ifmixup.augment import Method
from ifmixup.augment.cache import saved_seconds
from ifmixup.augment.method import loss_of_labels
from ifmixup.components import ClassSpec, build, user_code
from ifmixup.errors import InputError, TrainingError
from ifmixup.graphs import Graphs, is_undirected, select
from ifmixup.nn.graph_model import GraphModel
from ifmixup.nn.inputs import GraphsModel
from ifmixup.training.edge_attributes import with_edge_attr
from ifmixup.training.metric import measure, ours
from ifmixup.training.metrics import all_metrics, loss_of, metrics, number_known
from ifmixup.training.optimizer import FlatAdamW, make_optimizer
from ifmixup.training.packed import PackedDataset
from ifmixup.training.scaling import Scaling
from ifmixup.training.settings import Settings
from ifmixup.training.task import LOSSES, higher_is_better, is_ours

_MEASURED = ("epoch", "curves", "latest", "seconds", "prepare_seconds")
NODES_AT_ONCE = 10_000  # batches are prepared together up to about so many nodes


class Trainer:
    """A model, its optimiser and its random state, ready for the next epoch.

    Continuous features and values are standardised by the graphs to train on; features of 0 and 1,
    classes, labels and edge attributes stay as they are. The same arguments give the same numbers,
    bit for bit, on one kind of processor with one thread.

    Args:
        settings: How to train.
        model: The model and its options; see :func:`ifmixup.components.resolve`.
        method: The method and its options.
        data: The dataset, on the device to train on.
        train: The graphs to train on, as indices into the dataset.
        validation: The graphs that may choose an epoch; may be empty.
        test: The graphs to judge on; may be empty.
        seed: Seeds the weights, the order of the graphs, dropout and the method.
        metrics: The metric of the curves, which chooses the epoch, and others that are not ours; by
            default the dataset's own.
        each_fit: Called with the share of the method's fit that is done, as that goes on.

    Attributes:
        fit_seconds: How long the method's fit took, now or when it was put into the cache; None for
            a method that fits nothing.
    """

    def __init__(
        self,
        settings: Settings,
        model: ClassSpec,
        method: ClassSpec,
        data: PackedDataset,
        *,
        train: Tensor,
        validation: Tensor | None = None,
        test: Tensor | None = None,
        seed: int = 0,
        metrics: Sequence[ClassSpec] = (),
        each_fit: Callable[[float], None] | None = None,
    ) -> None:
        device = data.graphs.node_ptr.device
        settings = with_edge_attr(settings, model, data)
        self.settings, self.model_spec, self.method_spec = settings, model, method
        if settings.label_noise > 0:
            known = train if validation is None else torch.cat([train, validation])
            data = with_wrong_labels(data, known, settings.label_noise, seed)
        if settings.train_share < 1:
            train = nested_share(data, train, settings.train_share, seed)
        self.train = train.to(device)
        self.scaling = _scaling(data, self.train)
        data = data if settings.use_edge_attr else data.without_edge_attr()
        index = torch.arange(len(data), device=device)  # a method may ask which graphs it has
        # Mapped graphs are scaled and prepared as they are cut, because they may not fit in memory.
        self.is_mapped = data.folder is not None
        graphs = data.graphs if self.is_mapped else self.scaling.graphs(data.graphs, data.task)
        self.data = replace(data, graphs=replace(graphs, index=index))
        self.loss = loss_of(data.task, settings.label_smoothing)
        self.order = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        self.model: nn.Module = build(
            "model",
            model,
            in_channels=data.num_features,
            out_channels=data.num_outputs,
            edge_dim=data.edge_dim,
        ).to(device)
        self.method: Method = build(
            "method",
            method,
            num_classes=data.num_classes,
            generator=torch.Generator().manual_seed(seed + 1),
        )
        self.method.repeated_edges = getattr(self.model, "adds_repeated_edges", False)
        self.method.num_epochs = settings.epochs
        stored = data.undirected
        undirected = (
            is_undirected(self.data.graphs)
            if stored is None
            else stored[bool(settings.use_edge_attr)]
        )
        began = time.perf_counter()
        with user_code(f"{method.class_name}.fit", type(self.method)):
            # A method is given the training graphs and nothing else, whatever it overrides.
            fits = type(self.method).fit is not Method.fit
            self.graphs: Graphs | None = None
            if fits or not self.is_mapped:
                self.graphs = self.method._prepare(self._select(self.train))
            self.fit_seconds = self._fit(seed, each_fit)
        # What a method estimates before the first epoch counts as preparing.
        self.seconds = self.prepare_seconds = time.perf_counter() - began
        self.training_model = GraphsModel(
            self.model,
            undirected=undirected and self.method.keeps_undirected,
            node_weight=self.method.node_weight,
        )
        self.evaluation_model = GraphsModel(self.model, undirected=undirected)
        self._initialise_lazy()
        self.optimizer = make_optimizer(
            self.model, settings.weight_decay, flat=isinstance(self.model, GraphModel)
        )
        nodes_per_batch = settings.batch_size * data.graphs.num_nodes / len(data)
        self.batches_at_once = max(1, int(NODES_AT_ONCE / nodes_per_batch))
        self.evaluated = {
            name: index.to(device)
            for name, index in (("validation", validation), ("test", test))
            if index is not None and index.numel()
        }
        self.metrics = tuple(metrics) or (ours(data.metric),)
        # Graphs that are only evaluated are batched once.
        self._batches = {
            name: None if self.is_mapped else list(self._cut(index))
            for name, index in self.evaluated.items()
        }
        self.epoch = 0
        self.curves: dict[str, list[float]] = {"train_loss": []}
        for name in self.evaluated:
            self.curves |= {f"{name}_{self.metric}": [], f"{name}_loss": []}
        self.latest: dict[str, dict[str, float]] = {}
        self.predictions: dict[str, tuple[Tensor, Tensor]] = {}  # that the latest are of

    @property
    def metric(self) -> str:
        """The metric of the curves."""
        return self.metrics[0].name

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the metric of the curves is better."""
        return higher_is_better(self.metric, self.metrics)

    def run_epoch(self) -> None:
        """Train one epoch, evaluate validation and test, and add a point to every curve."""
        start = time.perf_counter()
        step = f"{self.model_spec.class_name} with {self.method_spec.class_name}"
        with user_code(f"A training step of {step}", self._foreign):
            self.method.start_epoch(self.epoch)
            self.model.train()
            self.method.train()
            mean_loss = self._train_epoch()
        if not math.isfinite(mean_loss):
            raise TrainingError(
                f"The training loss is {mean_loss} in epoch {self.epoch + 1}. "
                f"A smaller learning rate may help (it is {self.settings.learning_rate})."
            )
        self.curves["train_loss"].append(mean_loss)
        if self.settings.recompute_bn:
            with user_code(f"A forward pass of {step}", self._foreign):
                recompute_batch_norm(self.training_model, self._training_batches())
        for name in self.evaluated:
            self.latest[name] = self.evaluate(name)
            found = self.latest[name]
            self.curves[f"{name}_{self.metric}"].append(found[self.metric])
            self.curves[f"{name}_loss"].append(found[LOSSES[self.data.task]])
        self.epoch += 1
        self.seconds += time.perf_counter() - start

    def evaluate(self, name: str) -> dict[str, float]:
        """The metrics of every epoch on ``validation`` or ``test``."""
        self.predictions[name] = out, y = self.predicted(name)
        found = metrics(out, y, self.data.task, self.metric, self.scaling.y_std)
        return found | self._measured(self.metrics[:1], out, y)

    def all_metrics(self, out: Tensor, y: Tensor) -> dict[str, float]:
        """Every metric of the task, and those asked for, of what :meth:`predicted` gave."""
        found = all_metrics(out, y, self.data.task, self.scaling.y_std)
        return found | self._measured(self.metrics, out, y)

    def _measured(self, asked: Sequence[ClassSpec], out: Tensor, y: Tensor) -> dict[str, float]:
        """The metrics of those ``asked`` for that are not ours."""
        return {
            spec.name: measure(spec, out, y, self.data.task, self.scaling)
            for spec in asked
            if not is_ours(spec)
        }

    def predicted(self, name: str) -> tuple[Tensor, Tensor]:
        """What the model gives for ``validation`` or ``test``, and the targets."""
        found = self.outputs(name)
        y = torch.cat([y for _, y in found])
        return torch.cat([out for out, _ in found]).to(y.device), y

    def outputs(self, name: str) -> list[tuple[Tensor, Tensor]]:
        """What the model gives for the batches of ``validation`` or ``test``, and the targets."""
        self.model.eval()
        found, step = [], f"{self.model_spec.class_name}.forward"
        with torch.inference_mode(), user_code(step, type(self.model)):
            for inputs, y in self._batches[name] or self._cut(self.evaluated[name]):
                first, named = list(inputs.values())[:4], dict(list(inputs.items())[4:])
                found.append((self.model(*first, **named), y))
        return found

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next epoch depends on, as tensors and plain values."""
        generator, device = self.method.generator, self.train.device
        on_gpu = device.type != "cpu"  # where dropout draws from a random state of its own
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "order": self.order.get_state(),
            "method": None if generator is None else generator.get_state(),
            "method_state": self.method.state_dict(),
            "torch": torch.get_rng_state(),
            "device": torch.get_device_module(device).get_rng_state() if on_gpu else None,
            "scaling": self.scaling.to_dict(),
            **{name: getattr(self, name) for name in _MEASURED},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where :meth:`state_dict` was taken."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.order.set_state(state["order"])
        if self.method.generator is not None:
            self.method.generator.set_state(state["method"])
        self.method.load_state_dict(state["method_state"])
        torch.set_rng_state(state["torch"])
        device = self.train.device
        if device.type != "cpu" and state["device"] is not None:
            torch.get_device_module(device).set_rng_state(state["device"])
        for name in _MEASURED:
            setattr(self, name, copy.deepcopy(state[name]))

    def _fit(self, seed: int, each_fit: Callable[[float], None] | None) -> float | None:
        """Fit the method to the training graphs; how long that took, now or earlier."""
        if type(self.method).fit is Method.fit:
            return None
        began = time.perf_counter()
        self.method.fit_progress = each_fit
        with saved_seconds() as saved:
            self.method.fit(self.graphs, seed=seed)
        self.method.fit_progress = None
        return time.perf_counter() - began + sum(saved)

    @property
    def _foreign(self) -> type:
        """The class of the user's, if the model or the method is one."""
        model, method = type(self.model), type(self.method)
        return method if model.__module__.startswith("ifmixup.") else model

    def _initialise_lazy(self) -> None:
        """Give parameters whose width is not known yet their width, by one forward pass."""
        if any(nn.parameter.is_lazy(each) for each in self.model.parameters()):
            with torch.no_grad(), user_code(f"{self.model_spec.class_name}.forward", self._foreign):
                self.model.train(False)
                self.evaluation_model(select(self.data.graphs, self.train[:2]))

    def _train_epoch(self) -> float:
        """The mean loss of one epoch of steps."""
        if isinstance(self.optimizer, FlatAdamW):
            self.optimizer.prepare()
        halved = self.epoch // self.settings.halve_every
        self.optimizer.param_groups[0]["lr"] = self.settings.learning_rate * 0.5**halved
        losses, counts = [], []
        for graphs in self._training_batches():
            loss = (
                self.method.loss(self.training_model, graphs, self.loss)
                if self._own_loss
                else loss_of_labels(self.loss, self.training_model(graphs), graphs.graphs)
            )
            self.optimizer.zero_grad()
            if loss.requires_grad:  # unless all parameters are frozen
                loss.backward()
            self.optimizer.step()
            losses.append(loss.detach())
            weight = graphs.graphs.get("y_weight")  # none of classes, which are all known
            counts.append(graphs.num_graphs if weight is None else weight.sum())
        # Only here does the processor wait for a GPU.
        weights = [float(count) for count in counts]
        values = torch.stack(losses).cpu().double().numpy()
        return float(np.average(values, weights=weights)) if any(weights) else 0.0

    @property
    def _own_loss(self) -> bool:
        """Whether the method computes the loss itself, from batches as they are."""
        return type(self.method).loss is not Method.loss

    def _training_batches(self) -> Iterator[Graphs]:
        """The graphs of each step of an epoch, changed unless the method's loss does that."""
        indices = self._indices()
        take = self.method._cut if self._own_loss else self.method.take
        while batches := list(islice(indices, self.batches_at_once)):
            began = time.perf_counter()
            if self.graphs is not None:
                taken = take(self.graphs, batches)
            else:  # these alone are cut from the mapped graphs
                some = self.method._prepare(self._select(self.train[torch.cat(batches)]))
                order = torch.arange(some.num_graphs, device=self.train.device)
                taken = take(some, order.split([batch.numel() for batch in batches]))
            self.prepare_seconds += time.perf_counter() - began
            yield from taken

    def _indices(self) -> Iterator[Tensor]:
        """The graphs of each step of an epoch, as indices into the training graphs."""
        size, device = self.settings.batch_size, self.train.device
        count = self.train.numel()
        if self.settings.steps_per_epoch is None:
            yield from torch.randperm(count, generator=self.order).to(device).split(size)
        else:
            for _ in range(self.settings.steps_per_epoch):
                yield torch.randperm(count, generator=self.order)[:size].to(device)

    def _cut(self, index: Tensor) -> Iterator[tuple[Any, Tensor]]:
        """What the model takes, and the targets, of graphs that are only evaluated."""
        for part in index.split(max(self.settings.batch_size, 256)):
            graphs = self._select(part)
            yield self.evaluation_model.inputs(graphs), graphs.graphs["y"]

    def _select(self, index: Tensor) -> Graphs:
        """Graphs of the dataset, as they are trained on."""
        graphs = select(self.data.graphs, index)
        return self.scaling.graphs(graphs, self.data.task) if self.is_mapped else graphs


def nested_share(data: PackedDataset, index: Tensor, share: float, seed: int) -> Tensor:
    """About ``share`` of the graphs ``index`` ``[n]``, at least one of each class, in their order.

    A smaller share is part of a larger one.
    """
    order = torch.randperm(index.numel(), generator=torch.Generator().manual_seed(seed))
    y = data.y[index.to(data.y.device)].cpu()[order]
    groups = y.unique() if data.task == "classes" else [None]
    kept = [order if each is None else order[y == each] for each in groups]
    return index[
        torch.cat([each[: max(1, round(share * len(each)))] for each in kept]).sort().values
    ]


def with_wrong_labels(data: PackedDataset, index: Tensor, share: float, seed: int) -> PackedDataset:
    """The dataset with another class, drawn uniformly, for ``share`` of the graphs ``index``.

    Whether a graph's label is wrong and which it then has depends on the seed alone.
    """
    if data.task != "classes":
        raise InputError(f"label_noise is for classes; these targets are {data.task}.")
    generator = torch.Generator().manual_seed(seed)
    is_wrong = torch.rand(len(data), generator=generator, dtype=torch.double) < share
    step = torch.randint(1, max(2, data.num_outputs), (len(data),), generator=generator)
    given = torch.zeros(len(data), dtype=torch.bool)
    given[index.cpu()] = True
    changed = torch.where(is_wrong & given, step, 0).to(data.y.device)
    y = (data.y + changed) % data.num_outputs
    return replace(data, graphs=replace(data.graphs, graphs={**data.graphs.graphs, "y": y}))


def recompute_batch_norm(model: GraphsModel, batches: Iterator[Graphs]) -> None:
    r"""Set the statistics of every batch norm to their mean over ``batches``.

    The running statistics of batch norm average over about the last ten steps. Where an epoch has
    few steps and the learning rate is high, the weights have moved in these, and the model that is
    evaluated after an epoch is normalised by what earlier weights computed. With the weights held
    still, the mean over the batches :math:`b = 1 \dots B` is (Wu and Johnson, 2021, "precise" batch
    norm):

    .. math::
        \mu = \frac{1}{B} \sum_b \mathrm{mean}(\mathbf{h}_b), \quad
        \sigma^2 = \frac{1}{B} \sum_b \mathrm{var}(\mathbf{h}_b)

    Only these statistics change, in our batch norm, torch's and PyG's.
    """
    norms: list[Any] = [
        part
        for part in model.model.modules()
        if isinstance(getattr(part, "running_mean", None), Tensor) and hasattr(part, "momentum")
    ]
    momenta = [norm.momentum for norm in norms]
    was_training = model.model.training
    model.model.train()
    try:
        with torch.no_grad():
            for count, graphs in enumerate(batches, start=1):
                for norm in norms:
                    norm.momentum = 1 / count  # the mean of the batches so far
                # Our heads have no batch norm, and their dropout would draw for nothing.
                model.embed(graphs) if isinstance(model.model, GraphModel) else model(graphs)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.model.train(was_training)


def _scaling(data: PackedDataset, train: Tensor) -> Scaling:
    """How the training graphs are standardised; there must be something to learn from them."""
    if data.task != "classes" and not int(number_known(data.y[train.to(data.y.device)])):
        raise InputError(
            f"None of the {train.numel()} graphs of {data.name} to train on has a known target y: "
            f"all are missing (NaN)."
        )
    return Scaling.fit(data, train)
