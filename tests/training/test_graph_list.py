import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from ifmixup.data import load
from ifmixup.errors import InputError, InputTypeError
from ifmixup.training.graph_list import as_graphs

GRAPHS = [Data(x=torch.ones(n, 1)) for n in (1, 2)]
ARRAY = np.empty(2, dtype=object)
ARRAY[:] = GRAPHS


@pytest.mark.parametrize("given", [GRAPHS, tuple(GRAPHS), ARRAY, ARRAY[[0, 1]]])
def test_the_same_graphs_in_their_order(given):
    found = as_graphs(given)
    assert type(found) is list
    assert all(one is other for one, other in zip(found, GRAPHS, strict=True))


def test_datasets_and_batches():
    mutag = load("MUTAG")
    assert [graph.num_nodes for graph in as_graphs(mutag[3:5])] == [
        mutag[3].num_nodes,
        mutag[4].num_nodes,
    ]
    assert [graph.num_nodes for graph in as_graphs(Batch.from_data_list(GRAPHS))] == [1, 2]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.zeros((2, 3)), InputTypeError, r"array of float64 with the shape \(2, 3\)"),
        (np.zeros(2), InputTypeError, "array of float64"),
        (GRAPHS[0], InputTypeError, "got one Data"),
        ("MUTAG", InputTypeError, "got str"),
        (7, InputTypeError, "got int"),
        ([GRAPHS[0], 7], InputTypeError, "item 1 is a int"),
        ([], InputError, "Got no graphs"),
    ],
)
def test_what_is_no_list_of_graphs(given, error, message):
    with pytest.raises(error, match=message):
        as_graphs(given)
