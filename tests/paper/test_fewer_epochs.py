from types import SimpleNamespace

import pytest

from engine_here import Here
from ifmixup.paper.fewer_epochs import fewer_epochs_table, gaps_table, read_after
from ifmixup.paper.plan import plan
from ifmixup.paper.reproduce import reproduce
from ifmixup.paper.scale import Scale
from ifmixup.study.store import Store


def cells(folder, epochs):
    scale = Scale("tiny", repeats=1, folds=2, epochs=epochs, graphs=40)
    asked = {"datasets": ["MUTAG"], "variants": ["none", "ifmixup"]}
    (found,) = plan(["gcn"], scale, protocols=["paper", "holdout"], **asked)
    with Store(folder) as store:
        return reproduce(found, store, Here(), progress=False)


def test_the_beginning_of_a_run_is_the_shorter_run(tmp_path):
    short, long = (cells(tmp_path / str(epochs), epochs) for epochs in (2, 5))
    assert [read_after(cell, 2) for cell in long] == [cell.reading.mean for cell in short]
    for few, many in zip(short, long, strict=True):
        for before, after in zip(few.records, many.records, strict=True):
            assert before.spec.fold == after.spec.fold
            for name, curve in before.result.curves.items():
                assert curve == after.result.curves[name][:2]


def test_the_table_has_a_column_for_each_length(tmp_path):
    measured = cells(tmp_path, 3)
    head, _, *rows = fewer_epochs_table(measured, [1, 3, 5]).splitlines()
    assert head == "| dataset | table | variant | protocol | 1 epochs | 3 epochs | 5 epochs |"
    assert len(rows) == 4
    for row, cell in zip(rows, measured, strict=True):
        assert row.startswith(f"| MUTAG | gcn | {cell.variant} | {cell.protocol} | ")
        *_, after_three, after_five = row.split(" | ")
        assert after_five == "– |"  # three epochs tell nothing of five
        assert float(after_three) == pytest.approx(100 * cell.reading.mean, abs=0.06)


def test_runs_that_failed_are_passed_over(tmp_path):
    cell = cells(tmp_path, 1)[0]
    failed = SimpleNamespace(result=None)
    with_failed = SimpleNamespace(records=[*cell.records, failed])
    assert read_after(with_failed, 1) == cell.reading.mean


def test_what_is_gained_after_so_many_epochs(tmp_path):
    measured = cells(tmp_path, 2)
    held = {cell.variant: cell for cell in measured if cell.protocol == "holdout"}
    _, _, *rows = gaps_table(measured, [1, 2]).splitlines()
    gap = 100 * (held["ifmixup"].reading.mean - held["none"].reading.mean)
    assert rows[0].startswith("| MUTAG | gcn | ")
    assert float(rows[0].split("|")[-2].replace("−", "-")) == pytest.approx(gap, abs=0.06)
    assert rows[1] == rows[0].replace("| MUTAG | gcn |", "| mean of 1 |  |")
    _, _, *rows = gaps_table(measured, [2, 3]).splitlines()
    assert rows[0].endswith(" | – |")  # two epochs tell nothing of three
