import re

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.nn import GATConv, GCNConv, GINConv, GraphConv, global_add_pool

import ifmixup
import ifmixup.nn as ours
from ifmixup import IfMixup, ModelError, check_model
from ifmixup.data import load
from ifmixup.errors import InputError, InputTypeError


@pytest.fixture(scope="module")
def batch() -> Batch:
    torch.manual_seed(0)
    return Batch.from_data_list([_graph(n) for n in (3, 5, 4)])


def _graph(n: int) -> Data:
    ring = torch.arange(n)
    there = torch.stack([ring, ring.roll(1)])
    return Data(x=torch.rand(n, 3), edge_index=torch.cat([there, there.flip(0)], 1))


class Own(nn.Module):
    """A model with a convolution that may be given the weights, and a linear layer."""

    def __init__(self, conv: nn.Module | None = None, gives: bool = True) -> None:
        super().__init__()
        self.conv, self.gives = conv or GraphConv(3, 8), gives
        self.norm, self.lin = nn.BatchNorm1d(8), nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        h = self.conv(x, edge_index, edge_weight if self.gives else None)
        return self.lin(global_add_pool(self.norm(h).relu(), batch))


@pytest.mark.parametrize("name", ["GCN", "GIN", "GAT", "GATv2"])
def test_our_models_read_the_weights(name, batch):
    found = check_model(getattr(ifmixup.nn, name)(3, 8, 2, 2), batch)
    assert found.called == "model(x, edge_index, edge_weight, batch)"
    assert found.change > 1e-4
    assert not found.redrawn
    assert "reads edge_weight" in str(found)


def test_a_mixed_batch_of_a_dataset_with_edge_attributes():
    dataset = load("MUTAG")
    mixed = IfMixup(2)(Batch.from_data_list(list(dataset[:8])))
    check_model(ifmixup.nn.GIN(7, 8, 2, 2), mixed)
    found = check_model(ifmixup.nn.GIN(7, 8, 2, 2, edge_dim=4), mixed)
    assert "edge_attr" in found.called


def test_models_of_pyg(batch):
    assert check_model(pyg.GCN(3, 8, 2, 2), batch).change > 0  # rows of nodes
    for model, advice in (
        (pyg.GIN(3, 8, 2, 2), r"Change one import: from ifmixup\.nn import GIN,"),
        (pyg.GAT(3, 8, 2, 2), r"Change one import: from ifmixup\.nn import GAT,"),
        (pyg.GraphSAGE(3, 8, 2, 2), r"Use a model of ifmixup\.nn"),
    ):
        with pytest.raises(ModelError, match=rf"ignores edge_weight.*{advice}"):
            check_model(model, batch)
    with pytest.raises(
        ModelError,
        match=r"does not take edge_weight: forward\(x, edge_index, size\).* Change one import: "
        r"from ifmixup\.nn import GINConv; .*conv\(x, edge_index, edge_weight\)",
    ):
        check_model(GINConv(nn.Linear(3, 2)), batch)


def test_one_changed_import_mends_a_gin(batch):
    class Gin(Own):
        def forward(self, x, edge_index, edge_weight=None, batch=None):
            given = {"edge_weight": edge_weight} if isinstance(self.conv, ours.GINConv) else {}
            return self.lin(global_add_pool(self.conv(x, edge_index, **given), batch))

    with pytest.raises(ModelError, match=r"from ifmixup\.nn import GINConv"):
        check_model(Gin(GINConv(nn.Linear(3, 8))), batch)
    check_model(Gin(ours.GINConv(nn.Linear(3, 8))), batch)


def test_weights_that_are_not_handed_on(batch):
    check_model(Own(gives=True), batch)
    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(Own(gives=False), batch)


def test_weights_that_only_round_differently_are_ignored(batch):
    class Rounds(Own):
        def forward(self, x, edge_index, edge_weight, batch):
            factor = 3 + edge_weight.mean()
            return super().forward(x * factor / factor, edge_index, None, batch)

    torch.manual_seed(0)
    model, other = Rounds().eval(), torch.linspace(0, 0.7, batch.num_edges)
    one, two = (model(batch.x, batch.edge_index, w, batch.batch) for w in (torch.ones(1), other))
    assert not torch.equal(one, two)
    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(model, batch)


def test_whether_there_is_an_edge_is_not_its_weight(batch):
    class Binary(Own):
        def forward(self, x, edge_index, edge_weight, batch):
            return super().forward(x, edge_index, (edge_weight > 0).float(), batch)

    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(Binary(), batch)


def test_a_model_that_is_constant_so_far_is_not_accused(batch):
    zero, dead = Own(), Own()
    nn.init.zeros_(zero.lin.weight)
    nn.init.constant_(dead.norm.bias, -1e6)
    for model in (zero, dead):
        assert check_model(model, batch).redrawn
        assert "new random parameters" in str(check_model(model, batch))

    class Gate(nn.Module):  # features count from the start, the edges only when the gate opens
        def __init__(self) -> None:
            super().__init__()
            self.own, self.lin, self.gate = Own(), nn.Linear(3, 2), nn.Parameter(torch.zeros(()))

        def forward(self, x, edge_index, edge_weight, batch):
            rest = self.own(x, edge_index, edge_weight, batch)
            return self.lin(global_add_pool(x, batch)) + self.gate * rest

    assert check_model(Gate(), batch).redrawn


def test_a_model_that_reads_nothing_is_told_apart(batch):
    class Constant(Own):
        def forward(self, x, edge_index, edge_weight, batch):
            return self.lin(torch.ones(3, 8))

    with pytest.raises(ModelError, match="same logits whatever the edge weights and the node"):
        check_model(Constant(), batch)


def test_the_model_the_batch_and_chance_stay_as_they_are(batch):
    class Restless(Own):
        calls = 0

        def forward(self, x, edge_index, edge_weight, batch):
            self.calls += 1
            self.norm.num_batches_tracked += 1  # a buffer that changes in eval mode too
            return super().forward(nn.functional.dropout(x), edge_index, edge_weight, batch)

    model = Restless()
    model.conv.eval()  # a part in another mode than the whole
    model(batch.x, batch.edge_index, torch.ones(batch.num_edges), batch.batch).sum().backward()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    grads = [p.grad.clone() for p in model.parameters()]
    keys, x, rng = set(batch.keys()), batch.x.clone(), torch.get_rng_state()

    check_model(model, batch)

    assert [part.training for part in (model, model.conv, model.norm)] == [True, False, True]
    assert model.calls == 1
    torch.testing.assert_close(model.state_dict(), state, rtol=0, atol=0)
    torch.testing.assert_close([p.grad for p in model.parameters()], grads, rtol=0, atol=0)
    assert all(p.requires_grad for p in model.parameters())
    assert set(batch.keys()) == keys
    assert torch.equal(batch.x, x)
    assert torch.equal(torch.get_rng_state(), rng)


def test_a_model_that_draws_in_eval_mode_is_not_acquitted_by_it(batch):
    class Draws(Own):
        def forward(self, x, edge_index, edge_weight, batch):
            return super().forward(nn.functional.dropout(x), edge_index, None, batch)

    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(Draws(), batch)


def test_a_cache_that_remembers_the_first_weights_is_found(batch):
    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(Own(GCNConv(3, 8, cached=True)), batch)


def test_a_model_that_keeps_what_it_computed(batch):
    class Keeps(Own):
        def forward(self, x, edge_index, edge_weight, batch):
            self.last = super().forward(x, edge_index, edge_weight, batch)
            return self.last

    model = Keeps()
    last = model(batch.x, batch.edge_index, torch.ones(batch.num_edges), batch.batch)
    check_model(model, batch)
    assert model.last is last
    model.locked = (x for x in ())  # cannot be copied
    with pytest.raises(InputError, match="cannot be copied"):
        check_model(model, batch)


class TakesData(Own):
    def forward(self, data):
        return super().forward(data.x, data.edge_index, data.edge_weight, data.batch)


class OtherName(Own):
    def forward(self, x, adjacency, w, batch):
        return super().forward(x, adjacency, w, batch)


class AnyArguments(Own):
    def forward(self, *args):
        return super().forward(*args)


class AnyKeywords(Own):
    def forward(self, x, edge_index, batch, **rest):
        return super().forward(x, edge_index, batch=batch, **rest)


class AsAttribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = GATConv(3, 2, edge_dim=1)

    def forward(self, x, edge_index, edge_attr):
        return self.conv(x, edge_index, edge_attr)


class Two(Own):
    def forward(self, x, edge_index, edge_weight, batch, ptr):
        assert ptr.numel() == 4
        return super().forward(x, edge_index, edge_weight, batch), x


@pytest.mark.parametrize(
    ("model", "called"),
    [
        (TakesData(), "model(batch)"),
        (OtherName(), "model(x, edge_index, edge_weight, batch)"),
        (AnyArguments(), "model(x, edge_index, edge_weight, batch)"),
        (AnyKeywords(), "model(x, edge_index, batch, edge_weight)"),
        (pyg.GCN(3, 4, 2), "model(x, edge_index, edge_weight, batch=batch)"),
        (AsAttribute(), "model(x, edge_index, edge_attr=edge_weight)"),
        (Two(), "model(x, edge_index, edge_weight, batch, ptr)"),
        (nn.DataParallel(Own()), "model(x, edge_index, edge_weight, batch)"),
        (torch.compile(Own(), backend="eager"), "model(x, edge_index, edge_weight, batch)"),
    ],
)
def test_how_a_model_is_called(model, called, batch):
    assert check_model(model, batch).called == called


def test_how_to_call_it_can_be_said(batch):
    class Odd(Own):
        def forward(self, w, rest):
            return {"logits": super().forward(rest.x, rest.edge_index, w, rest.batch)}

    with pytest.raises(
        ModelError, match=r"does not take edge_weight: forward\(w, rest\).*call=lambda"
    ):
        check_model(Odd(), batch)
    with pytest.raises(ModelError, match=r"cannot be called.*call\(model, batch\)"):
        check_model(Odd(), batch, call=lambda model, batch: model(batch))
    with pytest.raises(ModelError, match=r"returns dict where floating-point logits"):
        check_model(Odd(), batch, call=lambda model, batch: model(batch.edge_weight, batch))
    found = check_model(Odd(), batch, call=lambda m, b: m(b.edge_weight, b)["logits"])
    assert found.called == "call(model, batch)"


def test_a_model_that_only_takes_edge_attributes(batch):
    own = Batch.from_data_list(
        [Data(edge_attr=torch.ones(g.num_edges, 1), **g.to_dict()) for g in batch.to_data_list()]
    )
    with pytest.raises(
        ModelError, match=r"does not take edge_weight.*forward\(x, edge_index, edge_attr"
    ):
        check_model(AsAttribute(), own)


def test_what_the_batch_lacks(batch):
    class Positions(Own):
        def forward(self, x, pos, edge_index, edge_weight, batch):
            return super().forward(x, edge_index, edge_weight, batch)

    with pytest.raises(ModelError, match="needs pos, which the batch does not have"):
        check_model(Positions(), batch)
    single = _graph(4)
    assert check_model(Own(), single).called == "model(x, edge_index, edge_weight, batch)"
    with pytest.raises(InputError, match="no edges"):
        check_model(Own(), Data(x=torch.ones(2, 3), edge_index=torch.empty(2, 0).long()))
    with pytest.raises(InputError, match="no node features"):
        check_model(Own(), Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
    with pytest.raises(InputTypeError, match="got HeteroData"):
        check_model(Own(), HeteroData())
    with pytest.raises(InputTypeError, match=r"Expected a torch\.nn\.Module; got function"):
        check_model(global_add_pool, batch)


def test_models_that_cannot_be_checked(batch):
    with pytest.raises(ModelError, match="not finite"):
        check_model(Own(), Data(x=batch.x * torch.nan, edge_index=batch.edge_index))

    class Predicts(Own):
        def forward(self, x, edge_index, edge_weight, batch):
            return super().forward(x, edge_index, edge_weight, batch).argmax(1)

    with pytest.raises(ModelError, match=r"returns int64 \[3\] where floating-point"):
        check_model(Predicts(), batch)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(dtype, batch):
    other = Batch.from_data_list(batch.to_data_list())
    other.x = other.x.to(dtype)
    assert check_model(Own().to(dtype), other).change > 0
    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(Own(gives=False).to(dtype), other)


def test_numbers_of_categories_as_features(batch):
    class Embeds(Own):
        def __init__(self, gives: bool) -> None:
            super().__init__(gives=gives)
            self.embed = nn.Embedding(4, 3)

        def forward(self, x, edge_index, edge_weight, batch):
            return super().forward(self.embed(x.view(-1)), edge_index, edge_weight, batch)

    numbers = Data(x=torch.arange(12).view(-1, 1) % 4, edge_index=batch.edge_index)
    check_model(Embeds(gives=True), numbers)
    with pytest.raises(ModelError, match="ignores edge_weight"):
        check_model(Embeds(gives=False), numbers)


def test_lazy_parameters_are_initialised_in_the_copy(batch):
    model, rng = Own(GCNConv(-1, 8)), torch.get_rng_state()
    model.lin = nn.LazyLinear(2)
    assert check_model(model, batch).change > 0
    assert nn.parameter.is_lazy(model.lin.weight)
    assert torch.equal(torch.get_rng_state(), rng)


class Weighs(nn.Module):
    """A model that reads node weights in READOUT and in batch norm, or in one of them."""

    def __init__(self, norm: nn.Module, readout: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv, self.norm, self.lin = GCNConv(3, 8), norm, nn.Linear(8, 2)
        self.readout, self.dropout = readout, dropout

    def forward(self, x, edge_index, edge_weight=None, batch=None, node_weight=None):
        h = self.conv(x, edge_index, edge_weight)
        ours_ = isinstance(self.norm, ours.BatchNorm)
        h = self.norm(h, node_weight) if ours_ else self.norm(h)
        h = nn.functional.dropout(h.relu(), self.dropout, self.training)
        weight = node_weight if self.readout else None
        return self.lin(ours.global_mean_pool(h, batch, node_weight=weight))


@pytest.mark.parametrize("name", ["GCN", "GIN", "GAT", "GATv2"])
def test_our_models_read_node_weights(name, batch):
    for options in ({}, {"jk": "sum", "readout": "max", "dropout": 0.5}, {"readout": "mean"}):
        found = check_model(getattr(ours, name)(3, 8, 2, 2, **options), batch)
        assert found.reads_node_weight
        assert str(found).endswith("It reads node_weight too.")


def test_dropout_is_not_taken_for_an_effect_of_node_weights(batch):
    assert check_model(Weighs(ours.BatchNorm(8), dropout=0.5), batch).reads_node_weight
    sequence = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(8))
    assert not check_model(Weighs(sequence), batch).reads_node_weight


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (Own(), r"ignores node_weight.*node_weight=None in forward and use ifmixup\.nn\.BatchNorm"),
        (Weighs(nn.BatchNorm1d(8), readout=False), "ignores node_weight"),
        (Weighs(nn.BatchNorm1d(8)), r"in part \(norm: every node counts fully\).*BatchNorm"),
        (Weighs(pyg.BatchNorm(8)), r"in part \(norm\.module: every"),
        (Weighs(ours.BatchNorm(8), readout=False), r"in part: use.*global_mean_pool"),
    ],
)
def test_a_model_that_ignores_node_weights_is_told(model, advice, batch):
    found = check_model(model, batch)
    assert not found.reads_node_weight
    assert re.search(advice, found.node_advice)
    assert found.node_advice in str(found)


def test_node_weights_where_the_model_takes_the_batch_and_of_a_single_graph(batch):
    class OfBatch(Weighs):
        def forward(self, data):
            more = (data.batch, data.get("node_weight"))
            return super().forward(data.x, data.edge_index, data.edge_weight, *more)

    assert check_model(OfBatch(ours.BatchNorm(8)), batch).reads_node_weight
    assert check_model(Weighs(ours.BatchNorm(8)), _graph(5)).reads_node_weight
    found = check_model(
        Weighs(ours.BatchNorm(8)),
        batch,
        call=lambda m, b: m(b.x, b.edge_index, b.edge_weight, b.batch, b.get("node_weight")),
    )
    assert found.reads_node_weight


def test_a_model_that_cannot_train_on_these_graphs_is_not_judged():
    class OneGraph(Own):
        def forward(self, x, edge_index, edge_weight=None, batch=None):
            h = global_add_pool(self.conv(x, edge_index, edge_weight), batch)
            return self.lin(self.norm(h))  # torch's batch norm of one row raises an error

    found = check_model(OneGraph(), _graph(4))
    assert not found.reads_node_weight
    assert "unknown. In training mode" in found.node_advice


def test_it_is_a_name_of_the_package():
    assert ifmixup.check_model is check_model
    assert issubclass(ModelError, ifmixup.IfmixupError)
