import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import datetime, timezone

import pytest

from ifmixup.components import with_options
from ifmixup.errors import InputError, StoreError
from ifmixup.study import store as module
from ifmixup.study.record import Record
from ifmixup.study.store import Store
from stored_runs import RESULT, child, done, everything, failed, fill, filled, spec


def got(store, key):
    return store.get([key])[key]


def corrupt(folder, column, value, fold=0):
    connection = sqlite3.connect(folder / "runs.sqlite")
    connection.execute(f"UPDATE runs SET {column} = ? WHERE fold = ?", (value, fold))
    connection.commit()
    connection.close()


def test_what_is_added_comes_back(tmp_path):
    with Store(tmp_path / "a" / "study") as store:
        assert store.add(done())
        record = got(store, spec().key)
    assert record.result == RESULT
    assert (record.key, record.spec, record.status) == (spec().key, spec(), "done")
    assert (record.error, record.host, record.versions) == (None, "here", {"torch": "2"})
    age = datetime.now(timezone.utc) - datetime.fromisoformat(record.finished_at)
    assert 0 <= age.total_seconds() < 60
    assert os.listdir(tmp_path / "a" / "study") == ["runs.sqlite"]


def test_numbers_that_are_not_finite_come_back(tmp_path):
    odd = [float("nan"), float("inf"), -float("inf")]
    outcome = done()
    outcome.result.curves["train_loss"] = odd
    filled(tmp_path, outcome)
    with Store(tmp_path) as store:
        assert repr(got(store, spec().key).result.curves["train_loss"]) == repr(odd)


def test_a_done_run_is_never_overwritten(tmp_path):
    filled(tmp_path, done(accuracy=0.25))
    before = everything(tmp_path)
    with Store(tmp_path) as store:
        assert not store.add(done(accuracy=0.75))
        assert not store.add(failed())
    assert everything(tmp_path) == before


def test_a_failed_run_gives_way(tmp_path):
    with Store(tmp_path) as store:
        assert store.add(failed(error="first"))
        assert store.add(failed(error="second"))
        assert got(store, spec().key).error == "second"
        assert store.keys("failed") == {spec().key}
        assert store.keys("done") == set()
        assert store.add(done())
        record = got(store, spec().key)
        assert (record.status, record.error, record.result) == ("done", None, RESULT)
        assert store.keys() == store.keys("done") == {spec().key}


def test_filters_and_order(tmp_path):
    outcomes = [
        done(fold, dataset=dataset, data=dataset, model=model, method=method)
        for dataset in ("PROTEINS", "MUTAG")
        for model in ("gin", "gcn")
        for method in ("none", "ifmixup")
        for fold in (10, 2)
    ]
    random.Random(0).shuffle(outcomes)
    filled(tmp_path, *outcomes, failed(0), done(0, repeat=1))

    def found(**wanted):
        return [
            (r.spec.dataset, r.spec.model.name, r.spec.method.name, r.spec.fold)
            for r in store.records(**wanted)
        ]

    with Store(tmp_path) as store:
        assert len(found()) == 18
        assert found() == found()
        assert found(dataset="MUTAG", method="none") == [
            ("MUTAG", "gcn", "none", 0),
            ("MUTAG", "gcn", "none", 2),
            ("MUTAG", "gcn", "none", 10),
            ("MUTAG", "gcn", "none", 0),  # repeat by repeat
            ("MUTAG", "gin", "none", 2),
            ("MUTAG", "gin", "none", 10),
        ]
        assert found(repeat=1) == [("MUTAG", "gcn", "none", 0)]
        assert found(status="failed") == [("MUTAG", "gcn", "none", 0)]
        assert found(model="gin", fold=10, dataset="PROTEINS", method="none", status="done") == [
            ("PROTEINS", "gin", "none", 10)
        ]
        assert found(model="gat") == []
        assert all(
            record.result.curves == {} for record in store.records(model="gin", curves=False)
        )
        with pytest.raises(InputError, match=r"'don'. Did you mean 'done'"):
            store.keys("don")
        with pytest.raises(InputError, match=r"'faild'. Did you mean 'failed'"):
            next(store.records(status="faild"))


def test_many_runs_come_in_few_queries(tmp_path):
    filled(tmp_path, *(done(fold) for fold in range(12)), failed(12))
    keys = [spec(fold).key for fold in range(13)]
    with Store(tmp_path) as store:
        asked = []
        store._connection.set_trace_callback(asked.append)
        found = store.get([*keys, *keys, "no such run"])
        assert len(asked) == 1
        assert found.keys() == set(keys)
        assert found[keys[3]].result == RESULT
        assert found[keys[12]].error == "out of memory"
        assert store.get([keys[0]], curves=False)[keys[0]].result.curves == {}
        assert store.get([]) == {}
        # as many keys as one likes, though a query has a limit
        assert store.get([*(str(number) for number in range(40_000)), keys[1]]).keys() == {keys[1]}


def test_the_name_in_tables_is_what_a_run_is_found_by(tmp_path):
    filled(tmp_path, done(method=with_options("ifmixup", name="wide", alpha=1.0)))
    with Store(tmp_path) as store:
        (record,) = store.records(method="wide")
        assert record.spec.method.class_name == "IfMixup"
        assert list(store.records(method="ifmixup")) == []


def test_a_run_has_a_result_or_an_error(tmp_path):
    with Store(tmp_path) as store, pytest.raises(InputError, match="either a result or an error"):
        store.add(Record(spec()))


def test_an_error_of_any_text_is_kept(tmp_path):
    filled(tmp_path, failed(error="bad byte \udcff; '; DROP TABLE runs; --"))
    with Store(tmp_path) as store:
        assert got(store, spec().key).error == r"bad byte \udcff; '; DROP TABLE runs; --"


def test_a_full_database_keeps_what_it_has_and_goes_on(tmp_path):
    filled(tmp_path, done(0))
    with Store(tmp_path) as store:
        store._connection.execute("PRAGMA max_page_count = 3")
        stored, message = fill(store)
        assert re.search("disk is full.*kept.*same command again", message)
        kept = store.keys()
        assert kept == {spec(0).key, *stored}
        with pytest.raises(StoreError, match="disk is full"):
            store.merge(done(n) for n in range(100, 150))
        assert store.keys() == kept
        store._connection.execute("PRAGMA max_page_count = 1000000")
        assert store.add(done(len(stored) + 1))
    assert len(everything(tmp_path)) == len(kept) + 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("spec", "{"),
        ("spec", "[]"),
        ("spec", b"\xff\xfe"),
        ("spec", "[" * 100_000),
        ("metrics", "nothing"),
        ("metrics", '{"accuracy": "high"}'),
        ("curves", b"no line"),
        ("curves", "text"),
        ("curves", None),
        ("versions", "5"),
        ("seconds", "soon"),
        ("finished_at", "yesterday"),
    ],
)
def test_a_damaged_row_is_left_out_and_named(tmp_path, column, value):
    filled(tmp_path, done(), done(1))
    corrupt(tmp_path, column, value)
    with Store(tmp_path) as store:
        assert store.keys() == {spec().key, spec(1).key}
        assert [record.key for record in store.records()] == [spec(1).key]
        assert list(store.damaged) == [spec().key]


def test_two_stores_at_once_have_each_run_once(tmp_path):
    folder, workers, shared = tmp_path / "study", 3, 15

    def work(worker):
        with Store(folder) as store:  # all of them also try to make the file
            new = sum(store.add(done(fold)) for fold in range(shared))
            own = sum(store.add(done(fold, repeat=worker + 1)) for fold in range(10))
        (tmp_path / f"{worker}").write_text(f"{new} {own}")

    with child(lambda: work(0)), child(lambda: work(1)), child(lambda: work(2)):
        pass
    said = [(tmp_path / f"{worker}").read_text().split() for worker in range(workers)]
    assert sum(int(new) for new, _ in said) == shared
    assert [int(own) for _, own in said] == [10] * workers
    assert len(everything(folder)) == shared + 10 * workers


def test_killed_at_any_moment_nothing_that_was_acknowledged_is_lost(tmp_path):
    folder, chance = tmp_path / "study", random.Random(0)
    acknowledged, kills = set(), 25

    for attempt in range(kills):
        out, into = os.pipe()

        def work(attempt=attempt, into=into):
            with Store(folder) as store:
                for fold in range(10_000):
                    outcome = done(fold, repeat=attempt)
                    store.add(outcome)
                    os.write(into, f"{outcome.spec.key}\n".encode())

        with child(work) as number:
            os.close(into)
            time.sleep(chance.uniform(0, 0.2))
            os.kill(number, signal.SIGKILL)
        with open(out) as stream:
            acknowledged |= {line.strip() for line in stream if line.endswith("\n")}
        with Store(folder) as store:
            keys = store.keys()
            assert acknowledged <= keys
            assert len(keys) <= len(acknowledged) + attempt + 1  # one a kill may lack its answer
    assert acknowledged
    assert len(everything(folder)) == len(keys)
    connection = sqlite3.connect(folder / "runs.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.parametrize("moment", range(1, 9))
def test_a_store_whose_making_was_killed_is_made_again(tmp_path, moment):
    """At each statement of the making; a journal that is left is undone."""

    def work():
        class Killed(sqlite3.Connection):
            left = moment

            def execute(self, *words):
                Killed.left -= 1
                if not Killed.left:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().execute(*words)

        real = sqlite3.connect
        sqlite3.connect = lambda *a, **k: real(*a, **{**k, "factory": Killed})
        with Store(tmp_path):
            pass

    with child(work):
        pass
    with Store(tmp_path) as store:
        assert store.add(done())
    assert len(everything(tmp_path)) == 1


def test_a_journal_that_a_killed_process_left(tmp_path):
    filled(tmp_path, done())
    connection = sqlite3.connect(tmp_path / "runs.sqlite")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()

    def work():
        other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)
        other.execute("PRAGMA cache_size = 1")
        other.execute("PRAGMA cache_spill = 1")
        other.execute("BEGIN IMMEDIATE")
        for _ in range(50):  # more than the memory for pages: they go to the disk
            other.execute("UPDATE runs SET metrics = ?, error = ?", ("{}", "x" * 50_000))
            other.execute("CREATE TABLE IF NOT EXISTS filler (a)")
            other.execute("INSERT INTO filler VALUES (?)", ("y" * 50_000,))
        os.kill(os.getpid(), signal.SIGKILL)

    with child(work):
        pass
    assert (tmp_path / "runs.sqlite-journal").stat().st_size > 0
    with pytest.raises(StoreError, match="killed while it wrote"):
        Store(tmp_path, read_only=True)
    with Store(tmp_path) as store:
        (found,) = store.records()
    assert found.result == done().result


def marked(path, application, schema):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (a)")
    connection.execute(f"PRAGMA application_id = {application}")
    connection.execute(f"PRAGMA user_version = {schema}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("content", [b"hello", b"\0" * 5000, b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content, read_only):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"not a database of ifmixup's runs.*left as it is"):
        Store(tmp_path, read_only=read_only)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["runs.sqlite"]


@pytest.mark.parametrize(
    ("application", "schema", "message"),
    [
        (0, 0, "not a database of ifmixup's runs"),
        (12345, module.SCHEMA, "not a database of ifmixup's runs"),
        (module.APPLICATION_ID, module.SCHEMA + 1, r"newer ifmixup \(schema 4.*Upgrade"),
        (module.APPLICATION_ID, 1, r"older ifmixup \(schema 1; this one has 3.*Export it"),
        (module.APPLICATION_ID, 0, r"older ifmixup \(schema 0.*Export it"),
    ],
)
def test_a_database_that_is_not_ours_is_left_alone(tmp_path, application, schema, message):
    path = tmp_path / "runs.sqlite"
    marked(path, application, schema)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=message):
        Store(tmp_path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["runs.sqlite"]


def test_a_cut_off_database_is_called_damaged(tmp_path):
    filled(tmp_path, *(done(fold) for fold in range(20)))
    path = tmp_path / "runs.sqlite"
    path.write_bytes(path.read_bytes()[:8192])
    with pytest.raises(StoreError, match=r"damaged.*malformed"), Store(tmp_path) as store:
        list(store.records())


def test_an_empty_file_is_a_beginning(tmp_path):
    (tmp_path / "runs.sqlite").touch()
    filled(tmp_path, done())
    assert len(everything(tmp_path)) == 1


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        Store(tmp_path / "file" / "study")


def test_reading_only(tmp_path):
    with pytest.raises(StoreError, match="holds no runs"):
        Store(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    filled(tmp_path, done())
    with Store(tmp_path / "runs.sqlite", read_only=True) as store:
        assert store.keys() == {spec().key}
        with pytest.raises(StoreError, match="readonly"):
            store.add(done(1))


def test_reading_where_nothing_can_be_written(tmp_path, monkeypatch):
    filled(tmp_path, done())
    real = sqlite3.connect

    class Failing(sqlite3.Connection):
        """What SQLite does for a log that it cannot make: the first command fails."""

        def execute(self, *command):
            raise sqlite3.OperationalError("unable to open database file")

    def connect(address, **options):
        kind = sqlite3.Connection if "immutable" in address else Failing
        return real(address, factory=kind, **options)

    monkeypatch.setattr(sqlite3, "connect", connect)
    with Store(tmp_path, read_only=True) as store:
        assert store.keys() == {spec().key}


def test_where_a_write_ahead_log_is_impossible(tmp_path, monkeypatch):
    class Refusing(sqlite3.Connection):
        def execute(self, command, *values):
            if "journal_mode" in command:
                raise sqlite3.OperationalError("cannot change into wal mode")
            return super().execute(command, *values)

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, factory=Refusing, **k))
    with Store(tmp_path) as store, Store(tmp_path) as other:
        assert store.add(done(0))
        assert other.add(done(1))
        assert not store.add(done(1))
        assert not (tmp_path / "runs.sqlite-wal").exists()
    assert len(everything(tmp_path)) == 2


def test_a_key_that_is_not_text_is_named(tmp_path):
    filled(tmp_path, done(0), done(1))
    connection = sqlite3.connect(tmp_path / "runs.sqlite")
    change = "UPDATE runs SET key = CAST(? AS TEXT) WHERE key = ?"
    connection.execute(change, (b"\xff\xfe", spec(0).key))
    connection.commit()
    connection.close()
    with Store(tmp_path) as store:
        found = dict(store.rows())
    assert len(found) == 2
    assert isinstance(found.pop(spec(1).key), Record)
    assert [str(error) for error in found.values()] == ["its key is not text"]


def test_another_process_that_keeps_it_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    with Store(tmp_path) as store, Store(tmp_path) as other:
        other._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process has held it"):
            store.add(done())
        other._connection.execute("ROLLBACK")
        assert store.add(done())


def test_where_there_are_no_locks_nobody_waits(tmp_path, monkeypatch):
    """tests/torture does it with a kernel that refuses all locks."""
    monkeypatch.setattr(module, "has_locks", lambda folder: False)
    with Store(tmp_path) as store:
        assert store.add(done(0))
    with Store(tmp_path) as store, Store(tmp_path, read_only=True) as other:
        store._connection.execute("BEGIN EXCLUSIVE")
        assert other.keys() == {spec(0).key}
        store._connection.execute("ROLLBACK")
        assert store.add(done(1))
    assert len(everything(tmp_path)) == 2


def test_a_full_disk(small_disk):
    study = small_disk / "study"
    filled(study, done(0))
    (small_disk / "ballast").write_bytes(b"x" * 150_000)
    with Store(study) as store:
        stored, message = fill(store)
        assert re.search("disk is full.*same command again", message)
        assert len(stored) > 1
        assert store.keys() == {spec(0).key, *stored}
    assert len(everything(study)) == 1 + len(stored)  # reading needs no space
    (small_disk / "ballast").unlink()
    with Store(study) as store:
        assert store.add(done(len(stored) + 1))
        assert store.keys() == {spec(fold).key for fold in range(len(stored) + 2)}


def test_a_full_disk_from_the_beginning(small_disk):
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(b"x" * 10**6)
    with pytest.raises(StoreError, match="disk is full"), Store(small_disk / "study") as store:
        store.add(done())
    ballast.unlink()
    filled(small_disk / "study", done())
    assert len(everything(small_disk / "study")) == 1


def test_a_limit_on_files(tmp_path):
    filled(tmp_path, done(0))

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
        with Store(tmp_path) as store:
            stored, message = fill(store)
            assert "may be full, over its quota or broken" in message
            assert store.keys() == {spec(0).key, *stored}
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            assert store.add(done(len(stored) + 1))

    with child(work):
        pass
    with Store(tmp_path) as store:
        assert store.keys() >= {spec(fold).key for fold in range(3)}


def test_an_overview_has_what_a_list_shows(tmp_path):
    filled(tmp_path, done(1, accuracy=0.9), failed(2))
    with Store(tmp_path, read_only=True) as store:
        first, second = store.overview()
        assert (first["model"], first["fold"], first["status"]) == ("gcn", 1, "done")
        assert first["metrics"]["accuracy"] == 0.9
        assert (second["status"], second["metrics"], second["seconds"]) == ("failed", {}, None)
        assert [row["fold"] for row in store.overview(status="failed")] == [2]
        assert store.values("fold") == ["1", "2"]


def test_a_list_of_runs_does_not_import_torch(tmp_path):
    filled(tmp_path, done(1))
    code = (
        "import sys; from ifmixup.cli.runs import runs; from pathlib import Path; "
        f"runs(Path({str(tmp_path)!r})); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
