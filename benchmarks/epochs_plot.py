"""The picture of results/benchmark-epochs.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"peer 1": "#b0b0b0", "peer 2": "#7d8fb3", "ours": "#d1495b"}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Bars of an epoch's time, one panel per case; whiskers from the least to the most."""
    if not rows:
        return
    figure, axes = plt.subplots(1, len(rows), figsize=(3.2 * len(rows), 3.4), squeeze=False)
    for axis, row in zip(axes[0], rows, strict=True):
        times = row["milliseconds"]
        bars = {
            "peer 1": times["peer 1"],
            "peer 2": times[row["fastest_peer_2"]],
            "ours": times["ours"],
        }
        for name, time in bars.items():
            whisker = [[time.median - time.least], [time.most - time.median]]
            axis.bar(name, time.median, color=COLOURS[name], yerr=whisker, capsize=4)
            ratio = time.median / times["ours"].median
            label = f"{time.median:.0f} ms" + ("" if name == "ours" else f"\n{ratio:.1f}x")
            axis.annotate(label, (name, time.most), ha="center", va="bottom", fontsize=9)
        axis.set_ylim(0, 1.25 * max(time.most for time in bars.values()))
        axis.set_title(row["case"].replace(", ", "\n", 1), fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("milliseconds per epoch, one thread")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
