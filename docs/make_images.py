"""Draw the pictures of the site again: ``python docs/make_images.py`` (about five minutes).

Every picture is drawn from what the library computes, and is kept in ``docs/images``. Names of
pictures draw only these: ``python docs/make_images.py tiny_pair matrices``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj, to_undirected

import ifmixup
from ifmixup.data import load
from ifmixup.report import draw_mixed_pair
from ifmixup.report.draw.colours import EDGE_COLOURS, blend, distinguish, fade, feature_names
from ifmixup.report.draw.pair import take_pair
from ifmixup.report.draw.panel import draw_edges, draw_nodes
from ifmixup.report.save import save_figure
from ifmixup.training.settings import Settings

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREY = "#0b6e8a", "#c4572f", "#666666"
REPEATS, EPOCHS = 3, 100  # of the training on random labels


def main(names: list[str]) -> None:
    """Draw all of them, or those that are named."""
    pictures = (hero, mixed_pair, tiny_pair, matrices, ratios, random_labels)
    for picture in pictures:
        if not names or picture.__name__ in names:
            picture()


def tiny() -> tuple[Data, Data]:
    """The pair of the page: a triangle, and a path of four nodes; two kinds of nodes."""
    kinds = torch.eye(2)
    a = Data(x=kinds[[0, 0, 1]], edge_index=to_undirected(torch.tensor([[0, 1, 2], [1, 2, 0]])))
    b = Data(x=kinds[[1, 0, 1, 0]], edge_index=to_undirected(torch.tensor([[0, 1, 2], [1, 2, 3]])))
    return a, b


def hero() -> None:
    """A ring of three, a path of four and their mix, large enough for the width of a telephone."""
    a, b = tiny()
    lam = 0.75
    pair = take_pair(a, b, lam)
    known = distinguish(torch.cat([a.x, b.x]), "kind")
    colours = known.colour(a.x), known.colour(b.x)
    positions = np.array([[24.0, 124.0], [24.0, 26.0], [98.0, 98.0], [126.0, 24.0]])
    mixed = fade(blend(*colours, lam), pair.node_weight)
    shown = (
        ("A", EDGE_COLOURS["A"], pair.edges[0], colours[0], 3),
        ("B", EDGE_COLOURS["B"], pair.edges[1], colours[1], 4),
        ("0.75 A + 0.25 B", "black", pair.edges[2], mixed, 4),
    )
    figure = Figure(figsize=(6.6, 2.7))
    for column, (title, colour, edges, faces, nodes) in enumerate(shown):
        axes = figure.add_axes((0.005 + 0.335 * column, 0.02, 0.32, 0.8))
        axes.set(xlim=(0, 150), ylim=(0, 150), xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set(color="#d0d0d0")
        axes.set_title(title, fontsize=16, color=colour, fontweight="bold")
        draw_edges(axes, positions, edges, 14.0, 6.0)
        draw_nodes(axes, positions[:nodes], faces, 14.0)
        for edge in edges if column == 2 else ():
            x, y = (positions[edge.source] + positions[edge.target]) / 2
            style = {"fc": "white", "ec": "none", "pad": 0.6}
            text = f"{edge.weight:g}"
            axes.text(x, y, text, fontsize=13, ha="center", va="center", bbox=style, zorder=5)
    save_figure(figure, IMAGES / "hero.png")


def mixed_pair() -> None:
    """Two molecules and their mix, as ``ifmixup show MUTAG 40 184`` draws them."""
    graphs = load("MUTAG")
    pair = graphs[40], graphs[184]
    figure = draw_mixed_pair(
        *pair,
        0.75,
        title="MUTAG: graph 40 (A) and graph 184 (B)",
        features=feature_names("MUTAG", *pair),
    )
    save_figure(figure, IMAGES / "mixed-pair.png")


def tiny_pair() -> None:
    """The tiny pair and its mix."""
    figure = draw_mixed_pair(*tiny(), 0.75, title="A triangle and a path", features="kind")
    save_figure(figure, IMAGES / "tiny-pair.png")


def matrices() -> None:
    """The edge matrices of the tiny pair and of its mix: their entries are four values at most."""
    a, b = tiny()
    figure = Figure(figsize=(8.6, 2.7), layout="constrained")
    shown = (
        ("$e_A$, padded", ifmixup.mix(a, b, 1.0)),
        ("$e_B$", ifmixup.mix(a, b, 0.0)),
        (r"$0.75\,e_A + 0.25\,e_B$", ifmixup.mix(a, b, 0.75)),
    )
    for axes, (title, graph) in zip(figure.subplots(1, 3), shown, strict=True):
        dense = to_dense_adj(graph.edge_index, edge_attr=graph.edge_weight, max_num_nodes=4)[0]
        axes.imshow(dense.numpy(), cmap="Blues", vmin=0, vmax=1.3)
        axes.set_title(title, fontsize=11)
        axes.set(xticks=range(4), yticks=range(4))
        axes.tick_params(length=0, labelsize=9)
        axes.spines[:].set_visible(False)
        for row in range(4):
            for column in range(4):
                value = float(dense[row, column])
                colour = "#999999" if value == 0 else "white" if value > 0.5 else "black"
                axes.text(column, row, f"{value:g}", ha="center", va="center", color=colour)
    save_figure(figure, IMAGES / "matrices.svg")


def ratios() -> None:
    """The densities of λ that the paper chooses from."""
    figure = Figure(figsize=(6.4, 2.9), layout="constrained")
    axes = figure.subplots()
    lam = np.linspace(0.001, 0.999, 600)
    for (alpha, beta), colour in (((20, 1), BLUE), ((2, 2), ORANGE), ((1, 1), GREY)):
        density = stats.beta(alpha, beta).pdf(lam)
        axes.plot(lam, density, color=colour, lw=2, label=f"Beta({alpha}, {beta})")
    axes.set(xlabel="λ, the weight of the first graph", ylabel="density", xlim=(0, 1), ylim=(0, 8))
    axes.legend(frameon=False, loc="upper left")
    _plain(axes)
    save_figure(figure, IMAGES / "ratios.svg")


def random_labels() -> None:
    """Real molecules with random labels: what the two protocols report, and where they read it."""
    graphs = [graph.clone() for graph in load("MUTAG")]
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    for graph, label in zip(graphs, (torch.arange(len(graphs)) % 2)[order], strict=True):
        graph.y = label.view(1)
    with tempfile.TemporaryDirectory() as folder:
        found = ifmixup.compare(
            graphs,
            models=["gin"],
            methods=["none"],
            protocols=["holdout", "paper"],
            folds=10,
            repeats=REPEATS,
            settings=Settings(epochs=EPOCHS),
            hidden_channels=16,
            num_layers=2,
            folder=folder,
            progress=False,
        )
    rows = {row.trial.protocol: row for row in found.rows}
    curves: dict[int, list[list[float]]] = {}
    for record in rows["paper"].records:
        if record.result is not None:
            curves.setdefault(record.spec.repeat, []).append(record.result.curves["test_accuracy"])
    figure = Figure(figsize=(7.2, 3.3), layout="constrained")
    axes = figure.subplots()
    epochs = np.arange(1, EPOCHS + 1)
    for repeat, each in sorted(curves.items()):
        mean = np.mean(each, axis=0)
        best = int(mean.argmax())
        name = "mean test accuracy of ten folds" if repeat == 0 else None
        axes.plot(epochs, 100 * mean, color=BLUE, lw=1.1, alpha=0.55, label=name)
        name = "what the paper's protocol reports" if repeat == 0 else None
        axes.plot(best + 1, 100 * mean[best], "o", color=ORANGE, ms=7, label=name)
    holdout = 100 * rows["holdout"].reading.mean
    axes.axhline(50, color="black", lw=1, ls=":", label="chance")
    axes.axhline(holdout, color=GREY, lw=1.4, ls="--", label="what holdout reports, mean of three")
    axes.set(xlabel="epoch", ylabel="accuracy in %", xlim=(1, EPOCHS), ylim=(35, 68))
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")
    _plain(axes)
    save_figure(figure, IMAGES / "random-labels.svg")
    figures = {
        protocol: {
            "mean": round(row.reading.mean, 4),
            "std_repeats": round(row.reading.std_over_repeats, 4),
            "last": round(row.reading.last_mean, 4),
        }
        for protocol, row in rows.items()
    }
    (IMAGES / "random-labels.json").write_text(json.dumps(figures, indent=1) + "\n")


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


if __name__ == "__main__":
    main(sys.argv[1:])
