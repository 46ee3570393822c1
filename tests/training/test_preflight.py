from typing import ClassVar

import pytest
import torch
from torch import nn
from torch_geometric.nn import GINConv, global_mean_pool

from ifmixup import augment
from ifmixup.augment import Method
from ifmixup.components import MODELS
from ifmixup.errors import IfmixupError, InputError
from ifmixup.training.packed import pack
from ifmixup.training.preflight import preflight
from own_classes import Net, Noise
from task_graphs import with_labels, with_values
from tiny import parts


class OfNodes(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return self.head(self.convs[0](x, edge_index, edge_weight))


class TooWide(Net):
    def __init__(self, in_channels, out_channels):
        super().__init__(in_channels, out_channels + 1)


class Flat(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return super().forward(x, edge_index, edge_weight, batch)[:, 0]


class Pair(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return super().forward(x, edge_index, edge_weight, batch), x


class Whole(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return super().forward(x, edge_index, edge_weight, batch).long()


class Ignores(nn.Module):
    """PyG's GIN, which does not read edge weights."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = GINConv(nn.Linear(in_channels, 8))
        self.head = nn.Linear(8, out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.head(global_mean_pool(self.conv(x, edge_index), batch))


class WrongChange(Method):
    def change(self, graphs, plan):
        return graphs.no_such_thing


class OnlyEvaluates(Net):
    """Fails in a training step, which evaluating does not show."""

    def forward(self, x, edge_index, edge_weight, batch):
        if self.training:
            raise RuntimeError("I only evaluate")
        return super().forward(x, edge_index, edge_weight, batch)


def check(data, model=Net, method="none", **changes):
    preflight(*parts(model, method, **changes), data)


@pytest.mark.parametrize("model", [*MODELS.names(), Net])
@pytest.mark.parametrize("method", [*augment.names(), Noise])
def test_what_works_passes_and_draws_nothing(mutag, model, method):
    if model is Net and method in ("mixup_graph", "manifold_mixup", "graph_transplant"):
        pytest.skip("it has no embed")
    before = torch.get_rng_state()
    check(mutag, model, method)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("graphs", [with_labels, with_values])
def test_labels_and_values(graphs):
    check(pack(graphs(12)), Net, "ifmixup")


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (OfNodes, r"shape \[\d\d, 2\]"),
        (TooWide, r"shape \[2, 3\]"),
        (Flat, r"shape \[2\]"),
        (Pair, "tuple"),
        (Whole, "int64; floats are needed"),
    ],
)
def test_a_wrong_output(mutag, model, given):
    with pytest.raises(IfmixupError, match=f"{model.__name__}.forward returns .*{given}"):
        check(mutag, model)


def test_what_to_do_about_a_wrong_output(mutag):
    with pytest.raises(IfmixupError, match=r"\[2, 2\] is needed: one row per graph.*pool"):
        check(mutag, OfNodes)


def test_a_model_that_ignores_edge_weights_under_a_method_that_needs_them(mutag):
    with pytest.raises(IfmixupError, match=r"from ifmixup.nn import GINConv"):
        check(mutag, Ignores, "ifmixup")
    check(mutag, Ignores, "none")
    check(mutag, Ignores, "drop_edge")


def test_a_method_that_asks_more_of_the_model(mutag):
    with pytest.raises(
        IfmixupError, match=r"MixupGraph needs a model with embed, classify; Net has no embed"
    ):
        check(mutag, Net, "mixup_graph")


class Encoding(Noise):
    requires: ClassVar = frozenset({"encode"})


def test_a_method_that_asks_for_encode(mutag):
    with pytest.raises(IfmixupError, match=r"Encoding needs a model with encode"):
        check(mutag, Net, Encoding)
    check(mutag, "gcn", Encoding)


@pytest.mark.parametrize("model", [Net, "gcn"])
def test_a_method_that_raises(mutag, model):
    with pytest.raises(IfmixupError, match=r"no_such_thing.*\(test_preflight.py, line \d+: return"):
        check(mutag, model, WrongChange)


def test_a_model_that_cannot_be_trained(mutag):
    with pytest.raises(IfmixupError, match=r"OnlyEvaluates.*I only evaluate"):
        check(mutag, OnlyEvaluates)


def test_options_that_make_no_sense(mutag):
    with pytest.raises(InputError, match="dropout"):
        check(mutag, "gcn", dropout=1.5)
    with pytest.raises(InputError, match="alpha"):
        check(mutag, "gcn", "ifmixup", alpha=-1.0)
    with pytest.raises(IfmixupError, match="Net"):
        check(mutag, Net, width=-1)


def test_edge_attributes_for_a_model_that_does_not_read_them(mutag):
    check(mutag, "gin", use_edge_attr=True)
    for model, name in (("gcn", "gcn"), (Net, "Net")):
        with pytest.raises(InputError, match=f"'{name}' does not read edge attributes.*gin does"):
            check(mutag, model, use_edge_attr=True)


def test_label_smoothing_where_there_are_no_classes():
    with pytest.raises(InputError, match="label_smoothing is for classes"):
        check(pack(with_values(12)), label_smoothing=0.1)


def test_graphs_without_edges_cannot_tell(mutag):
    graphs = with_labels(12)
    for graph in graphs:
        graph.edge_index = graph.edge_index[:, :0]
    check(pack(graphs), Ignores, "ifmixup")


class OfData(nn.Module):
    """A model that takes a batch of PyG, as many scripts have it."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels)

    def forward(self, data):
        return self.lin(data.x)


def test_a_forward_with_other_parameters_is_told_the_right_ones(mutag):
    message = r"forward\(data\).*called as forward\(x, edge_index, edge_weight, batch\)"
    with pytest.raises(IfmixupError, match=message):
        preflight(*parts(OfData), mutag)
