from ifmixup.study.flat import METRICS, columns, flat
from ifmixup.study.record import Record
from stored_runs import done, failed


def test_a_run_by_column():
    row = flat(Record.of_outcome(done(3, method="ifmixup")))
    assert (row["dataset"], row["fold"], row["method"], row["alpha"]) == (
        "MUTAG",
        3,
        "ifmixup",
        20.0,
    )
    assert (row["accuracy"], row["seconds"]) == (2 / 3, 1.25)
    assert "drop_ratio" not in row  # makes no difference to ifmixup
    assert flat(Record.of_outcome(failed()))["error"] == "out of memory"


def test_columns_are_the_same_for_every_study():
    found = columns([Record.of_outcome(done())])
    assert list(found) == list(columns([]))
    assert [name for name in found if name in METRICS] == list(METRICS)
    assert (found["steps_per_epoch"], found["alpha"], found["use_edge_attr"]) == (int, float, bool)
