import csv
import io
import json

import pytest

from ifmixup.errors import InputError
from ifmixup.prediction.predictions import Prediction
from ifmixup.prediction.save_predictions import check_output, columns, save_predictions

ROWS = [
    Prediction("a,b", [0.25, 0.75]),
    Prediction("c", None, "not SMILES"),
    Prediction("d\nd", [2 / 3, 1 / 3], "1 node of an unknown element"),
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
            ["d\nd", "no", "0.666667", "0.333333", "1 node of an unknown element"],
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
