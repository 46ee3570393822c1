import json

import pytest
import torch

from ifmixup.data import load
from ifmixup.errors import StoreError
from ifmixup.study.examples import (
    FILE_NAME,
    MOST_NODES,
    Examples,
    choose_examples,
    load_examples,
    save_examples,
)
from ifmixup.training.packed import pack


@pytest.fixture(scope="module")
def data():
    return pack(load("MUTAG"))


def test_two_graphs_of_other_sizes_and_classes(data):
    found = choose_examples(data)
    small, large = found.graphs
    assert small.num_nodes < large.num_nodes <= MOST_NODES
    i, j = found.indices
    assert data.y[i] != data.y[j]
    for index, graph in zip(found.indices, found.graphs, strict=True):
        original = load("MUTAG")[index]
        assert torch.equal(graph.x, original.x)
        edges = set(map(tuple, original.edge_index.t().tolist()))
        assert set(map(tuple, graph.edge_index.t().tolist())) == edges
    assert (found.dataset, found.data) == ("MUTAG", data.fingerprint)


def test_there_and_back(data, tmp_path):
    assert load_examples(tmp_path) is None
    save_examples(tmp_path, data)
    found, chosen = load_examples(tmp_path), choose_examples(data)
    assert found.indices == chosen.indices
    for one, other in zip(found.graphs, chosen.graphs, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"graphs": []}, "not enough values"),
        ({"dataset": 3}, "dataset must be"),
        ({"indices": [1, "x"]}, "indices must be"),
        ({"graphs": [{"x": [[1.0]], "edge_index": [[0], [1]]}] * 2}, "between the 1 nodes"),
        ({"graphs": [{"x": [[1.0]], "edge_index": [[0]]}] * 2}, "are not edges"),
        ({"graphs": [{"x": [[1.0]] * 41, "edge_index": [[], []]}] * 2}, "1 to 40 nodes"),
        ({"graphs": [{"x": [["nan"]], "edge_index": [[], []]}] * 2}, "finite"),
    ],
)
def test_a_damaged_file_is_said(data, tmp_path, change, said):
    values = {**choose_examples(data).to_dict(), **change}
    (tmp_path / FILE_NAME).write_text(json.dumps(values))
    with pytest.raises(StoreError, match=rf"examples.json cannot be read: .*{said}"):
        load_examples(tmp_path)
    (tmp_path / FILE_NAME).write_text("{" * 10)
    with pytest.raises(StoreError):
        load_examples(tmp_path)


def test_of_large_graphs_none_is_shown(data):
    packed = pack([graph for graph in load("MUTAG") if graph.num_nodes > 27][:1] * 3)
    assert isinstance(choose_examples(packed), Examples)  # the same graph may be shown twice
    assert choose_examples(pack(list(load("MUTAG"))[:1] * 2)) is not None
