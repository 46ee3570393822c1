"""Does a model train with a method on these graphs? Found out before the first run."""

from __future__ import annotations

import inspect
from dataclasses import replace

import torch
from torch import Tensor

from ifmixup.augment import Method, cache
from ifmixup.batch import from_batch, to_batch
from ifmixup.components import ClassSpec, foreign
from ifmixup.errors import ComponentError
from ifmixup.graphs import select
from ifmixup.model_check import check_model
from ifmixup.nn.inputs import GraphsModel
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run import reproducible
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer

_GRAPHS = 8  # enough for a batch norm, few enough to take no time


def preflight(settings: Settings, model: ClassSpec, method: ClassSpec, data: PackedDataset) -> None:
    """Build a model and a method, run two graphs forward, and train one step on a few graphs.

    Raises:
        IfmixupError: If something does not work; the message names the user's line and the fix.
    """
    few = select(data.graphs, _few(data).to(data.graphs.node_ptr.device))
    data = replace(data, graphs=few, split=None, folder=None, undirected=None)
    train = torch.arange(len(data))
    with reproducible(), cache.switched_off():
        short = settings.with_(steps_per_epoch=1, batch_size=min(settings.batch_size, _GRAPHS))
        trainer = Trainer(short, model, method, data, train=train, test=train[:2])
        _check_signature(trainer, model)
        _check_output(trainer, model, data)
        _check_requirements(trainer, model)
        if foreign(model) and trainer.method.weights_edges:
            batch = to_batch(trainer.data.graphs)
            if batch.edge_index.size(1):  # as a training calls it, with edge_attr and node_weight
                check_model(trainer.model, batch, call=lambda m, b: GraphsModel(m)(from_batch(b)))
        if foreign(model) or foreign(method):
            trainer.run_epoch()


def _few(data: PackedDataset) -> Tensor:
    """A few graphs, the first of each class among them, those with edges first."""
    edges = data.graphs.edge_counts.cpu()
    order = (edges == 0).long().argsort(stable=True)
    if data.task != "classes":
        known = ~data.y[order].isnan().all(1).cpu()
        order = torch.cat([order[known], order[~known]])
        return order[:_GRAPHS]
    y = data.y.cpu()[order]
    firsts = [int((y == number).nonzero()[0]) for number in y.unique()[: _GRAPHS // 2]]
    rest = [i for i in range(min(len(order), 2 * _GRAPHS)) if i not in firsts]
    return order[torch.tensor([*firsts, *rest])][:_GRAPHS]


def _check_signature(trainer: Trainer, model: ClassSpec) -> None:
    """Check that a user's model takes what every model is called with."""
    if not foreign(model):
        return
    signature = inspect.signature(trainer.model.forward)
    try:
        signature.bind(*range(4))
    except TypeError:
        raise ComponentError(
            f"{model.class_name}.forward is defined as forward{signature}. A model is called as "
            f"forward(x, edge_index, edge_weight, batch), the four of them by position: give it "
            f"these parameters, and pass edge_weight on to the layers."
        ) from None


def _check_output(trainer: Trainer, model: ClassSpec, data: PackedDataset) -> None:
    out, _ = trainer.outputs("test")[0]
    wanted = (2, data.num_outputs)
    if not isinstance(out, Tensor) or tuple(out.shape) != wanted:
        given = f"shape {list(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
        raise ComponentError(
            f"{model.class_name}.forward returns {given} for {wanted[0]} graphs with {wanted[1]} "
            f"{data.task}; {list(wanted)} is needed: one row per graph. Is the last layer "
            f"out_channels wide, and are nodes pooled by batch (global_mean_pool(x, batch))?"
        )
    if not out.is_floating_point():
        raise ComponentError(f"{model.class_name}.forward returns {out.dtype}; floats are needed.")


def _check_requirements(trainer: Trainer, model: ClassSpec) -> None:
    names = {"embed": ("embed", "classify"), "encode": ("encode", "embed", "classify")}
    method: Method = trainer.method
    for need in sorted(method.requires):
        needed = names.get(need, (need,))
        lacking = [name for name in needed if not hasattr(trainer.model, name)]
        if lacking:
            raise ComponentError(
                f"{type(method).__name__} needs a model with {', '.join(needed)}; "
                f"{model.class_name} has no {' and no '.join(lacking)}. Split its forward: "
                f"encode(x, edge_index, edge_weight, batch, *, start=0, stop=None) gives node "
                f"states, embed(x, edge_index, edge_weight, batch) one row per graph, classify(h) "
                f"its logits. The models of ifmixup.nn have them. Or leave out this method."
            )
