import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from ifmixup.data import FeatureEncoder, GraphDataset
from ifmixup.data.load import Part
from ifmixup.errors import InputError
from ifmixup.prediction.predictions import Prediction, predictions
from ifmixup.prediction.predictor import Predictor
from ifmixup.training import Settings, pack, train


def dot(kind: int, y: int = 0) -> Data:
    edges = torch.empty(2, 0, dtype=torch.long)
    return Data(x=torch.tensor([[kind]]), edge_index=edges, y=torch.tensor([y]))


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    graphs = [dot(1, 0), dot(2, 1), dot(1, 0), dot(2, 1)]
    encoder = FeatureEncoder.fit(graphs)
    data = GraphDataset.of("dots", encoder.transform(graphs), encoder=encoder)
    settings = Settings(hidden=4, layers=1, epochs=1)
    return Predictor.of(train(settings, pack(data), train=torch.arange(4)))


def test_rows_stay_in_their_order(predictor):
    parts = [
        Part(["a", "b", "c"], [None, "broken", None], [dot(1), dot(2)]),
        Part(["d"], ["broken too"], []),
        Part(["e"], [None], [dot(2)]),
    ]
    one, two, five = torch.cat(list(predictor.predict([dot(1), dot(2), dot(2)]))).tolist()
    found = list(predictions(predictor, parts, batch_size=1))
    assert [row.id for row in found] == list("abcde")
    assert [row.problem for row in found] == [None, "broken", None, "broken too", None]
    assert [row.output is None for row in found] == [False, True, False, True, False]
    for row, expected in zip((found[0], found[2], found[4]), (one, two, five), strict=True):
        assert row.output == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40)
@given(
    rows=st.lists(st.sampled_from([1, 2, None]), max_size=12),
    size=st.integers(1, 5),
    batch_size=st.integers(1, 5),
)
def test_parts_and_batches_make_no_difference(predictor, rows, size, batch_size):
    parts = []
    for start in range(0, len(rows), size):
        kinds = rows[start : start + size]
        problems = ["broken" if kind is None else None for kind in kinds]
        names = [str(start + place) for place in range(len(kinds))]
        parts.append(Part(names, problems, [dot(kind) for kind in kinds if kind is not None]))
    known = dict(zip((1, 2), torch.cat(list(predictor.predict([dot(1), dot(2)]))), strict=True))
    found = list(predictions(predictor, parts, batch_size=batch_size))
    assert [row.id for row in found] == [str(place) for place in range(len(rows))]
    for row, kind in zip(found, rows, strict=True):
        if kind is None:
            assert (row.output, row.problem) == (None, "broken")
        else:
            assert row.output == pytest.approx(known[kind].tolist(), abs=1e-6)


def test_an_unknown_category_is_noted(predictor):
    with pytest.warns(UserWarning, match="not there when the encoder was learned"):
        (row,) = predictions(predictor, [Part(["a"], [None], [dot(3)])])
    assert row.output is not None
    assert row.problem == "1 node of an unknown x[0]: not in the training data"


def test_a_part_is_checked_before_it_is_computed(predictor, monkeypatch):
    wide = Data(x=torch.ones(1, 9), edge_index=torch.empty(2, 0).long())
    monkeypatch.setattr(predictor, "answer", lambda *_, **__: pytest.fail("computed"))
    with pytest.raises(InputError, match="Graph 0 has x of float32"):
        next(predictions(predictor, [Part(["a"], [None], [wide])]))


def test_a_source_that_cannot_be_encoded_says_what_the_model_knows(predictor):
    def parts():
        raise InputError("The graphs have 2 columns of x.")
        yield

    with pytest.raises(InputError, match=r"2 columns of x\. It was trained on dots"):
        next(predictions(predictor, parts()))
    other = FeatureEncoder.fit([dot(5), dot(6)])
    part = Part(["a"], [None], other.transform([dot(5)]), other)
    with pytest.raises(InputError, match="encoded by themselves"):
        next(predictions(predictor, [part]))


def test_the_best_class():
    assert Prediction("a", [0.2, 0.5, 0.3]).best == 1
    assert Prediction("a", None).best is None
