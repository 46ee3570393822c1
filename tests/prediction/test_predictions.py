import csv
import io
import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from ifmixup.data import FeatureEncoder, GraphDataset
from ifmixup.data.load import Part
from ifmixup.errors import InputError
from ifmixup.prediction.predictions import (
    Prediction,
    check_output,
    columns,
    predictions,
    save_predictions,
)
from ifmixup.prediction.predictor import Predictor
from ifmixup.training.fit import train
from ifmixup.training.packed import pack
from tiny import parts as small


def dot(kind: int, y: int = 0) -> Data:
    edges = torch.empty(2, 0, dtype=torch.long)
    return Data(x=torch.tensor([[kind]]), edge_index=edges, y=torch.tensor([y]))


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    graphs = [dot(1, 0), dot(2, 1), dot(1, 0), dot(2, 1)]
    encoder = FeatureEncoder.fit(graphs)
    data = GraphDataset.of("dots", encoder.transform(graphs), encoder=encoder)
    return Predictor.of(train(*small(epochs=1), pack(data), train=torch.arange(4)))


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
        names = [str(start + index) for index in range(len(kinds))]
        parts.append(Part(names, problems, [dot(kind) for kind in kinds if kind is not None]))
    known = dict(zip((1, 2), torch.cat(list(predictor.predict([dot(1), dot(2)]))), strict=True))
    found = list(predictions(predictor, parts, batch_size=batch_size))
    assert [row.id for row in found] == [str(index) for index in range(len(rows))]
    for row, kind in zip(found, rows, strict=True):
        if kind is None:
            assert (row.output, row.problem) == (None, "broken")
        else:
            assert row.output == pytest.approx(known[kind].tolist(), abs=1e-6)


def test_an_unknown_category_is_noted(predictor):
    with pytest.warns(UserWarning, match="are not in the training data"):
        (row,) = predictions(predictor, [Part(["a"], [None], [dot(3)])])
    assert row.output is not None
    assert row.problem == "1 node with an unknown x[0]: not in the training data"


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
    with pytest.raises(InputError, match="have their own encoding"):
        next(predictions(predictor, [part]))


def test_the_best_class():
    assert Prediction("a", [0.2, 0.5, 0.3]).best == 1
    assert Prediction("a", None).best is None


ROWS = [
    Prediction("a,b", [0.25, 0.75]),
    Prediction("c", None, "not SMILES"),
    Prediction("d\nd", [2 / 3, 1 / 3], "1 node with an unknown element"),
]


def test_classes(tmp_path):
    path = tmp_path / "out.csv"
    found = save_predictions(ROWS, str(path), task="classes", names=["no", "yes"])
    assert found == (3, 1)
    with path.open(newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["id", "prediction", "probability_no", "probability_yes", "problem"],
            ["a,b", "yes", "0.25", "0.75", ""],
            ["c", "", "", "", "not SMILES"],
            ["d\nd", "no", "0.666667", "0.333333", "1 node with an unknown element"],
        ]


def test_values_to_standard_output(capsys):
    rows = [Prediction("a", [1234.5678, -1e-9]), Prediction("b", None, "no")]
    save_predictions(rows, "-", task="values", names=["melting point", "id"])
    assert capsys.readouterr().out == (
        "id,melting point,id_predicted,problem\na,1234.57,-1e-09,\nb,,,no\n"
    )


def test_json(capsys):
    save_predictions(ROWS[:2], "-", task="labels", names=["x", "y"], as_json=True)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"id": "a,b", "probabilities": {"x": 0.25, "y": 0.75}, "problem": None},
        {"id": "c", "probabilities": None, "problem": "not SMILES"},
    ]


def test_columns():
    assert columns("labels", ["toxic", "problem"]) == [
        "id",
        "toxic",
        "problem_predicted",
        "problem",
    ]


def test_what_fails_on_the_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("as it was")

    def rows():
        yield ROWS[0]
        raise InputError("the second row is broken")

    with pytest.raises(InputError, match="second row"):
        save_predictions(rows(), str(path), task="classes", names=["no", "yes"])
    assert path.read_text() == "as it was"
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_is_written_before_there_is_a_row(capsys):
    def rows():
        raise InputError("does not fit")
        yield

    with pytest.raises(InputError, match="does not fit"):
        save_predictions(rows(), "-", task="classes", names=["no", "yes"])
    assert capsys.readouterr().out == ""


def test_rows_are_written_as_they_come(tmp_path):
    path = tmp_path / "out.csv"
    sizes = []

    def rows():
        for number in range(2000):
            sizes.append(sum(file.stat().st_size for file in tmp_path.iterdir()))
            yield Prediction(str(number), [1.0, 0.0])

    save_predictions(rows(), str(path), task="classes", names=["no", "yes"])
    assert sizes[-1] > 10_000  # what came before is in the file, not in memory


def test_a_folder_that_is_not_there(tmp_path):
    check_output("-")
    check_output(str(tmp_path / "new.csv"))
    with pytest.raises(InputError, match="does not exist"):
        check_output(str(tmp_path / "no" / "new.csv"))
    with pytest.raises(InputError, match="is a folder"):
        check_output(str(tmp_path))
    with pytest.raises(InputError, match="cannot be written"):
        save_predictions(ROWS, str(tmp_path / "no" / "a.csv"), task="classes", names=["n", "y"])


def test_a_terminal_is_not_steered(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    rows = [Prediction("a\x1b[2J", [1.0, 0.0], "no\nway")]
    for stream, expected in (
        (Terminal(), "a?[2J,n?o,1,0,no?way"),
        (io.StringIO(), 'a\x1b[2J,n\x1bo,1,0,"no\nway"'),
    ):
        monkeypatch.setattr("sys.stdout", stream)
        save_predictions(rows, "-", task="classes", names=["n\x1bo", "yes"])
        assert expected in stream.getvalue()


def test_a_column_of_the_input_keeps_its_name():
    assert columns("values", ["logS"], ["smiles", "logS"]) == ["id", "logS_predicted", "problem"]
    assert columns("values", ["a"], ["a", "a_predicted"])[1] == "a_predicted_predicted"
    assert columns("classes", ["0", "1"], ["problem"])[-1] == "problem_predicted"
