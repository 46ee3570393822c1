"""One training: the loop, epoch by epoch, that can stop anywhere between two epochs and go on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch

from ifmixup import augment
from ifmixup.errors import InputError, TrainingError
from ifmixup.nn import MODELS
from ifmixup.training.metrics import metrics
from ifmixup.training.packed import Packed
from ifmixup.training.settings import Settings


class Training:
    """A model, its optimiser and its random state, ready for the next epoch.

    The same arguments give the same numbers, bit for bit, on one kind of processor with one thread.

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
        data: Packed,
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
        self.data = data if settings.use_edge_attr else data.without_edge_attr()
        self.train = train.to(device)
        self.order = torch.Generator().manual_seed(seed)
        options = settings.model_options()
        if settings.use_edge_attr:
            options["edge_dim"] = data.edge_dim
        torch.manual_seed(seed)
        self.model = MODELS[settings.model](
            data.num_features, settings.hidden, settings.layers, data.num_classes, **options
        ).to(device)
        self.method = augment.create(
            settings.method,
            data.num_classes,
            generator=torch.Generator().manual_seed(seed + 1),
            **settings.method_options(),
        )
        if isinstance(self.method, augment.IfMixup):
            self.method.coalesce = False  # the same to our models, and faster
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.scheduler = torch.optim.lr_scheduler.StepLR(
            self.optimizer, settings.halve_every, gamma=0.5
        )
        # Graphs that are only looked at are batched once.
        self.looked_at = {
            name: self._batches(index.to(device))
            for name, index in (("validation", validation), ("test", test))
            if index is not None and index.numel()
        }
        self.epoch = 0
        self.curves: dict[str, list[float]] = {"train_loss": []}
        for name in self.looked_at:
            self.curves |= {f"{name}_accuracy": [], f"{name}_loss": []}
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
        total = torch.zeros((), dtype=torch.double)
        count = 0
        for index in self._indices():
            began = time.perf_counter()
            batch = self.method(self.data.batch(index))
            self.prepare_seconds += time.perf_counter() - began
            logits, y = self.method.score(self.model, batch)
            loss = F.cross_entropy(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.detach().cpu().double() * index.numel()
            count += index.numel()
        self.scheduler.step()
        mean_loss = float(total) / count
        if not math.isfinite(mean_loss):
            raise TrainingError(
                f"The training loss is {mean_loss} in epoch {self.epoch + 1}. "
                f"A smaller learning rate may help (it is {self.settings.learning_rate})."
            )
        self.curves["train_loss"].append(mean_loss)
        for name in self.looked_at:
            self.latest[name] = self.look_at(name)
            self.curves[f"{name}_accuracy"].append(self.latest[name]["accuracy"])
            self.curves[f"{name}_loss"].append(self.latest[name]["nll"])
        self.epoch += 1
        self.seconds += time.perf_counter() - start

    def look_at(self, name: str) -> dict[str, float]:
        """The metrics on ``validation`` or ``test``."""
        self.model.eval()
        with torch.inference_mode():
            logits = [self._logits(batch) for batch in self.looked_at[name]]
        return metrics(torch.cat(logits), torch.cat([batch.y for batch in self.looked_at[name]]))

    def state_dict(self) -> dict[str, Any]:
        """All that the next epoch depends on, as tensors and plain values."""
        generator = self.method.generator
        assert generator is not None  # made above
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "order": self.order.get_state(),
            "method": generator.get_state(),
            "torch": torch.get_rng_state(),
            "device": self._device_state(),
            "epoch": self.epoch,
            "curves": self.curves,
            "seconds": self.seconds,
            "prepare_seconds": self.prepare_seconds,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where :meth:`state_dict` was taken."""
        generator = self.method.generator
        assert generator is not None  # made above
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.order.set_state(state["order"])
        generator.set_state(state["method"])
        torch.set_rng_state(state["torch"])
        device = self.train.device
        if device.type != "cpu" and state["device"] is not None:
            torch.get_device_module(device).set_rng_state(state["device"])
        self.epoch = state["epoch"]
        self.curves = {name: list(values) for name, values in state["curves"].items()}
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

    def _batches(self, index: Tensor) -> list[Batch]:
        return [self.data.batch(part) for part in index.split(max(self.settings.batch_size, 256))]

    def _logits(self, batch: Batch) -> Tensor:
        return self.model(
            batch.x,
            batch.edge_index,
            batch.edge_weight,
            batch.batch,
            edge_attr=batch.edge_attr,
            batch_size=batch.num_graphs,
        )
