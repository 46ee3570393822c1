import zlib

import pytest

from ifmixup.errors import StoreError
from ifmixup.study import rows
from ifmixup.study.record import Record
from ifmixup.study.rows import of_row, to_row
from stored_runs import done, failed


@pytest.mark.parametrize("outcome", [done(), failed()])
def test_there_and_back(outcome):
    record = Record.of_outcome(outcome)
    assert of_row(to_row(record)) == record


def test_without_curves():
    row = to_row(Record.of_outcome(done()))
    del row["curves"]
    assert of_row(row).result.curves == {}


def test_damage_is_an_error_of_ours():
    row = to_row(Record.of_outcome(done()))
    with pytest.raises(StoreError, match="JSONDecodeError"):
        of_row({**row, "metrics": "{"})
    with pytest.raises(StoreError, match="error"):
        of_row({**row, "curves": b"no zlib"})
    with pytest.raises(StoreError, match="cut off or too long"):
        of_row({**row, "curves": row["curves"][:-3]})


def test_curves_are_bounded(monkeypatch):
    monkeypatch.setattr(rows, "MAX_CURVES", 100)
    row = to_row(Record.of_outcome(done()))
    with pytest.raises(StoreError, match="too long"):
        of_row({**row, "curves": zlib.compress(b"[" + b"0," * 1000 + b"0]")})


def test_text_that_is_no_text_can_be_stored():
    assert to_row(Record.of_outcome(failed(error="bad \udcff byte")))["error"] == r"bad \udcff byte"
