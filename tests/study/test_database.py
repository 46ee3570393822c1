import os
import re
import resource
import sqlite3

import pytest

from ifmixup.errors import StoreError
from ifmixup.study import database
from ifmixup.study.store import Store
from stored_runs import child, done, everything, fill, filled, spec


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
        (12345, database.SCHEMA, "not a database of ifmixup's runs"),
        (database.APPLICATION_ID, database.SCHEMA + 1, r"newer ifmixup \(schema 2.*Upgrade"),
        (database.APPLICATION_ID, 0, r"older ifmixup \(schema 0.*Export it"),
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

    def connect(address, **options):
        # What SQLite does for a log that it cannot make: the first command fails.
        return real(address if "immutable" in address else ":memory:", **options)

    monkeypatch.setattr(sqlite3, "connect", connect)
    with Store(tmp_path, read_only=True) as store:
        assert store.keys() == {spec().key}


def test_where_a_write_ahead_log_is_impossible(tmp_path, monkeypatch):
    def refuse(connection):
        connection.execute("PRAGMA journal_mode = DELETE")

    monkeypatch.setattr(database, "_use_wal", refuse)
    with Store(tmp_path) as store, Store(tmp_path) as other:
        assert store.add(done(0))
        assert other.add(done(1))
        assert not store.add(done(1))
        assert not (tmp_path / "runs.sqlite-wal").exists()
        records = store.records()
        next(records)
        assert other.add(done(2))  # a reader in the middle keeps no writer waiting
    assert len(everything(tmp_path)) == 3


def test_another_process_that_keeps_it_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    with Store(tmp_path) as store, Store(tmp_path) as other:
        other._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process has held it"):
            store.add(done())
        other._connection.execute("ROLLBACK")
        assert store.add(done())


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
