"""Data-parallel training with Ray Train: the number of workers changes the time, not the training.

Every worker draws the same graphs and the same pairs from the same seed, then mixes and learns from
its own share of them. Needs `pip install 'ifmixup[ray]' 'ray[train]'`. To train many models at
once, one per worker, use `ifmixup compare --engine ray` instead.
"""

from __future__ import annotations

import logging
import os
import tempfile
from typing import Any

import ray
import ray.train.torch
import torch
import torch.nn.functional as F
import tyro
from torch_geometric.data import Batch

from ifmixup import IfMixup, mix_batch
from ifmixup.data import load
from ifmixup.nn import GCN


def train(settings: dict[str, Any]) -> list[float]:
    """What every worker does; returns the mean loss of each epoch over all workers."""
    context = ray.train.get_context()
    rank, workers = context.get_world_rank(), context.get_world_size()
    torch.manual_seed(0)  # the same weights everywhere
    chance = torch.Generator().manual_seed(0)  # and the same graphs and pairs
    dataset = load("MUTAG")
    mixup = IfMixup(dataset.num_classes, generator=chance)
    # Without batch norm: its statistics would be those of a worker's own share.
    model = GCN(dataset.num_features, 32, 3, dataset.num_classes, norm="none")
    model = ray.train.torch.prepare_model(model)  # to the worker's device; averages gradients
    device = ray.train.torch.get_device()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    history = []
    for _ in range(settings["epochs"]):
        losses = []
        shuffled = torch.randperm(len(dataset), generator=chance)
        for index in shuffled.split(settings["batch_size"])[:-1]:  # the last one may be smaller
            plan = mixup.plan(Batch.from_data_list(list(dataset[index])))
            mine = torch.arange(rank, len(index), workers)
            a = Batch.from_data_list(list(dataset[index[mine]]))
            b = Batch.from_data_list(list(dataset[index[plan.partner[mine]]]))
            batch = mix_batch(a, b, plan.lam[mine], num_classes=dataset.num_classes).to(device)
            out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
            loss = F.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        mean = torch.stack(losses).mean() / workers
        if workers > 1:
            torch.distributed.all_reduce(mean)  # a sum over the workers
        history.append(float(mean))
    return history


def main(epochs: int = 20, workers: int = 2, batch_size: int = 32) -> None:
    """Train on a Ray cluster that is started on this machine, and ended.

    Args:
        epochs: Passes over the data.
        workers: Processes that share every batch; with GPUs, one each.
        batch_size: The graphs of a step of all workers together: a multiple of their number.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    ray.init("local", num_cpus=workers, object_store_memory=100 * 2**20, **quiet)
    try:
        with tempfile.TemporaryDirectory() as folder:
            use_gpu = torch.cuda.device_count() >= workers
            trainer = ray.train.torch.TorchTrainer(
                train,
                train_loop_config={"epochs": epochs, "batch_size": batch_size},
                scaling_config=ray.train.ScalingConfig(num_workers=workers, use_gpu=use_gpu),
                run_config=ray.train.RunConfig(storage_path=folder),
            )
            history = trainer.fit().return_value
    finally:
        ray.shutdown()
    for epoch, loss in enumerate(history, 1):
        print(f"epoch {epoch}: loss {loss:.6f} with {workers} workers")


if __name__ == "__main__":
    tyro.cli(main)
