import csv
import json
import os
import sqlite3
import sys

import pytest

from ifmixup.components import resolve, with_options
from ifmixup.errors import InputError, MissingExtraError, StoreError
from ifmixup.study import exchange
from ifmixup.study.exchange import Imported, export, flat, import_runs, thinned
from ifmixup.study.store import Store
from ifmixup.training.run_spec import RunSpec
from ifmixup.training.settings import setting_types
from own_classes import Net
from stored_runs import child, done, everything, failed, filled, spec

FIRST = ["key", "dataset", "model", "method", "repeat", "fold", "seed", "status"]
LAST = ["data", "split", "host", "finished_at", "error"]


def exported(folder):
    path = folder.with_suffix(".jsonl")
    with Store(folder) as store:
        export(store.records(), path)
    return path


def imported(folder, path):
    with Store(folder) as store:
        return import_runs(store, path)


@pytest.fixture
def one(tmp_path):
    odd = done(2)
    odd.result.curves.update(train_loss=[float("nan"), float("inf")])
    outcomes = [done(0), failed(1), odd, done(3, model="gin", use_edge_attr=True)]
    return filled(tmp_path / "one", *outcomes)


def line_of(one):
    return json.loads(exported(one).read_text().splitlines()[0])


@pytest.mark.parametrize("kind", ["jsonl", "sqlite", "folder"])
def test_round_trip(one, tmp_path, kind):
    source = {"jsonl": exported(one), "sqlite": one / "runs.sqlite", "folder": one}[kind]
    before = (one / "runs.sqlite").read_bytes()
    assert imported(tmp_path / "two", source) == Imported(4, 0, ())
    assert everything(tmp_path / "two") == everything(one)
    assert imported(tmp_path / "two", source) == Imported(0, 4, ())
    assert everything(tmp_path / "two") == everything(one)
    assert (one / "runs.sqlite").read_bytes() == before


def test_two_machines_become_one(tmp_path):
    one = filled(tmp_path / "one", done(0, accuracy=0.1), failed(1), done(2))
    two = filled(tmp_path / "two", done(0, accuracy=0.2), done(1), failed(3))
    assert imported(one, exported(two)) == Imported(added=2, already_there=1, failed_lines=())
    with Store(one) as store:
        assert store.keys("done") == {spec(fold).key for fold in (0, 1, 2)}
        assert store.keys("failed") == {spec(3).key}
        assert (
            store.get([spec(0).key])[spec(0).key].result.metrics["accuracy"] == 0.1
        )  # first come, kept


def test_the_later_failure_is_kept_whatever_the_order(tmp_path):
    first = exported(filled(tmp_path / "first", failed(error="first")))
    second = exported(filled(tmp_path / "second", failed(error="second")))
    for order in ([first, second], [second, first], [first, second, first]):
        folder = tmp_path / "-".join(path.stem for path in order)
        for path in order:
            imported(folder, path)
        with Store(folder) as store:
            assert store.get([spec().key])[spec().key].error == "second"


def test_a_bad_line_is_named_and_the_others_are_kept(one, tmp_path):
    path = exported(one)
    good = path.read_bytes().splitlines(keepends=True)
    bad = [b"{\n", b"\xff\n", b"5\n", b'{"format": 1}\n', b"[" * 90_000 + b"\n"]
    path.write_bytes(b"\n".join([good[0], *bad, *good[1:]]).replace(b"\n\n", b"\n"))
    found = imported(tmp_path / "two", path)
    assert (found.added, found.already_there) == (4, 0)
    assert [message.split(":")[0] for message in found.failed_lines] == [
        f"line {number}" for number in range(2, 7)
    ]
    assert "not JSON" in found.failed_lines[0]
    assert "not a run of ifmixup" in found.failed_lines[3]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["key"], "0" * 24, "the key '0{24}' is not that of the spec"),
        (["spec", "fold"], 7, "is not that of the spec"),
        (["spec", "settings", "learning_rate"], 0.25, "is not that of the spec"),
        (["spec", "model", "options", "dropout"], 0.25, "is not that of the spec"),
        (["spec", "model", "source"], "other code", "is not that of the spec"),
        (["spec", "settings", "epochs"], "two", "epochs must be int"),
        (["result", "curves", "train_loss"], [1.0], "'train_loss' has 1 values for 2 epochs"),
        (["result", "metrics"], [], "is not an object"),
        (["result", "curves"], {}, "it has no test curve"),
    ],
)
def test_a_changed_line_is_refused(one, tmp_path, path, value, message):
    line = line_of(one)
    inner = line
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    source = tmp_path / "changed.jsonl"
    source.write_text(json.dumps(line))
    found = imported(tmp_path / "two", source)
    assert (found.added, found.already_there) == (0, 0)
    (text,) = found.failed_lines
    with pytest.raises(StoreError, match=message):
        raise StoreError(text)
    assert everything(tmp_path / "two") == []


def test_a_long_line_is_bounded(one, tmp_path, monkeypatch):
    path = exported(one)
    lines = path.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(exchange, "MAX_LINE", max(map(len, lines)))
    path.write_bytes(b"".join([lines[0], b"x" * 100_000 + b"\n", *lines[1:], b"y" * 100_000]))
    found = imported(tmp_path / "two", path)
    assert found.added == 4
    assert [message.split(" is longer")[0] for message in found.failed_lines] == [
        "line 2: it",
        "line 6: it",
    ]


def test_a_file_of_something_else_is_given_up(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("{}\n" * 5000)
    with pytest.raises(
        StoreError, match=r"1000 bad lines, so the import was stopped. The first is line 1"
    ):
        imported(tmp_path / "two", path)


def test_a_damaged_run_of_a_database_is_named_and_the_others_come(one, tmp_path):
    connection = sqlite3.connect(one / "runs.sqlite")
    connection.execute("UPDATE runs SET metrics = '{' WHERE key = ?", (spec(0).key,))
    connection.execute(
        "INSERT INTO runs SELECT 'abc', dataset, model, method, repeat, fold, spec, status, "
        "metrics, error, seconds, prepare_seconds, versions, host, finished_at, curves "
        "FROM runs WHERE status = 'failed'"
    )
    connection.commit()
    connection.close()
    found = imported(tmp_path / "two", one)
    assert found.added == 3
    assert len(found.failed_lines) == 2
    assert any(f"run {spec(0).key}: " in message for message in found.failed_lines)
    assert any("run abc: the key 'abc' is not that" in message for message in found.failed_lines)


def test_a_study_that_was_killed_has_its_last_runs_in_the_log(tmp_path):
    def work():
        store = Store(tmp_path / "one")
        for fold in range(5):
            store.add(done(fold))
        os.kill(os.getpid(), 9)

    with child(work):
        pass
    assert (tmp_path / "one" / "runs.sqlite-wal").stat().st_size
    assert imported(tmp_path / "two", tmp_path / "one") == Imported(5, 0, ())


def test_what_cannot_be_imported(tmp_path):
    (tmp_path / "runs.csv").write_text("")
    (tmp_path / "other.sqlite").write_text("not a database")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"nothing at .*no.jsonl"):
        imported(tmp_path / "two", tmp_path / "no.jsonl")
    with pytest.raises(
        InputError, match=r"from a .jsonl, a .sqlite or a study's folder; got 'runs"
    ):
        imported(tmp_path / "two", tmp_path / "runs.csv")
    with pytest.raises(StoreError, match="not a database of ifmixup's runs"):
        imported(tmp_path / "two", tmp_path / "other.sqlite")
    with pytest.raises(StoreError, match="holds no runs"):
        imported(tmp_path / "two", tmp_path / "empty")


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
    names = list(good)
    assert names[:8] == FIRST
    assert names[-5:] == LAST
    assert set(setting_types()) < set(names)
    expected = {
        "key": spec(0, method="ifmixup").key,
        "dataset": "MUTAG",
        "model": "gcn",
        "method": "ifmixup",
        "fold": "0",
        "status": "done",
        "accuracy": repr(2 / 3),
        "seconds": "1.25",
        "epochs": "2",
        "learning_rate": "0.01",
        "steps_per_epoch": "",
        "model.num_layers": "5",
        "method.alpha": "20.0",
        "method.pairing": "random",
        "error": "",
    }
    assert {name: good[name] for name in expected} == expected
    assert (bad["status"], bad["fold"], bad["accuracy"], bad["seconds"]) == ("failed", "1", "", "")
    assert bad["error"] == 'a\n, "b"'
    assert bad["method.alpha"] == ""  # none has no such option


def test_a_users_class_has_its_digest_in_the_table(tmp_path):
    filled(tmp_path, done(0, model=Net), done(1, method=with_options("ifmixup", drop=("a", "b"))))
    with Store(tmp_path) as store:
        rows = {row["fold"]: row for row in map(flat, store.records())}
    assert rows[0]["model"] == "Net"
    assert rows[0]["model.source"] == resolve("model", Net).spec.source
    assert rows[0]["model.width"] == 8
    assert "method.source" not in rows[0]
    assert rows[1]["method.drop"] == "a b"


def test_metrics_that_are_not_known_get_a_column_too(tmp_path):
    outcome = done()
    outcome.result.metrics.update({"key": 1.0, "auc": 0.5})
    filled(tmp_path, outcome)
    with written(tmp_path, tmp_path / "runs.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["key"] == spec().key
    assert (row["auc"], row["metric_key"]) == ("0.5", "1.0")


def test_jsonl_has_everything_one_line_per_run(study, tmp_path):
    lines = written(study, tmp_path / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 2
    first = json.loads(lines[0])
    assert first["format"] == 2
    assert RunSpec.of(first["spec"]) == spec(0, method="ifmixup")
    assert first["result"]["curves"]["train_loss"] == [0.1 + 0.2, 1e-300]
    assert "0.30000000000000004" in lines[0]


def test_parquet(study, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(written(study, tmp_path / "runs.parquet"))
    assert table.column_names[:8] == FIRST
    rows = table.to_pylist()
    assert rows[0]["accuracy"] == 2 / 3
    assert rows[0]["epochs"] == 2
    assert rows[1]["accuracy"] is None
    types = {name: str(table.schema.field(name).type) for name in ("fold", "nll", "host")}
    assert types == {"fold": "int64", "nll": "double", "host": "string"}


def test_parquet_with_an_option_of_two_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with_drop = done(0, method=with_options("ifmixup", drop=("a",)))
    filled(tmp_path, with_drop, done(1, method="ifmixup"), done(2, model="gin", use_edge_attr=True))
    rows = parquet.read_table(written(tmp_path, tmp_path / "runs.parquet")).to_pylist()
    assert {row["fold"]: row["method.drop"] for row in rows} == {0: "a", 1: "", 2: None}
    assert {row["fold"]: row["use_edge_attr"] for row in rows} == {0: None, 1: None, 2: True}


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
    assert (tmp_path / "runs.csv").read_text().splitlines() == [",".join([*FIRST, *LAST])]


def test_a_thin_run_has_the_curves_that_numbers_are_read_from(tmp_path):
    with Store(filled(tmp_path, done(0), failed(1, "x"))) as store:
        whole, bad = sorted(store.records(), key=lambda record: record.status)
        thin = thinned(whole)
        assert thinned(bad).error == bad.error
        assert thinned(bad).host == thin.host == ""
    assert thin.spec == whole.spec
    assert thin.result.metrics == whole.result.metrics
    kept = set(whole.result.curves) - {"train_loss"}
    assert "test_accuracy" in kept
    assert set(thin.result.curves) == kept
    for name in kept:
        assert thin.result.curves[name] == pytest.approx(whole.result.curves[name], rel=1e-4)
        assert all(len(f"{value!r}") <= 9 for value in thin.result.curves[name])
