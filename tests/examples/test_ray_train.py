import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Batch

from ifmixup import IfMixup
from ifmixup.data import load
from ifmixup.nn import GCN

pytest.importorskip(
    "ray.train", reason="needs Ray Train: pip install 'ray[train]'", exc_type=ImportError
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "ray_train.py"


def test_two_workers_have_the_losses_of_one_process_with_the_doubled_batch():
    # As a script: Ray sends what is in __main__ to its workers by value.
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), "--epochs", "2", "--workers", "2", "--batch-size", "32"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    losses = re.findall(r"epoch \d: loss ([\d.]+) with 2 workers", run.stdout)
    assert len(losses) == 2
    assert [float(loss) for loss in losses] == pytest.approx(one_process(epochs=2), abs=2e-6)


def one_process(epochs: int) -> list[float]:
    """An ordinary loop with whole batches and the same seeds."""
    torch.manual_seed(0)
    chance = torch.Generator().manual_seed(0)
    dataset = load("MUTAG")
    mixup = IfMixup(2, generator=chance)
    model = GCN(dataset.num_features, 32, 3, 2, norm="none")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    history = []
    for _ in range(epochs):
        losses = []
        for index in torch.randperm(188, generator=chance).split(32)[:5]:
            batch = mixup(Batch.from_data_list(list(dataset[index])))
            out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
            loss = F.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return history
