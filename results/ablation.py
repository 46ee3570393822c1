"""What node weights do where: ``python results/ablation.py MUTAG PTC_MR NCI1``.

A mixed node that only one graph has exists with weight w. Its weight is read by READOUT alone, by
batch norm alone, by both (``ifmixup``) or by none of them (``ifmixup, whole nodes``). In a fifth
trial both read it, and features are whole, x̃ / w, instead of scaled. GCN with its recommended
settings under the paper's protocol. The runs go into the folder of ``ifmixup reproduce``, which has
some of them already.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from ifmixup import IfMixup
from ifmixup.components import Component, resolve
from ifmixup.graphs import Graphs
from ifmixup.nn import GCN
from ifmixup.nn.readout import READOUTS
from ifmixup.paper.experiments import WHOLE_NODES
from ifmixup.paper.reproduce import FOLDS, packed
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.run import Runner, check_study
from ifmixup.study.splits import Splits, make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Candidate, Study, Trial, make_trial, save_studies
from ifmixup.training.packed import PackedDataset
from ifmixup.training.recommended import starting_point

NUM_FOLDS = {"NCI1": 3}  # of ten; all of them elsewhere


class ReadoutOnly(GCN):
    """A GCN whose batch norm counts every node whole."""

    def embed(
        self,
        x: Tensor,
        edge_index: Any,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        node_weight: Tensor | None = None,
        batch_size: int | None = None,
        **_: Any,
    ) -> Tensor:
        """Node weights from READOUT on."""
        h = self.encode(x, edge_index, edge_weight, batch)
        return READOUTS[self.readout](h, batch, batch_size, node_weight=node_weight)


class BatchNormOnly(GCN):
    """A GCN whose READOUT counts every node whole."""

    def embed(
        self,
        x: Tensor,
        edge_index: Any,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        node_weight: Tensor | None = None,
        batch_size: int | None = None,
        **_: Any,
    ) -> Tensor:
        """Node weights up to READOUT."""
        h = self.encode(x, edge_index, edge_weight, batch, node_weight=node_weight)
        return READOUTS[self.readout](h, batch, batch_size)


class WholeFeatures(IfMixup):
    """ifMixup whose features are not scaled: x̃ / w, and 0 where no graph has the node."""

    keeps_undirected = True

    def change(self, graphs: Graphs, plan: Any) -> Graphs:
        """Mixed graphs with whole features."""
        mixed = super().change(graphs, plan)
        weight = mixed.nodes["node_weight"].unsqueeze(-1)
        x = mixed.nodes["x"] / weight.masked_fill(weight == 0, 1)
        return replace(mixed, nodes={**mixed.nodes, "x": x})


TRIALS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "none": ("gcn", "none", {}),
    WHOLE_NODES: ("gcn", "ifmixup", {"node_weight": False}),
    "READOUT only": (ReadoutOnly, "ifmixup", {}),
    "batch norm only": (BatchNormOnly, "ifmixup", {}),
    "ifmixup": ("gcn", "ifmixup", {}),
    "whole features": ("gcn", WholeFeatures, {}),
}


def main() -> None:
    """Run what a folder does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/paper"))
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    for name in given.datasets:
        data = packed(name)
        splits = make_splits(data, folds=FOLDS, repeats=1)
        splits = replace(splits, folds=splits.folds[: NUM_FOLDS.get(name, FOLDS)])
        study = study_of(data, splits)
        check_study(study, {data.fingerprint: data})
        with Store(given.folder) as store:
            splits.save_in(given.folder)
            save_studies(given.folder, [study])
            Runner(store, LocalEngine(given.workers), [(data, splits)]).execute([*study.specs()])


def study_of(data: PackedDataset, splits: Splits) -> Study:
    """The trials on a dataset, each compared with ``none``."""
    trials = tuple(_trial(name, data, splits) for name in TRIALS)
    name = f"node-weight-{data.name}"
    return Study(name, f"Where node weights count, {data.name}", "accuracy", trials)


def _trial(name: str, data: PackedDataset, splits: Splits) -> Trial:
    model, method, changes = TRIALS[name]
    given = resolve("method", method)
    # The settings are those of GCN, of which the other models are a kind.
    start = starting_point(data, resolve("model", "gcn"), given, changes)
    made: Component = resolve("model", model).with_options(**dict(start.model.spec.options))
    candidate = Candidate(start.settings, made.spec, start.method.spec)
    against = None if name == "none" else "none"
    return make_trial(data, splits, [candidate], protocol="paper", name=name, against=against)


if __name__ == "__main__":
    main()
