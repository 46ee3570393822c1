import json

import pytest
import torch
from torch_geometric.data import Data

import ifmixup
from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.errors import DatasetError, InputError
from ifmixup.training import mapped
from ifmixup.training.mapped import open_packed, pack_stream
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.run import run
from ifmixup.training.run_spec import Fold, RunSpec
from ifmixup.training.settings import Settings
from task_graphs import with_values


@pytest.fixture(scope="module")
def mutag(tmp_path_factory):
    dataset = load("MUTAG")
    folder = tmp_path_factory.mktemp("mapped") / "MUTAG.packed"
    before, mapped.AT_ONCE = mapped.AT_ONCE, 50
    try:
        return pack(dataset), pack_stream(iter(dataset), folder)
    finally:
        mapped.AT_ONCE = before


def test_a_stream_is_the_same_dataset_as_a_list(mutag):
    whole, stream = mutag
    assert stream.fingerprint == whole.fingerprint
    assert (stream.task, stream.metric, stream.num_outputs) == ("classes", "accuracy", 2)
    for level in ("nodes", "edges"):
        for key, value in getattr(whole.graphs, level).items():
            assert torch.equal(getattr(stream.graphs, level)[key], value)
    assert torch.equal(stream.y, whole.y)
    assert torch.equal(stream.graphs.edge_ptr, whole.graphs.edge_ptr)
    assert stream.undirected == (True, True)


@pytest.mark.parametrize(
    "method", ["none", "ifmixup", "drop_edge", "mixup_graph", "manifold_mixup"]
)
def test_a_run_on_mapped_graphs_has_the_same_numbers(mutag, method):
    fold = Fold(0, 0, range(100), range(100, 140), range(140, 188))
    model, found = resolve("model", "gin").spec, resolve("method", method).spec
    results = [
        run(
            RunSpec("MUTAG", data.fingerprint, fold.fingerprint, 0, 0, 0, Settings(epochs=2), model,
                    found),
            data,
            fold,
        )
        for data in mutag
    ]  # fmt: skip
    assert results[0].curves == results[1].curves
    assert results[0].metrics == results[1].metrics


def test_a_method_that_fits_has_the_same_numbers(mutag):
    fold = Fold(0, 0, range(100), range(100, 140), range(140, 188))
    model, found = resolve("model", "gcn").spec, resolve("method", "g_mixup").spec
    spec = RunSpec("M", mutag[0].fingerprint, fold.fingerprint, 0, 0, 0, Settings(epochs=1), model,
                   found)  # fmt: skip
    one, other = (run(spec, data, fold) for data in mutag)
    assert one.curves == other.curves


def test_standardised_features_and_values_have_the_same_numbers(tmp_path):
    graphs = with_values()
    data = pack(graphs, "v"), pack_stream(graphs, tmp_path / "v.packed")
    assert data[0].fingerprint == data[1].fingerprint
    count = len(graphs)
    fold = Fold(0, 0, range(0, count - 8), range(count - 8, count - 4), range(count - 4, count))
    model, method = resolve("model", "gcn").spec, resolve("method", "ifmixup").spec
    spec = RunSpec("v", data[0].fingerprint, fold.fingerprint, 0, 0, 0, Settings(epochs=2), model,
                   method)  # fmt: skip
    one, other = (run(spec, each, fold) for each in data)
    assert one.curves == other.curves


def test_workers_are_sent_the_folder(mutag):
    values = mutag[1].to_dict()
    assert list(values) == ["folder"]
    assert PackedDataset.of(values).fingerprint == mutag[0].fingerprint


def test_compare_takes_the_folder(mutag, tmp_path):
    found = ifmixup.compare(
        mutag[1].folder, ["gcn"], ["none", "ifmixup"], folds=2, epochs=1, workers=1,
        folder=tmp_path, progress=False,
    )  # fmt: skip
    assert not found.failed
    assert len(found.runs) == 4


def graph(width=2, y=0):
    edge_index = torch.tensor([[0, 1], [1, 0]])
    return Data(x=torch.ones(2, width), edge_index=edge_index, y=torch.tensor([y]))


def test_what_cannot_be_packed_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "AT_ONCE", 2)
    wrong = [graph(), graph(y=1), graph(3), graph(3)]
    with pytest.raises(InputError, match=r"from index 2 on: rows of x are \[3\]"):
        pack_stream(wrong, tmp_path / "a.packed")
    with pytest.raises(InputError, match="has no graphs"):
        pack_stream([], tmp_path / "a.packed")
    with pytest.raises(InputError, match=r"ends in \.packed"):
        pack_stream(wrong, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    told = []
    pack_stream([graph(y=i % 2) for i in range(5)], tmp_path / "a.packed", each=told.append)
    assert told == [2, 5]
    with pytest.raises(InputError, match="already exists"):
        pack_stream([graph(), graph()], tmp_path / "a.packed")


def test_files_that_were_changed_are_refused(tmp_path):
    path = tmp_path / "a.packed"
    pack_stream([graph(y=i % 2) for i in range(4)], path)
    head = json.loads((path / "packed.json").read_text())
    whole = (path / "x.bin").read_bytes()
    (path / "x.bin").write_bytes(b"1234")
    with pytest.raises(DatasetError, match=r"x\.bin has 4 bytes; it should have 64"):
        open_packed(path)
    (path / "x.bin").write_bytes(whole)
    assert len(open_packed(path)) == 4
    for key, value in {"format": 9, "arrays": {}, "task": 3, "name": None}.items():
        (path / "packed.json").write_text(json.dumps({**head, key: value}))
        with pytest.raises(DatasetError, match="is not a packed dataset"):
            open_packed(path)
    head["arrays"]["../x"] = ["float32", [1]]
    (path / "packed.json").write_text(json.dumps(head))
    with pytest.raises(DatasetError, match="cannot be"):
        open_packed(path)
