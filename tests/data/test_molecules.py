import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.data import load
from ifmixup.data.dataset import Skipped
from ifmixup.data.molecules import table_name, table_source
from ifmixup.errors import DatasetError, IfmixupError, InputError

TEXT = """id,smiles,label,solubility,toxic,bitter
a,CCO,yes,0.5,1,
b,"c1ccccc1",no,-1,0,1
c,XX,no,2,0,0
d,O=C=O,,1.25,,1
e,C,no,,0,0
f,CC
"""


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "molecules.csv"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("m.csv", ("m.csv", None, None)),
        ("m.csv:s", ("m.csv", "s", None)),
        ("m.csv:s:y", ("m.csv", "s", "y")),
        ("m.csv::y", ("m.csv", None, "y")),
        ("a/m.csv.gz:s:y,z", ("a/m.csv.gz", "s", "y,z")),
        ("C:\\m.parquet:s:y:1", ("C:\\m.parquet", "s", "y:1")),
        ("M.CSV", ("M.CSV", None, None)),
        ("MUTAG", None),
        ("graphs.pt", None),
        ("m.csv.zip", None),
    ],
)
def test_what_a_source_says(source, expected):
    assert table_source(source) == expected


def test_names(tmp_path):
    assert table_name(tmp_path / "a.b.csv.gz") == "a.b"
    assert table_name(tmp_path / "a.parquet") == "a"
    assert table_name(tmp_path / "a.csv", "toxic") == "a-toxic"


def test_classes(csv):
    dataset = load(f"{csv}:smiles:label", features="element")
    assert repr(dataset) == "molecules-label(3)"
    assert (dataset.task, dataset.metric) == ("classes", "accuracy")
    assert dataset.class_names == ["no", "yes"]
    assert dataset.y.tolist() == [1, 0, 0]
    assert dataset.ids == ["0", "1", "4"]  # the rows, as pandas counts them
    assert dataset.skipped == [
        Skipped(4, "XX", "not SMILES", "2"),
        Skipped(7, "f,CC", "expected 6 columns, found 2", "5"),
        Skipped(5, "O=C=O", "no label", "3"),
    ]
    ethanol, _, methane = dataset
    assert dataset.encoder.feature_names == ["element=C", "element=O"]
    assert ethanol.x.tolist() == [[1, 0], [1, 0], [0, 1]]
    # aromatic, single; the double bonds of line 5 were skipped with it
    assert ethanol.edge_attr.tolist() == [[0, 1]] * 4
    assert methane.x.tolist() == [[1, 0]]
    assert methane.edge_index.shape == (2, 0)
    assert methane.edge_attr.shape == (0, 2)
    assert ethanol.validate()


def test_the_usual_columns_are_found(csv):
    assert load(str(csv)).y.tolist() == [1, 0, 0]
    assert load(csv, label="label", smiles="smiles", identifier="id").ids == ["a", "b", "e"]


def test_values_with_one_that_is_not_known(csv):
    dataset = load(f"{csv}::solubility")
    assert (dataset.task, dataset.metric, dataset.class_names) == ("values", "mae", ["solubility"])
    assert dataset.y.nan_to_num(99).tolist() == [[0.5], [-1], [1.25], [99]]
    assert dataset[0].y.shape == (1, 1)


def test_labels_with_some_that_are_not_known(csv):
    dataset = load(csv, label="toxic, bitter", metric="average_precision")
    assert (dataset.task, dataset.metric) == ("labels", "average_precision")
    assert dataset.class_names == ["toxic", "bitter"]
    assert dataset.y.nan_to_num(-1).tolist() == [[1, -1], [0, 1], [-1, 1], [0, 0]]
    assert load(csv, label="toxic").task == "classes"
    assert load(csv, label="toxic", task="labels").num_classes == 1


def test_a_comma_in_the_name_of_a_column(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text('smiles,"a,b"\nC,x\nN,y\n')
    assert load(path, label="a,b").class_names == ["x", "y"]


def test_the_same_from_gz_and_parquet(csv, tmp_path):
    expected = load(csv, label="toxic,bitter")
    packed = tmp_path / "molecules.csv.gz"
    packed.write_bytes(gzip.compress(csv.read_bytes()))
    rows = [line.replace('"', "").split(",") for line in TEXT.splitlines()[:-1]]
    columns = {name: [row[i] or None for row in rows[1:]] for i, name in enumerate(rows[0])}
    for name in ("toxic", "bitter"):
        columns[name] = [None if cell is None else int(cell) for cell in columns[name]]
    pq.write_table(pa.table(columns), tmp_path / "molecules.parquet")
    for path in (packed, tmp_path / "molecules.parquet"):
        found = load(path, label="toxic,bitter")
        assert found.ids == expected.ids
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one.x, other.x)
            assert torch.equal(one.edge_attr, other.edge_attr)
            assert torch.equal(one.y.nan_to_num(-1), other.y.nan_to_num(-1))


def test_strict_stops(csv):
    with pytest.raises(DatasetError, match=r"molecules\.csv, line 4: 'XX': not SMILES"):
        load(csv, strict=True)
    csv.write_text("smiles,label\nC,a\nN,\n")
    with pytest.raises(DatasetError, match=r"line 3: 'N': no label"):
        load(csv, strict=True)


def test_prediction_uses_what_training_saw(csv, tmp_path):
    encoder = load(csv, features="element").encoder
    new = tmp_path / "new.csv"
    new.write_text("Smiles\nO\nN#C\nCC\n")
    with pytest.warns(UserWarning, match=r"element 'N' \(1x\)") as caught:
        dataset = load(new, encoder=encoder, labelled=False)
    assert len(caught) == 1
    assert "bond 'triple' (2x)" in str(caught[0].message)
    assert [graph.x.tolist() for graph in dataset] == [
        [[0, 1]],
        [[0, 0], [1, 0]],
        [[1, 0], [1, 0]],
    ]
    assert [graph.y for graph in dataset] == [None] * 3
    assert dataset.encoder == encoder


def test_molecules_without_any_bond(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("smiles,label\nC,a\n[Na+].[Cl-],b\n")
    dataset = load(path, features="element")
    assert dataset.num_edge_features == 0
    assert [graph.num_edges for graph in dataset] == [0, 0]
    assert dataset[1].x.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert [column.name for column in load(path).encoder.edges] == [
        "bond", "stereo", "conjugated", "ring"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("s,label\nC,1\n", {}, r"no column called smiles. Name the .* m.csv:SMILES:LABEL or smil"),
        ("smiles,z\nC,1\n", {}, r"no column called label or labels or .* Its columns: smiles, z"),
        ("smiles,label\nC,1\n", {"label": "a,b"}, r"no column 'a'. Its columns: smiles, label"),
        ("smiles,label\nC,1\n", {"identifier": "id"}, r"no column 'id'"),
        ("smiles,label\nX,1\nY,0\n", {}, r"no molecule that can be used; 2 were skipped, the fir"),
        ("smiles,label\n", {}, r"no molecule that can be used; 0 were skipped"),
        ("smiles,label\nC,\n", {}, r"m.csv: label: there is no label in any row"),
        (
            "smiles,label\nC,x\n",
            {"task": "values"},
            r"m.csv: Column 'label', line 2: 'x' is not",
        ),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, text, options, message):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        load(path, **options)


@given(
    st.text(alphabet='smiles,label\nCNO=#()1"\r\t0.5x\ufeff\x00', max_size=60)
    | st.lists(
        st.tuples(st.sampled_from(["C", "CC=O", "X", ""]), st.sampled_from(["0", "1", "", "a"])),
        max_size=5,
    ).map(lambda rows: "smiles,label\n" + "".join(f"{s},{y}\n" for s, y in rows))
)
def test_any_table_is_molecules_or_an_error_of_ours(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "m.csv"
    path.write_text(text, newline="")
    try:
        dataset = load(path)
    except IfmixupError:
        return
    assert len(dataset) == len(dataset.ids) > 0
    rows = [line for line in text.splitlines()[1:] if line]
    assert len(dataset) + len(dataset.skipped) <= len(rows)


def test_of_columns_that_differ_in_case_the_exact_one(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("SMILES,smiles,label\nno,CC,a\nno,CCO,b\n")
    assert len(load(path)) == 2


def test_standard_features_are_the_default_and_of_molecules_only(csv):
    standard, element = load(csv), load(csv, features="element")
    names = standard.encoder.feature_names
    assert [column.name for column in standard.encoder.nodes] == [
        "element", "degree", "charge", "hydrogens", "chirality", "hybridisation", "aromatic",
        "ring", "mass",
    ]  # fmt: skip
    assert names[:2] == element.encoder.feature_names == ["element=C", "element=O"]
    for one, other in zip(standard, element, strict=True):
        assert torch.equal(one.x[:, :2], other.x)
        assert torch.equal(one.edge_attr[:, :2], other.edge_attr)  # aromatic, single
        assert torch.equal(one.x[:, -1], 0.12011 * other.x[:, 0] + 0.15999 * other.x[:, 1])
    with pytest.raises(InputError, match="Unknown features 'all'"):
        load(csv, features="all")
    with pytest.raises(InputError, match="features='element' is for molecules"):
        load("MUTAG", features="element")


def test_an_encoder_says_which_features_are_read(csv, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCO\n")
    for features in ("standard", "element"):
        trained = load(csv, features=features)
        found = load(new, encoder=trained.encoder, labelled=False)
        assert torch.equal(found[0].x, trained[0].x)
        assert torch.equal(found[0].edge_attr, trained[0].edge_attr)
