import csv
import json
import os
import sys

import pytest

from ifmixup.errors import InputError, MissingExtraError, StoreError
from ifmixup.study.export import export, thinned
from ifmixup.study.store import Store
from stored_runs import done, failed, filled, spec

HEADER = (
    "key,dataset,model,method,protocol,repeat,fold,seed,status,accuracy,balanced_accuracy,nll,ece,"
    "chosen_accuracy,chosen_balanced_accuracy,chosen_nll,chosen_ece,seconds,prepare_seconds,epochs,"
    "learning_rate,halve_every,weight_decay,batch_size,hidden,layers,dropout,readout,norm,jk,"
    "steps_per_epoch,heads,use_edge_attr,alpha,beta,p,ratio,pairing,shuffle_every,drop_ratio,"
    "mask_ratio,data,split,host,finished_at,error"
)
COLUMNS = HEADER.split(",")


@pytest.fixture
def study(tmp_path):
    return filled(tmp_path / "study", done(0, method="ifmixup"), failed(1, 'a\n, "b"'))


def written(study, path):
    with Store(study) as store:
        assert export(store.records(), path) == len(store.keys())
    return path


def test_csv_has_these_columns_and_values(study, tmp_path):
    with written(study, tmp_path / "runs.csv").open(newline="") as stream:
        good, bad = csv.DictReader(stream)
    assert list(good) == COLUMNS
    expected = {
        "key": spec(0, method="ifmixup").key,
        "dataset": "MUTAG",
        "model": "gcn",
        "method": "ifmixup",
        "protocol": "holdout",
        "fold": "0",
        "status": "done",
        "accuracy": repr(2 / 3),
        "ece": "",
        "seconds": "1.25",
        "epochs": "2",
        "learning_rate": "0.01",
        "steps_per_epoch": "",
        "alpha": "20.0",
        "pairing": "random",
        "drop_ratio": "",  # makes no difference to ifmixup
        "heads": "",  # nor to gcn
        "error": "",
    }
    assert {name: good[name] for name in expected} == expected
    assert (bad["status"], bad["fold"], bad["accuracy"], bad["seconds"]) == ("failed", "1", "", "")
    assert bad["error"] == 'a\n, "b"'
    assert bad["alpha"] == ""


def test_metrics_that_are_not_known_get_a_column_too(tmp_path):
    outcome = done()
    outcome.result.metrics.update({"key": 1.0, "auc": 0.5})
    filled(tmp_path, outcome)
    with written(tmp_path, tmp_path / "runs.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["key"] == spec().key
    assert (row["auc"], row["metric_key"]) == ("0.5", "1.0")


def test_jsonl_has_everything_a_line_a_run(study, tmp_path):
    lines = written(study, tmp_path / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 2
    first = json.loads(lines[0])
    assert first["format"] == 1
    assert first["spec"] == spec(0, method="ifmixup").to_dict()
    assert first["result"]["curves"]["train_loss"] == [0.1 + 0.2, 1e-300]
    assert "0.30000000000000004" in lines[0]


def test_parquet(study, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(written(study, tmp_path / "runs.parquet"))
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert rows[0]["accuracy"] == 2 / 3
    assert rows[0]["epochs"] == 2
    assert rows[1]["accuracy"] is None
    assert [str(table.schema.field(name).type) for name in ("fold", "nll", "host", "heads")] == [
        "int64",
        "double",
        "string",
        "int64",
    ]


def test_parquet_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ifmixup\[parquet\]'"):
        export([], tmp_path / "runs.parquet")
    assert os.listdir(tmp_path) == []


def test_an_ending_that_is_not_known(tmp_path):
    with pytest.raises(InputError, match=r"exported as .jsonl, .csv, .parquet; got 'runs.xls'"):
        export([], tmp_path / "runs.xls")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        export([], tmp_path / "no" / "runs.csv")


@pytest.mark.parametrize("name", ["runs.csv", "runs.jsonl"])
def test_what_was_there_stays_if_writing_fails(tmp_path, name):
    def records():
        raise OSError(28, "No space left on device")
        yield

    (tmp_path / name).write_text("before")
    with pytest.raises(StoreError, match="disk is full"):
        export(records(), tmp_path / name)
    assert (tmp_path / name).read_text() == "before"
    assert os.listdir(tmp_path) == [name]


def test_no_runs_are_a_table_too(tmp_path):
    assert export([], tmp_path / "runs.csv") == 0
    assert (tmp_path / "runs.csv").read_text().splitlines() == [HEADER]


def test_a_thin_run_has_the_curves_that_numbers_are_read_from(tmp_path):
    with Store(filled(tmp_path, done(0), failed(1, "x"))) as store:
        whole, bad = sorted(store.records(), key=lambda record: record.status)
        thin = thinned(whole)
        assert thinned(bad).error == bad.error
        assert thinned(bad).host == thin.host == ""
    assert thin.spec == whole.spec
    assert thin.result.metrics == whole.result.metrics
    kept = set(whole.result.curves) - {"train_loss", "test_loss"}
    assert set(thin.result.curves) == kept
    for name in kept:
        assert thin.result.curves[name] == pytest.approx(whole.result.curves[name], rel=1e-4)
        assert all(len(f"{value!r}") <= 9 for value in thin.result.curves[name])
