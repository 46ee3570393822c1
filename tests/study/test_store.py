import os
import random
import re
import signal
import sqlite3
import time
import zlib
from datetime import datetime, timezone

import pytest

from ifmixup.errors import InputError, StoreError
from ifmixup.study.engines.engine import Outcome
from ifmixup.study.record import Record
from ifmixup.study.store import Store
from stored_runs import RESULT, child, done, everything, failed, fill, filled, spec


def corrupt(folder, column, value):
    connection = sqlite3.connect(folder / "runs.sqlite")
    connection.execute(f"UPDATE runs SET {column} = ?", (value,))
    connection.commit()
    connection.close()


def test_what_is_added_comes_back(tmp_path):
    with Store(tmp_path / "a" / "study") as store:
        assert store.add(done())
        record = store.record(spec().key)
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
        assert repr(store.record(spec().key).result.curves["train_loss"]) == repr(odd)


def test_a_done_run_is_never_overwritten(tmp_path):
    filled(tmp_path, done(accuracy=0.25))
    before = everything(tmp_path)
    with Store(tmp_path) as store:
        assert not store.add(done(accuracy=0.75))
        assert not store.add(failed())
        assert store.forget_failed([spec().key]) == 0
    assert everything(tmp_path) == before


def test_a_failed_run_gives_way(tmp_path):
    with Store(tmp_path) as store:
        assert store.add(failed(error="first"))
        assert store.add(failed(error="second"))
        assert store.record(spec().key).error == "second"
        assert store.keys("failed") == {spec().key}
        assert store.keys("done") == set()
        assert store.add(done())
        record = store.record(spec().key)
        assert (record.status, record.error, record.result) == ("done", None, RESULT)
        assert store.keys() == store.keys("done") == {spec().key}


def test_forgetting_failed_runs(tmp_path):
    with Store(tmp_path) as store:
        for outcome in (failed(0), failed(1), failed(2), done(3)):
            store.add(outcome)
        assert store.forget_failed([spec(0).key, spec(1).key, spec(3).key, "no such"]) == 2
        assert store.keys() == {spec(2).key, spec(3).key}


def test_filters_and_order(tmp_path):
    outcomes = [
        done(fold, dataset=dataset, model=model, method=method)
        for dataset in ("PROTEINS", "MUTAG")
        for model in ("gin", "gcn")
        for method in ("none", "ifmixup")
        for fold in (10, 2)
    ]
    random.Random(0).shuffle(outcomes)
    filled(tmp_path, *outcomes, failed(0), done(0, protocol="paper", repeat=1))

    def found(**wanted):
        return [
            (r.spec.dataset, r.spec.settings.model, r.spec.settings.method, r.spec.fold)
            for r in store.records(**wanted)
        ]

    with Store(tmp_path) as store:
        assert len(found()) == 18
        assert found() == found()
        assert found(dataset="MUTAG", method="none") == [
            ("MUTAG", "gcn", "none", 0),
            ("MUTAG", "gcn", "none", 2),
            ("MUTAG", "gcn", "none", 10),
            ("MUTAG", "gcn", "none", 0),  # paper comes after holdout
            ("MUTAG", "gin", "none", 2),
            ("MUTAG", "gin", "none", 10),
        ]
        assert found(protocol="paper") == found(repeat=1) == [("MUTAG", "gcn", "none", 0)]
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


def test_an_outcome_needs_a_result_or_an_error(tmp_path):
    with Store(tmp_path) as store, pytest.raises(InputError, match="either a result or an error"):
        store.add(Outcome(spec()))


def test_an_error_of_any_text_is_kept(tmp_path):
    filled(tmp_path, failed(error="bad byte \udcff; '; DROP TABLE runs; --"))
    with Store(tmp_path) as store:
        assert store.record(spec().key).error == r"bad byte \udcff; '; DROP TABLE runs; --"


def test_a_full_database_keeps_what_it_has_and_goes_on(tmp_path):
    filled(tmp_path, done(0))
    with Store(tmp_path) as store:
        store._connection.execute("PRAGMA max_page_count = 3")
        stored, message = fill(store)
        assert re.search("disk is full.*kept.*same command again", message)
        kept = store.keys()
        assert kept == {spec(0).key, *stored}
        with pytest.raises(StoreError, match="disk is full"):
            store.merge(Record.of_outcome(done(n)) for n in range(100, 150))
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
        ("curves", b"no zlib"),
        ("curves", zlib.compress(b"[1, 2]")),
        ("curves", zlib.compress(b"{}")[:-1]),
        ("curves", None),
        ("versions", "5"),
        ("seconds", "soon"),
        ("finished_at", "yesterday"),
    ],
)
def test_a_damaged_row_is_named(tmp_path, column, value):
    filled(tmp_path, done())
    corrupt(tmp_path, column, value)
    with Store(tmp_path) as store:
        assert store.keys() == {spec().key}
        with pytest.raises(StoreError, match=f"Run '{spec().key}' in .* is damaged .*import"):
            list(store.records())


def test_curves_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    filled(tmp_path, done())
    monkeypatch.setattr("ifmixup.study.rows.MAX_CURVES", 1000)
    corrupt(tmp_path, "curves", zlib.compress(b"{" + b" " * 10_000 + b"}"))
    with Store(tmp_path) as store, pytest.raises(StoreError, match="cut off or too long"):
        store.record(spec().key)


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
