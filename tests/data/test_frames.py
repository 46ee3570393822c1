import numpy as np
import pandas as pd
import pytest
import torch

from ifmixup.data import load
from ifmixup.data.frames import Frame, is_frame, is_smiles
from ifmixup.errors import DatasetError, InputError, InputTypeError

TEXT = """id,smiles,label,toxic,bitter
a,CCO,yes,1,
b,c1ccccc1,no,0,1
c,XX,no,0,0
d,O=C=O,,,1
e,C,no,0,0
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "m.csv").write_text(TEXT)
    return tmp_path / "m.csv"


@pytest.fixture
def frame(path):
    return pd.read_csv(path)


def same(one, other):
    assert one.ids == other.ids
    assert one.class_names == other.class_names
    assert one.encoder == other.encoder
    assert [skip.reason for skip in one.skipped] == [skip.reason for skip in other.skipped]
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a.x, b.x)
        assert torch.equal(a.edge_attr, b.edge_attr)
        assert torch.equal(a.y.float().nan_to_num(-1), b.y.float().nan_to_num(-1))


@pytest.mark.parametrize("label", ["label", "toxic,bitter", "toxic"])
@pytest.mark.parametrize("features", ["standard", "element"])
def test_a_frame_is_read_as_its_file_is(path, frame, label, features):
    same(load(frame, label=label, features=features), load(path, label=label, features=features))
    same(
        load(frame, label=label, identifier="id"),
        load(path, label=label, identifier="id"),
    )


def test_a_series_and_lists(path, frame):
    expected = load(path, label="toxic,bitter")
    labels = frame[["toxic", "bitter"]]
    same(load(frame["smiles"], label=labels), expected)
    same(load(frame, label=labels), expected)
    found = load(list(frame["smiles"]), label=labels.to_numpy())
    assert found.class_names == ["label[0]", "label[1]"]
    assert load(np.array(["C", "CC"]), label=[0, 1]).y.tolist() == [0, 1]
    assert load(("C", "CC"), label=torch.tensor([0.5, 1])).task == "values"
    assert load(pd.Series(["C", "CC"]), labelled=False)[1].num_nodes == 2
    assert load(pd.Series(["C", None, "CC"]), labelled=False).ids == ["0", "2"]


def test_names_come_from_the_content(frame):
    assert load(frame).name == load(frame.copy()).name
    assert load(frame).name.startswith("molecules-")
    assert load(frame).name != load(frame, label="toxic").name
    assert load(frame).name != load(frame[:4]).name


def test_missing_values_of_pandas():
    frame = pd.DataFrame({"smiles": ["C", "CC", "CCC"], "y": pd.array([1, None, 0], "Int64")})
    found = load(frame)
    assert found.y.tolist() == [1, 0]
    assert found.skipped[0].reason == "no label"


def test_what_is_what(frame):
    assert is_frame(frame)
    assert not is_smiles(frame)
    assert is_smiles(["C"])
    assert is_smiles(frame["smiles"])
    for other in ("C", [], [1], [torch.zeros(1)], frame["toxic"], load("MUTAG"), {"C": 1}):
        assert not is_smiles(other)
        assert not is_frame(other)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: load(["C", "CC"]), InputError, "A list of SMILES has no labels"),
        (lambda f: load(["C", "CC"], label=[1]), InputError, r"shape \(1,\); for 2 molecules"),
        (lambda f: load(f, smiles="SMILES"), DatasetError, "the DataFrame has no column 'SMILES'"),
        (
            lambda f: load(f.drop(columns="smiles")),
            DatasetError,
            r"the DataFrame has no column called smiles. Name the column of the SMILES: smiles=\.",
        ),
        (lambda f: load(pd.DataFrame({0: ["C"]})), InputTypeError, "need texts as names; got 0"),
        (
            lambda f: load(pd.DataFrame([["C", "C"]], columns=["a", "a"])),
            DatasetError,
            "has the column 'a' twice",
        ),
        (
            lambda f: load(pd.DataFrame({"smiles": ["C"], "label": [[1]]})),
            DatasetError,
            "row 1: a cell holds a list",
        ),
        (lambda f: load("MUTAG", label=[1, 2]), InputTypeError, "not labels"),
        (lambda f: load(["C", "XX"], labelled=False, strict=True), DatasetError, "'XX': not SMI"),
    ],
)
def test_what_cannot_be_read(frame, make, error, message):
    with pytest.raises(error, match=message):
        make(frame)


def test_a_frame_without_pandas():
    class Columns:  # what pandas and polars share
        columns = ("smiles", "y")

        def __getitem__(self, name):
            return {"smiles": ["C", "CC"], "y": [0.5, None]}[name]

    found = load(Columns())
    assert found.y.isnan().flatten().tolist() == [False, True]
    assert next(iter(Frame(Columns()).rows([1, 0]))).cells == ["0.5", "C"]
