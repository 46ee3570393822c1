"""The base class: what a method of the user's own can do, and what it is told."""

import copy
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Batch
from torch_geometric.nn import GCNConv, global_mean_pool

from ifmixup import IfMixup, augment
from ifmixup.augment import DropEdge, Method
from ifmixup.batch import from_batch, to_batch
from ifmixup.components import METHODS
from ifmixup.errors import IfmixupError, InputError, InputTypeError
from ifmixup.graphs import Graphs, select
from ifmixup.nn import GIN
from ifmixup.nn.inputs import GraphsModel


@pytest.fixture
def unregistered() -> Iterator[None]:
    before = dict(METHODS._classes)
    yield
    METHODS._classes.clear()
    METHODS._classes.update(before)


class Net(nn.Module):
    """A model as a PyG user writes it."""

    def __init__(self, in_channels: int = 3, out_channels: int = 2) -> None:
        super().__init__()
        self.conv = GCNConv(in_channels, 8)
        self.linear = nn.Linear(8, out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.linear(global_mean_pool(self.conv(x, edge_index, edge_weight).relu(), batch))


class Fitted(Method):
    """Remembers which graphs it saw, in ``fit`` and later."""

    def fit(self, graphs, *, seed=0):
        self.seed, self.graphs = seed, graphs
        self.fitted = graphs.index.tolist()

    def draw(self, graphs):
        self.drawn = None if graphs.index is None else graphs.index.tolist()


class TestNames:
    def test_the_methods_are_found_without_a_list(self):
        assert augment.names() == [
            "attribute_masking",
            "drop_edge",
            "drop_node",
            "edge_perturbation",
            "g_mixup",
            "graph_transplant",
            "ifmixup",
            "manifold_mixup",
            "mixup_graph",
            "nodesam",
            "none",
            "s_mixup",
            "subgraph",
            "submix",
        ]
        assert augment.get("none") is Method

    def test_options_reach_the_method(self):
        method = augment.create("ifmixup", 3, alpha=2, pairing="self")
        assert isinstance(method, IfMixup)
        assert (method.num_classes, method.alpha, method.pairing) == (3, 2.0, "self")

    def test_wrong_names_and_values_are_answered(self):
        with pytest.raises(InputError, match=r"Unknown method 'dropedge'. Did you mean 'drop_ed"):
            augment.create("dropedge", 2)
        with pytest.raises(InputError, match=r"'drop_rate'. Did you mean 'drop_ratio'"):
            augment.create("drop_edge", 2, drop_rate=0.5)
        with pytest.raises(InputError, match=r"option drop_ratio of drop_edge must be float"):
            augment.create("drop_edge", 2, drop_ratio="much")

    @pytest.mark.parametrize("name", augment.names())
    def test_options_are_keyword_only(self, name):
        with pytest.raises(TypeError):
            augment.get(name)(2, 0.5)

    def test_a_new_method_is_one_class(self, unregistered):
        @augment.register("mine")
        class Mine(Method):
            pass

        assert "mine" in augment.names()
        assert isinstance(augment.create("mine"), Mine)


class TestRepresentation:
    @pytest.mark.parametrize(
        ("method", "text"),
        [
            (IfMixup(2), "IfMixup(num_classes=2, alpha=20.0, beta=1.0)"),
            (
                IfMixup(2, p=0.5, node_weight=False, drop=["pos"]),
                "IfMixup(num_classes=2, alpha=20.0, beta=1.0, p=0.5, node_weight=False, "
                "drop=['pos'])",
            ),
            (augment.MixupGraph(), "MixupGraph(num_classes=None, alpha=20.0, beta=1.0)"),
            (DropEdge(3), "DropEdge(num_classes=3, drop_ratio=0.2)"),
            (augment.DropNode(3), "DropNode(num_classes=3, drop_ratio=0.2)"),
            (augment.AttributeMasking(3), "AttributeMasking(num_classes=3, mask_ratio=0.2)"),
            (augment.ManifoldMixup(3), "ManifoldMixup(num_classes=3, alpha=2.0, beta=2.0)"),
            (
                augment.GMixup(3, num_nodes=9),
                "GMixup(num_classes=3, add_ratio=0.2, lam_low=0.1, lam_high=0.2, num_nodes=9)",
            ),
            (augment.Subgraph(3), "Subgraph(num_classes=3, keep_ratio=0.8)"),
            (augment.EdgePerturbation(3), "EdgePerturbation(num_classes=3, perturb_ratio=0.2)"),
            (augment.SubMix(3), "SubMix(num_classes=3, subgraph_ratio=0.4)"),
            (augment.NodeSam(3), "NodeSam(num_classes=3)"),
            (augment.GraphTransplant(3), "GraphTransplant(num_classes=3, anchor_ratio=0.1)"),
            (augment.SMixup(3), "SMixup(num_classes=3, alpha=1.0)"),
            (Method(), "Method(num_classes=None)"),
        ],
    )
    def test_the_options_that_matter(self, method, text):
        assert repr(method) == text


class TestFlags:
    def test_the_base_changes_nothing(self):
        assert Method.keeps_undirected
        assert Method.per_graph
        assert not Method.weights_edges
        assert IfMixup.weights_edges
        assert augment.MixupGraph.requires == {"embed"}

    def test_a_class_that_changes_graphs_has_to_say_what_holds(self):
        class Careful(Method):
            def change(self, graphs, plan):
                return graphs

        class Child(DropEdge):
            def change(self, graphs, plan):
                return graphs

        class Sure(Careful):
            per_graph = True

        assert (Careful.keeps_undirected, Careful.per_graph) == (False, False)
        assert (Child.keeps_undirected, Child.per_graph) == (False, False)
        assert (Sure.keeps_undirected, Sure.per_graph) == (False, True)

    @pytest.mark.parametrize("name", ["plan", "augment", "prepare", "_prepare"])
    def test_what_is_the_same_for_all_methods_cannot_be_overridden(self, name):
        with pytest.raises(InputTypeError, match=rf"Old overrides {name}.*Override.*Graphs"):
            type("Old", (Method,), {name: lambda self: None, "__module__": __name__})


class TestTaking:
    def test_a_method_that_does_not_say_otherwise_gets_every_batch_alone(self, batch):
        seen = []

        class Counting(Method):
            def draw(self, graphs):
                seen.append(graphs.num_graphs)

        taken = Counting(2).take(from_batch(batch), [torch.tensor([0, 5, 2]), torch.tensor([7])])
        assert seen == [3, 1]
        assert [part.num_graphs for part in taken] == [3, 1]

    def test_a_method_may_give_more_graphs(self, batch):
        class Double(Method):
            def change(self, graphs, plan):
                return select(graphs, torch.arange(graphs.num_graphs).repeat(2))

        batches = [torch.tensor([0, 5]), torch.tensor([7])]
        taken = Double(2).take(from_batch(batch), batches)
        assert [part.num_graphs for part in taken] == [4, 2]
        assert Double(2)(batch).num_graphs == 16
        Double.per_graph = True
        with pytest.raises(
            InputError, match=r"Double.change made 6 graphs from 3.*per_graph = Fal"
        ):
            Double(2).take(from_batch(batch), batches)

    def test_a_child_of_ifmixup_that_draws_otherwise(self, batch):
        class Half(IfMixup):
            def draw(self, graphs):
                plan = super().draw(graphs)
                return replace(plan, lam=torch.full_like(plan.lam, 0.5))

        method = Half(2)
        (taken,) = method.take(method._prepare(from_batch(batch)), [torch.arange(8)])
        assert set(taken.graphs["y"].flatten().tolist()) <= {0.0, 0.5, 1.0}
        assert set(method(batch).y.flatten().tolist()) <= {0.0, 0.5, 1.0}


class TestFitting:
    def test_the_graphs_of_a_dataset_are_numbered(self, batch):
        for graphs in (batch, batch.to_data_list()):
            method = Fitted(2)
            assert method.fit(graphs, seed=3) is method
            assert method.fitted == list(range(8))
            assert method.seed == 3
            assert method.graphs.graphs["y"].shape == (8, 2)

    def test_a_method_that_peeks_is_seen_by_the_index(self, batch):
        """A trainer numbers all graphs and gives ``fit`` those to train on."""
        method = Fitted(2)
        graphs = method._prepare(replace(from_batch(batch), index=torch.arange(8)))
        method.fit(select(graphs, torch.tensor([6, 1, 3])))
        assert method.fitted == [6, 1, 3]
        method.take(graphs, [torch.tensor([3, 6])])
        assert method.drawn == [3, 6]

    def test_the_seed_need_not_be_taken(self, batch):
        class Unseeded(Method):
            def fit(self, graphs):
                self.count = graphs.num_graphs

        assert Unseeded(2).fit(batch).count == 8

    def test_most_methods_need_none(self, batch):
        method = DropEdge(2)
        assert method.fit(batch.to_data_list()) is method


class TestLoss:
    @pytest.mark.parametrize("name", ["none", "ifmixup", "drop_edge"])
    def test_in_a_loop_of_the_users_own(self, name, batch):
        torch.manual_seed(0)
        net = Net()
        method = augment.create(name, 2, generator=torch.Generator().manual_seed(0))
        loss = method.loss(net, batch, F.cross_entropy)
        method.generator.manual_seed(0)
        out = method(batch)
        expected = F.cross_entropy(net(out.x, out.edge_index, out.edge_weight, out.batch), out.y)
        torch.testing.assert_close(loss, expected)
        loss.backward()
        assert net.conv.lin.weight.grad is not None

    def test_a_loss_of_ones_own_gets_graphs_and_their_model_from_any_loop(self, batch):
        seen = []

        class Twice(Method):
            def loss(self, model, graphs, criterion):
                seen.append((type(model), type(graphs), graphs.graphs["y"].shape))
                return 2 * super().loss(model, graphs, criterion)

        net, method = Net(), Twice(2)
        plain = Method(2).loss(net, batch, F.cross_entropy)
        graphs = method._prepare(from_batch(batch))
        torch.testing.assert_close(method.loss(net, batch, F.cross_entropy), 2 * plain)
        torch.testing.assert_close(
            method.loss(GraphsModel(net), graphs, F.cross_entropy), 2 * plain
        )
        assert seen == [(GraphsModel, Graphs, (8, 2))] * 2
        torch.testing.assert_close(method.eval().loss(net, batch, F.cross_entropy), plain)

    def test_every_method_trains_a_model_of_ours(self, batch):
        for name in augment.names():
            torch.manual_seed(0)
            model = GIN(3, 8, 2, 2)
            method = augment.create(name, 2, generator=torch.Generator().manual_seed(0))
            method.fit(batch.to_data_list())
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
            clean = []
            for _ in range(40):
                clean.append(method.eval().loss(model, batch, F.cross_entropy).item())
                optimizer.zero_grad()
                method.train().loss(model, batch, F.cross_entropy).backward()
                optimizer.step()
            assert sum(clean[-5:]) < 0.9 * sum(clean[:5]), name

    def test_edge_attributes_reach_a_model_that_reads_them(self, batch):
        batch.edge_attr = torch.rand(batch.num_edges, 2)
        model = GIN(3, 4, 1, 2, edge_dim=2)
        assert IfMixup(2).loss(model, batch, F.cross_entropy).isfinite()


class TestBatches:
    @pytest.mark.parametrize("wrong", ["graphs", 7, None])
    def test_what_is_not_a_batch(self, wrong):
        with pytest.raises(TypeError, match=r"Expected a PyG Batch.*from_data_list") as error:
            Method()(wrong)
        assert isinstance(error.value, IfmixupError)

    def test_none_keeps_all_that_a_batch_has(self, batch):
        batch.anything = "kept"
        out = augment.create("none", 2)(batch)
        assert out.anything == "kept"
        assert out.edge_weight is None
        assert torch.equal(out.edge_index, batch.edge_index)
        assert out.y.shape == (8, 2)

    def test_labels_are_optional(self, batch):
        del batch.y
        for name in augment.names():
            if name != "g_mixup":  # which needs classes
                method = augment.create(name).fit(batch.to_data_list())
                assert method(batch).get("y") is None


def test_a_copy_draws_the_same_and_leaves_the_original_alone(batch):
    method = IfMixup(2, generator=torch.Generator().manual_seed(5))
    twin = copy.deepcopy(method)
    before = method.generator.get_state()
    drawn = twin(batch)
    assert torch.equal(method.generator.get_state(), before)
    assert torch.equal(drawn.x, method(batch).x)


def test_replaying_a_plan_on_graphs_is_replaying_it_on_their_batch(batch):
    method = IfMixup(2)
    graphs = method._prepare(from_batch(batch))
    plan = method.draw(graphs)
    one, other = to_batch(method.change(graphs, plan)), method.augment(batch, plan)
    assert isinstance(other, Batch)
    assert all(torch.equal(one[key], other[key]) for key in one.keys())  # noqa: SIM118
