from __future__ import annotations

import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.nn import Neighbours
from ifmixup.nn.inputs import check_edges, check_nodes

EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize(
    ("x", "batch", "text"),
    [
        (None, None, r"x is None.*OneHotDegree"),
        (torch.ones(4, 2), None, r"x is float32 \[4, 2\], but .* \[N, 3\]"),
        (torch.ones(3), None, r"x is float32 \[3\]"),
        (torch.ones(4, 3, dtype=torch.long), None, r"x is int64 \[4, 3\].*floating-point"),
        (torch.ones(4, 3), torch.zeros(3), r"batch is float32 \[3\].*each of the 4 nodes"),
    ],
)
def test_bad_nodes(x, batch, text):
    with pytest.raises(InputError, match=text):
        check_nodes(x, batch, 3)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"edge_index": EDGES.t()}, r"edge_index is int64 \[3, 2\].*\[2, E\]"),
        ({"edge_weight": torch.ones(4)}, r"float32 \[4\].*each of the 3 edges"),
        (
            {"edge_index": Neighbours.of(EDGES, 3), "edge_weight": torch.ones(4)},
            r"float32 \[4\].*each of the 3 edges",
        ),
        (
            {"edge_index": Neighbours.of(EDGES, 4)},
            r"The Neighbours are of 4 nodes, but x has 3 rows",
        ),
        ({"edge_weight": torch.ones(3, 1)}, r"edge_weight is float32 \[3, 1\]"),
        (
            {"edge_weight": torch.zeros(3, dtype=torch.long)},
            r"int64 \[3\].*batch vector is a model's fourth argument",
        ),
        ({"edge_attr": torch.ones(3, 2)}, r"does not read it.*GIN\(edge_dim=.*EdgeAttrToNodes"),
        ({"edge_dim": 2}, r"edge_dim=2, but edge_attr is missing"),
        ({"edge_dim": 2, "edge_attr": torch.ones(3)}, r"float32 \[3\].*\[3, 2\]"),
        ({"edge_dim": 1, "edge_attr": torch.ones(3, 1).long()}, r"int64 \[3, 1\].*floating-point"),
    ],
)
def test_bad_edges(changes, text):
    good = {
        "x": torch.ones(3, 3),
        "edge_index": EDGES,
        "edge_weight": None,
        "edge_attr": None,
        "edge_dim": None,
    }
    with pytest.raises(InputError, match=text):
        check_edges(**{**good, **changes})
