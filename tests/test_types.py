"""The types that a user sees: mypy --strict on a script of theirs."""

import subprocess
import sys

SCRIPT = """
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import ifmixup
from ifmixup import GraphClassifier, IfMixup, compare, mix, recover, with_options
from ifmixup.augment import Method
from ifmixup.graphs import Graphs
from ifmixup.nn import GIN, GINConv


class Net(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, *, width: int = 8) -> None:
        super().__init__()
        self.conv = GINConv(nn.Linear(in_channels, width))
        self.head = nn.Linear(width, out_channels)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, batch: Tensor
    ) -> Tensor:
        h: Tensor = self.conv(x, edge_index, edge_weight)
        logits: Tensor = self.head(ifmixup.nn.global_mean_pool(h, batch))
        return logits


class Noise(Method):
    per_graph = True

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        std: float = 0.1,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.std = std

    def draw(self, graphs: Graphs) -> Tensor:
        return torch.randn(graphs.nodes["x"].shape, generator=self.generator)

    def change(self, graphs: Graphs, plan: Tensor) -> Graphs:
        x = graphs.nodes["x"] + self.std * plan
        return replace(graphs, nodes={**graphs.nodes, "x": x})


def study(graphs: Sequence[Data]) -> str:
    found = compare(
        graphs,
        models=["gin", Net, with_options(Net, name="wide", width=32)],
        methods=["none", "ifmixup", Noise, with_options("ifmixup", name="flat", alpha=1, beta=1)],
        folds=3,
        epochs=2,
        std=0.2,
    )
    best = found.best()
    text: str = found.table("markdown") + found.verdict()
    return text if best is None else f"{best.trial.name}: {best.reading.mean:.3f} {text}"


def loop(graphs: Sequence[Data]) -> float:
    mixup = IfMixup(num_classes=2, alpha=1.0, beta=1.0)
    model = GIN(3, 8, 2, 2, dropout=0.5)
    total = 0.0
    for batch in DataLoader(graphs, 32, shuffle=True):
        mixed: Batch = mixup(batch)
        out: Tensor = model(mixed.x, mixed.edge_index, mixed.edge_weight, mixed.batch)
        loss = F.cross_entropy(out, mixed.y)
        loss.backward()  # type: ignore[no-untyped-call]  # of torch
        total += float(loss)
    return total


def pair(a: Data, b: Data) -> float | None:
    return recover(mix(a, b, 0.7, num_classes=2)).lam


def estimate(graphs: Sequence[Data]) -> float:
    classifier = GraphClassifier(model="gin", method="ifmixup", epochs=2)
    classifier.fit(graphs, [int(graph.y) for graph in graphs])
    return classifier.score(graphs, [int(graph.y) for graph in graphs])


print(ifmixup.__version__)
"""


def test_a_script_of_a_user_passes_mypy_strict(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    config = tmp_path / "mypy.ini"
    # PyG has no types that mypy could read in full.
    config.write_text(
        "[mypy]\nstrict = true\nfollow_imports = silent\n"
        "[mypy-torch_geometric.*]\nignore_missing_imports = true\nfollow_imports = skip\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), str(script)]
    cache = ["--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, *cache], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
