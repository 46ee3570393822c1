import os
import pickle
import zipfile

import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

from ifmixup.data import load
from ifmixup.data import saved_graphs as module
from ifmixup.data.saved_graphs import is_stored, read_saved
from ifmixup.errors import DatasetError, InputTypeError

EDGES = torch.tensor([[0, 1], [1, 0]])
GRAPHS = [
    Data(x=torch.tensor([[0.5], [i]]), edge_index=EDGES, y=torch.tensor([i])) for i in range(3)
]


class Own(InMemoryDataset):
    def __init__(self):
        super().__init__()
        self.data, self.slices = self.collate(GRAPHS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graphs.pt"


def save_list(path):
    torch.save(GRAPHS, path)


def save_dataset(path):
    InMemoryDataset.save(GRAPHS, path)


def save_pair(path):
    own = Own()
    torch.save((own._data, own.slices), path)


@pytest.mark.parametrize("save", [save_list, save_dataset, save_pair])
def test_however_they_were_saved(path, save):
    save(path)
    dataset = load(path)
    assert repr(dataset) == "graphs(3)"
    for one, other in zip(dataset, GRAPHS, strict=True):
        for key in ("x", "edge_index", "y"):
            assert torch.equal(one[key], other[key])


def test_one_graph(path):
    torch.save(GRAPHS[0], path)
    assert len(read_saved(path)) == 1
    InMemoryDataset.save(GRAPHS[:1], path)
    assert len(read_saved(path)) == 1


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


@pytest.mark.parametrize("what", [Evil(), [Evil()], [GRAPHS[0], Evil()], Data(x=Evil())])
def test_nothing_in_a_file_is_run(path, tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    torch.save(what, path)
    with pytest.raises(DatasetError, match=r"is refused: it needs more .* torch\.save\(list\(data"):
        read_saved(path)
    assert not (tmp_path / "evil").exists()


def test_a_plain_pickle_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(DatasetError, match=r"not a file of torch\.save"):
        read_saved(path)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("what", [{"a": 1}, torch.ones(3), [1, 2], (1, 2), (GRAPHS[0], 3), "x"])
def test_what_holds_no_graphs(path, what):
    torch.save(what, path)
    with pytest.raises(DatasetError, match=r"holds a \w+, not graphs. Save the graphs as a plain"):
        read_saved(path)


def test_slices_that_lie(path):
    own = Own()
    torch.save((own._data, {"x": torch.tensor([0, 2, 4, 99])}), path)
    with pytest.raises(DatasetError, match="does not hold whole graphs"):
        read_saved(path)


def test_a_data_that_is_none(path):
    hollow = Data.__new__(Data)
    torch.save([hollow], path)
    with pytest.raises(DatasetError, match="does not hold whole graphs"):
        read_saved(path)


def test_a_dataset_and_a_batch_and_hetero_graphs_are_refused(path):
    torch.save(Own(), path)
    with pytest.raises(DatasetError, match="is refused"):
        read_saved(path)
    torch.save(Batch.from_data_list(GRAPHS), path)
    with pytest.raises(DatasetError, match="is refused"):
        read_saved(path)
    torch.save([HeteroData()], path)
    with pytest.raises((DatasetError, InputTypeError)):
        load(path)


def test_damage_and_size(path, monkeypatch):
    with pytest.raises(DatasetError, match="There is no file"):
        read_saved(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", "nothing")
    with pytest.raises(DatasetError, match=r"cannot be read|is refused"):
        read_saved(path)
    torch.save(GRAPHS, path)
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(DatasetError, match="more than the 100 allowed"):
        read_saved(path)


@pytest.mark.parametrize("key", ["x", "edge_index", "y"])
def test_a_tensor_that_is_larger_than_the_file(path, key):
    large = {"x": (1000, 400), "edge_index": (2, 1000), "y": (1, 10**6)}[key]
    graph = GRAPHS[0].clone()
    graph[key] = torch.zeros(1, dtype=graph[key].dtype).expand(large)
    torch.save([graph], path)
    assert path.stat().st_size < 4000
    with pytest.raises(DatasetError, match=r"has a tensor \[.*\] of which it holds only a part"):
        read_saved(path)


def test_slices_that_are_larger_than_the_file(path):
    own = Own()
    slices = {**own.slices, "x": torch.zeros(1).long().expand(10**12)}
    torch.save((own._data.to_dict(), slices), path)
    with pytest.raises(DatasetError, match="of which it holds only a part"):
        read_saved(path)


def test_graphs_that_share_tensors(path, monkeypatch):
    torch.save([GRAPHS[0]] * 1000, path)
    assert len(read_saved(path)) == 1000
    monkeypatch.setattr(module, "MAX_SHARED", 10_000)
    with pytest.raises(DatasetError, match="but its graphs 48000: they share tensors"):
        read_saved(path)


def test_lists_that_hold_each_other(path):
    knot = [1]
    for _ in range(60):  # 2 ** 60 ways through it
        knot = [knot, knot]
    graph = GRAPHS[0].clone()
    graph.knot = knot
    torch.save([graph], path)
    assert len(read_saved(path)) == 1


WHOLE = torch.arange(6.0).view(2, 3)


@pytest.mark.parametrize(
    "tensor", [WHOLE, WHOLE.t(), WHOLE[:, 1], WHOLE[:0], torch.ones(()), torch.tensor([True])]
)
def test_what_is_there(tensor):
    assert is_stored(tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(1).expand(1000),
        WHOLE[:1].expand(3, 3),
        WHOLE.as_strided((4, 3), (1, 1)),
        torch.empty(10**15, device="meta"),
        torch.eye(2).to_sparse(),
    ],
)
def test_what_is_a_promise(tensor):
    assert not is_stored(tensor)
