"""A run that cannot be used is set aside with a message, and the rest works."""

import json
import math
import re
import sqlite3
from contextlib import ExitStack
from dataclasses import replace

import pytest

from engine_here import Here
from ifmixup.cli import main
from ifmixup.data import load
from ifmixup.errors import InputError, StoreError
from ifmixup.safe_io import locked
from ifmixup.study.compare import compare
from ifmixup.study.exchange import export, import_runs
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies, save_studies
from ifmixup.study.usable import check_name, usable_runs
from ifmixup.training.packed import pack
from stored_runs import child, record, records_of, result, stored, study_of


def measure(spec, validated):
    validation = (0.5, 0.6) if validated else None
    return result((0.5, 0.25 + spec.fold / 100), validation=validation)


@pytest.fixture(scope="module")
def mutag():
    return pack(load("MUTAG"))


@pytest.fixture
def folder(tmp_path):
    study = study_of(folds=3)
    return stored(tmp_path / "study", study, records_of(study, measure))


def change(folder, key, **values):
    connection = sqlite3.connect(folder / "runs.sqlite")
    for name, value in values.items():
        connection.execute(f"UPDATE runs SET {name} = ? WHERE key = ?", (value, key))
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"metrics": '{"accuracy":0.99}'}, "their checksum differs"),
        ({"seconds": 9.0}, "their checksum differs"),
        ({"spec": "{}"}, "checksum"),
        ({"curves": b"nothing"}, "their checksum differs"),
        ({"curves": None}, "TypeError"),
    ],
)
def test_a_damaged_run_counts_as_failed(folder, capsys, values, reason):
    (study,) = load_studies(folder)
    key = sorted(study.keys)[0]
    change(folder, key, **values)
    for read_only in (True, False):  # a report does not change the folder, a comparison does
        with Store(folder, read_only=read_only) as store:
            found = {each.key: each for each in usable_runs(store, study)}
            assert len(found) == 6
            assert found[key].error.startswith("Damaged: ")
            assert reason in found[key].error
            assert len(store.keys("failed")) == (0 if read_only else 1)
            assert sum(each.result is not None for each in found.values()) == 5
    with Store(folder) as store:  # and the right one takes its place
        assert import_one(store, folder, records_of(study, measure)[key]) == 1
        assert len(store.keys("done")) == 6


def import_one(store, folder, one):
    export([one], folder / "one.jsonl")
    return import_runs(store, folder / "one.jsonl").added


def test_the_commands_go_on(folder, capsys, tmp_path):
    (study,) = load_studies(folder)
    key = sorted(study.keys)[0]
    change(folder, key, curves=b"nothing", metrics="?")
    assert main(["runs", str(folder), "--export", str(tmp_path / "rest.jsonl")]) == 1
    assert "Exported 5 runs" in (out := capsys.readouterr().out)
    assert f"Run {key} in" in out
    assert "is damaged" in out
    assert main(["report", str(folder), "--output", str(tmp_path / "report.html")]) == 0
    assert "is damaged" in (tmp_path / "report.html").read_text()


BAD = {
    "no curves": ({}, "it has no test curve"),
    "an empty curve": ({"test_accuracy": []}, "has 0 values for 2 epochs"),
    "short validation": (
        {"test_accuracy": [1, 1], "validation_accuracy": [1], "validation_loss": [1, 1]},
        "'validation_accuracy' has 1 values for 2 epochs",
    ),
    "half of validation": (
        {"test_accuracy": [1, 1], "validation_loss": [1, 1]},
        "its validation curves are .'validation_loss'., not of accuracy",
    ),
    "more than all": ({"test_accuracy": [1, 1e308]}, "values that are not from 0 to 1"),
    "less than nothing": ({"test_accuracy": ["nan", -0.5]}, "values that are not from 0 to 1"),
    "no metric": ({"test_\u001b[2J": [1, 1]}, "is not a name for a metric"),
}


@pytest.mark.parametrize("kind", BAD)
def test_curves_are_checked_at_the_import(tmp_path, kind):
    curves, reason = BAD[kind]
    study = study_of(folds=2)
    one, other, *_ = records_of(study, measure).values()
    lines = [{"format": 2, **each.to_dict()} for each in (one, other)]
    lines[0]["result"]["curves"] = curves
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with Store(tmp_path / "study") as store:
        found = import_runs(store, path)
        assert (found.added, len(found.failed_lines)) == (1, 1)
        assert found.failed_lines[0].startswith("line 1: ")
        assert re.search(reason, found.failed_lines[0])
        assert import_one(store, tmp_path, one) == 1  # the right one mends it


def test_a_metric_that_is_not_defined_can_be_imported(tmp_path):
    """ROC-AUC on graphs of one class is NaN, which is no damage."""
    one = next(iter(records_of(study_of(folds=2), measure).values()))
    curves = {name: [math.nan, 1.0] for name in one.result.curves}
    with Store(tmp_path / "study") as store:
        found = replace(one, result=replace(one.result, curves=curves))
        assert import_one(store, tmp_path, found) == 1


def test_numbers_of_any_size_in_a_store_can_be_shown(folder, capsys):
    (study,) = load_studies(folder)
    one = study.specs()[0]
    with Store(folder) as store:
        store.set_aside(record(one, result((1e308, 1e308), validation=(1e308, 1e308))))
    assert main(["report", str(folder), "--output", str(folder / "report.html")]) == 0
    assert "e+3" in (folder / "report.html").read_text()


def test_a_run_without_validation_where_the_fold_has_some(folder):
    """The import cannot know that; the comparison does."""
    (study,) = load_studies(folder)
    spec = study.specs()[0]
    with Store(folder) as store:
        bad = record(spec, replace(result(), curves={"test_accuracy": [0.5, 0.5]}))
        store.set_aside(bad)
        found = {each.key: each for each in usable_runs(store, study)}
        assert "no validation curves" in found[spec.key].error
        assert store.keys("failed") == {spec.key}


def test_compare_with_retry_failed_replaces_it(tmp_path, mutag):
    options = {"folds": 2, "epochs": 1, "hidden_channels": 4, "num_layers": 1, "progress": False}
    options |= {"folder": tmp_path / "study", "models": "gcn", "methods": "none", "workers": 1}
    first = compare(mutag, **options)
    table = first.table("markdown")
    change(tmp_path / "study", first.runs[0].key, metrics="{}")
    second = compare(mutag, **options)
    assert [each.error.split(":")[0] for each in second.failed] == ["Damaged"]
    third = compare(mutag, **options, retry_failed=True)
    assert not third.failed
    assert third.table("markdown") == first.table("markdown")
    change(tmp_path / "study", first.runs[0].key, metrics="{}")
    assert compare(mutag, **options, retry_failed=True).table("markdown") == table


@pytest.mark.parametrize(
    "name", ["../../x", "/tmp/x", "a/b", "a\\b", ".hidden", "", " ", "a\x1b[2J"]
)
def test_a_name_is_a_name(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is not a name for a study"):
        check_name(name)
    assert main(["compare", "MUTAG", "--epochs", "1", f"--name={name}"]) == 2
    assert "is not a name for a study" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert check_name("MUTAG, 3 layers") == "MUTAG, 3 layers"


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "MUTAG", "--seed", str(10**22)],
        ["compare", "MUTAG", "--seed", "-1"],
        ["train", "MUTAG", "--seed", str(10**22)],
        ["train", "MUTAG", "--seed", str(2**63), "--fold", "0"],
        ["train", "MUTAG", "--fold", str(2**63)],
        ["reproduce", "gin", "--seed", str(10**22), "--dry-run"],
        ["audit", "MUTAG", "--seed", "-1"],
        ["runs", "study", "--fold", str(2**63)],
        ["runs", "study", "--repeat", "-1"],
    ],
)
def test_numbers_that_cannot_be_stored_are_refused_at_the_start(
    words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert "must be" in (error := capsys.readouterr().err)
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{"seed": 10**22}, {"fold": 2**63}, {"repeat": 2**63}])
def test_numbers_that_cannot_be_stored_are_refused_at_the_import(change, tmp_path):
    one = record(replace(study_of(folds=2).specs()[0], **change), result())
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"format": 2, **one.to_dict()}))
    with Store(tmp_path / "study") as store:
        (line,) = import_runs(store, path).failed_lines
        assert f"{next(iter(change))} must fit into 64 bits" in line
        assert store.keys() == set()


def test_a_search_that_is_stopped_is_written_down(tmp_path, mutag):
    def stop(spec):
        raise KeyboardInterrupt

    options = {"folds": 3, "epochs": 30, "hidden_channels": 4, "num_layers": 1, "models": "gcn"}
    options |= {"methods": "none", "folder": tmp_path, "progress": False, "search": "halving"}
    options |= {"grid": {"learning_rate": [0.1, 0.01, 0.001]}}
    with pytest.raises(KeyboardInterrupt):
        compare(mutag, **options, engine=Here(stop))
    (stopped,) = load_studies(tmp_path)
    assert len(stopped.trials[0].candidates) == 3
    found = compare(mutag, **options, engine=Here(lambda spec: False))
    assert load_studies(tmp_path) == [found.study]
    assert len(found.study.trials[0].candidates) == 1


def test_studies_that_are_saved_at_once_are_all_kept(tmp_path):
    studies = [study_of(name=f"study {number}", folds=2) for number in range(6)]
    with ExitStack() as stack:
        for each in studies:
            stack.enter_context(child(lambda each=each: save_studies(tmp_path, [each])))
    assert {each.name for each in load_studies(tmp_path)} == {each.name for each in studies}


def test_a_lock_that_is_held_for_too_long(tmp_path):
    path = tmp_path / "study.json"
    held = pytest.raises(StoreError, match="another process has held it")
    with locked(path), held, locked(path, patience=0.1):
        pass
    with locked(path, patience=0.1):
        pass
