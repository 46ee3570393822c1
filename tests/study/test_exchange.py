import json
import os
import sqlite3

import pytest

from ifmixup.errors import InputError, StoreError
from ifmixup.study import exchange
from ifmixup.study.exchange import Imported, export, import_runs
from ifmixup.study.store import Store
from stored_runs import child, done, everything, failed, filled, spec


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
        assert store.record(spec(0).key).result.metrics["accuracy"] == 0.1  # first come, kept


def test_the_later_failure_is_kept_whatever_the_order(tmp_path):
    first = exported(filled(tmp_path / "first", failed(error="first")))
    second = exported(filled(tmp_path / "second", failed(error="second")))
    for order in ([first, second], [second, first], [first, second, first]):
        folder = tmp_path / "-".join(path.stem for path in order)
        for path in order:
            imported(folder, path)
        with Store(folder) as store:
            assert store.record(spec().key).error == "second"


def test_a_bad_line_is_named_and_the_others_are_kept(one, tmp_path):
    path = exported(one)
    good = path.read_bytes().splitlines(keepends=True)
    bad = [b"{\n", b"\xff\n", b"5\n", b'{"format": 2}\n', b"[" * 90_000 + b"\n"]
    path.write_bytes(b"\n".join([good[0], *bad, *good[1:]]).replace(b"\n\n", b"\n"))
    found = imported(tmp_path / "two", path)
    assert (found.added, found.already_there) == (4, 0)
    assert [message.split(":")[0] for message in found.failed_lines] == [
        f"line {number}" for number in range(2, 7)
    ]
    assert "not JSON" in found.failed_lines[0]
    assert "no run of ifmixup" in found.failed_lines[3]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["key"], "0" * 24, "the key '0{24}' is not that of the spec"),
        (["spec", "fold"], 7, "is not that of the spec"),
        (["spec", "settings", "dropout"], 0.25, "is not that of the spec"),
        (["spec", "settings", "epochs"], "two", "epochs must be int"),
        (["result", "curves", "train_loss"], [1.0], "'train_loss' has 1 values for 2 epochs"),
        (["result", "metrics"], [], "is not an object"),
    ],
)
def test_a_changed_line_is_refused(one, tmp_path, path, value, message):
    line = line_of(one)
    place = line
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
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
    with pytest.raises(StoreError, match=r"1000 bad lines and is given up. The first is line 1"):
        imported(tmp_path / "two", path)


def test_a_damaged_run_of_a_database_is_named_and_the_others_come(one, tmp_path):
    connection = sqlite3.connect(one / "runs.sqlite")
    connection.execute("UPDATE runs SET metrics = '{' WHERE key = ?", (spec(0).key,))
    connection.execute(
        "INSERT INTO runs SELECT 'abc', spec, status, curves, metrics, error, "
        "seconds, prepare_seconds, versions, host, finished_at "
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
