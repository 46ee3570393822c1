"""Why GCN stays at chance on ENZYMES with a learning rate of 0.01: ``python results/dead_head.py``.

Writes ``dead-head.md``. ENZYMES is found through ``IFMIXUP_DATA``.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ifmixup.data import load
from ifmixup.study.splits import make_splits
from ifmixup.training import Settings, Trainer, pack

EPOCHS = 10
TEXT = f"""## Dead units in the head

GCN of 5 layers of 64 with batch norm on the first fold of ENZYMES, without a method, after {EPOCHS}
epochs. The head is a dense layer of 64 units with ReLU, and a linear one. *Alive* is the share of
units and test graphs for which the ReLU lets something through: where none is, no gradient reaches
what lies below, and the model says the same of every graph. A sum over the nodes is some thirty
times their mean, and the first large steps push all units below zero.

| readout | learning rate | mean size of the readout | alive | training loss | test accuracy |
| :-- | --: | --: | --: | --: | --: |
"""


def main() -> None:
    """Train, and look at the dense layer."""
    torch.set_num_threads(1)
    data = pack(load("ENZYMES"), "ENZYMES")
    fold = make_splits(data).fold(0, 0)
    lines = []
    for readout in ("sum", "mean"):
        for rate in (0.01, 0.0005):
            settings = Settings(model="gcn", readout=readout, learning_rate=rate, dropout=0.0)
            training = Trainer(settings, data, train=fold.train, test=fold.test, seed=0)
            for _ in range(EPOCHS):
                training.run_epoch()
            size, alive = look(training)
            loss, accuracy = training.curves["train_loss"], training.curves["test_accuracy"]
            lines.append(
                f"| {readout} | {rate:g} | {size:.1f} | {100 * alive:.0f} % | {loss[-1]:.2f} | "
                f"{100 * accuracy[-1]:.1f} % |"
            )
    path = Path(__file__).with_name("dead-head.md")
    path.write_text(TEXT + "\n".join(lines) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


def look(training: Trainer) -> tuple[float, float]:
    """The mean size of the readouts of the test graphs, and the share of units that are alive."""
    with torch.inference_mode():
        readouts = [training.model.embed(**inputs) for inputs, _ in training.looked_at["test"]]
        h: Tensor = torch.cat(readouts)
        units = training.model.head[0](h)
    return float(h.abs().mean()), float((units > 0).float().mean())


if __name__ == "__main__":
    main()
