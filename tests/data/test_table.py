import datetime
import gzip
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ifmixup.data import load
from ifmixup.data import table as module
from ifmixup.data.table import Row, Table, cell_text
from ifmixup.errors import DatasetError, MissingExtraError

TEXT = 'name,smiles,label\n"Doe, J",CCO,1\n"a ""b""\nc",C,\n\nz,N,0\n'


def write(path, text):
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return Table(path)


@pytest.mark.parametrize("name", ["m.csv", "m.csv.gz", "M.CSV"])
def test_quotes_empty_lines_and_lines_in_cells(tmp_path, name):
    table = write(tmp_path / name, TEXT)
    assert table.columns == ["name", "smiles", "label"]
    assert list(table.rows([0, 2])) == [
        Row(2, ["Doe, J", "1"]),
        Row(4, ['a "b"\nc', ""]),
        Row(6, ["z", "0"]),
    ]


@pytest.mark.parametrize("text", ["\ufeffa,b\r\n1,2\r\n", " a , b\n1,2", "a,b\r1,2\r"])
def test_a_byte_order_mark_and_line_ends(tmp_path, text):
    table = write(tmp_path / "m.csv", text)
    assert table.columns == ["a", "b"]
    assert [row.cells for row in table.rows([1, 0])] == [["2", "1"]]


def test_parquet(tmp_path):
    path = tmp_path / "m.parquet"
    columns = {"s": ["C", None], "y": [1.0, math.nan], "n": [3, None], "b": [True, False]}
    pq.write_table(pa.table(columns), path)
    table = Table(path)
    assert table.columns == ["s", "y", "n", "b"]
    assert list(table.rows([3, 0, 1, 2])) == [
        Row(1, ["1", "C", "1.0", "3"]),
        Row(2, ["0", "", "", ""]),
    ]


def test_rows_of_another_length_say_so(tmp_path):
    table = write(tmp_path / "m.csv", "a,b\n1,2,3\n4\n5,6\n")
    assert list(table.rows([0])) == [
        Row(2, ["1,2,3"], "expected 2 columns, found 3"),
        Row(3, ["4"], "expected 2 columns, found 1"),
        Row(4, ["5"]),
    ]


def test_a_column_that_is_not_there(tmp_path):
    table = write(tmp_path / "m.csv", ",".join(f"c{i}" for i in range(22)) + "\n")
    with pytest.raises(DatasetError, match=r"no column 'x'. Its columns: c0, c1, .* and 2 more"):
        table.index("x")
    assert table.index("c3") == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", "", "is empty; its first line must name the columns"),
        ("m.csv", "a,a\n", "the column 'a' twice"),
        ("m.csv", b"a,b\n\xff,1\n", "not UTF-8 text"),
        ("m.csv", 'a,b\n"1,2\n', "cannot be read as CSV"),
        ("m.csv", 'a,b\n"1"x,2\n', "cannot be read as CSV"),
        ("m.csv", "a" * 200_000 + ",b\n", "cannot be read as CSV .field larger than"),
        ("m.csv", "a," * (module.MAX_LINE // 2 + 1), "a line of more than 1048576 characters"),
        ("m.parquet", "a,b\n", "cannot be read as Parquet"),
    ],
)
def test_files_that_are_broken_or_hostile(tmp_path, name, content, message):
    with pytest.raises(DatasetError, match=message):
        list(write(tmp_path / name, content).rows([0]))


def test_a_gz_that_is_cut_off_or_none(tmp_path):
    path = tmp_path / "m.csv.gz"
    path.write_bytes(gzip.compress(("a,b\n" + "1,2\n" * 9999).encode())[:-20])
    with pytest.raises(DatasetError, match="cannot be read as CSV"):
        list(Table(path).rows([0]))
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DatasetError, match="cannot be read as CSV"):
        Table(path)


def test_bounds(tmp_path, monkeypatch):
    table = write(tmp_path / "m.csv.gz", "a,b\n" + "1,2\n" * 100)
    monkeypatch.setattr(module, "MAX_ROWS", 50)
    with pytest.raises(DatasetError, match="more than the 50 rows allowed"):
        list(table.rows([0]))
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(DatasetError, match="more than the 100 allowed"):
        list(table.rows([0]))
    pq.write_table(pa.table({"a": list(range(1000))}), tmp_path / "m.parquet")
    with pytest.raises(DatasetError, match="more than the 100 allowed"):
        Table(tmp_path / "m.parquet")


@pytest.mark.parametrize("name", ["m.csv", "m.csv.gz"])
def test_blank_lines_without_end(tmp_path, name):
    few = write(tmp_path / name, "a,b\n" + "\n" * module.MAX_BLANK + "1,2\n")
    assert [row.cells for row in few.rows([0])] == [["1"]]
    for empty in (" \n\r\n", ",\n", '"",\n'):
        many = write(tmp_path / name, "a,b\n" + empty * (module.MAX_BLANK + 1) + "1,2\n")
        with pytest.raises(DatasetError, match=r"more than 10000 empty lines in a row\."):
            list(many.rows([0]))


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return Table(path)


def test_parquet_decimals_bytes_and_dates(tmp_path):
    table = parquet(
        tmp_path / "m.parquet",
        d=[Decimal("1.50"), None],
        b=[b"C", "ü".encode()],
        t=[datetime.date(2020, 1, 2), None],
        k=pa.array(["x", "y"]).dictionary_encode(),
    )
    assert [row.cells for row in table.rows([0, 1, 2, 3])] == [
        ["1.50", "C", "2020-01-02", "x"],
        ["", "ü", "", "y"],
    ]


def test_parquet_cells_that_are_no_text(tmp_path):
    table = parquet(tmp_path / "m.parquet", b=[b"C", b"\xff"], n=[[1], [2]], ok=["a", "b"])
    assert [row.cells for row in table.rows([2])] == [["a"], ["b"]]
    with pytest.raises(DatasetError, match=r"m\.parquet, row 2: .* bytes that are not UTF-8"):
        list(table.rows([0]))
    with pytest.raises(DatasetError, match=r"the column 'n' holds list<.*; texts and numbers"):
        list(table.rows([1]))


def test_a_small_parquet_that_unfolds(tmp_path, monkeypatch):
    table = parquet(tmp_path / "m.parquet", s=["C" * 1000] * 5000, n=list(range(5000)))
    asked = pq.ParquetFile
    repeated = []
    monkeypatch.setattr(
        pq, "ParquetFile", lambda *a, **k: repeated.append(k["read_dictionary"]) or asked(*a, **k)
    )
    assert sum(len(row.cells[0]) for row in table.rows([0, 1])) == 5_000_000
    assert repeated[-1] == ["s", "n"]  # a text that stands there often is in memory once
    assert (tmp_path / "m.parquet").stat().st_size < 100_000
    monkeypatch.setattr(module, "MAX_BYTES", 2_000_000)
    with pytest.raises(DatasetError, match="more than the 2000000 allowed"):
        list(table.rows([0]))
    monkeypatch.setattr(module, "MAX_LINE", 999)
    with pytest.raises(DatasetError, match="row 1: a cell of more than 999 characters"):
        list(table.rows([0]))


def test_no_file(tmp_path):
    with pytest.raises(DatasetError, match=r"There is no file .*m\.csv"):
        Table(tmp_path / "m.csv")


def test_without_pyarrow(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "m.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"ifmixup\[parquet\]"):
        Table(tmp_path / "m.parquet")


def test_cells():
    values = [None, math.nan, "", "x", True, False, 3, 0.5, 1e300]
    assert [cell_text(value) for value in values] == [
        *("", "", "", "x", "1", "0", "3", "0.5", "1e+300"),
    ]
    more = [
        Decimal("0.10"),
        Decimal("NaN"),
        b"x",
        datetime.datetime(2020, 1, 2, 3),
        datetime.time(4),
    ]
    assert [cell_text(value) for value in more] == [
        *("0.10", "", "x", "2020-01-02T03:00:00", "04:00:00"),
    ]
    for value in (b"\xff", [1], {"a": 1}):
        with pytest.raises(DatasetError, match="a cell holds"):
            cell_text(value)


def test_a_table_with_one_molecule(tmp_path, monkeypatch):
    """It has nothing to be cut, and is not cached."""
    monkeypatch.setenv("IFMIXUP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "m.csv").write_text("smiles,label\nCCO,1\n?,0\n")
    for _ in range(2):
        assert len(load(f"{tmp_path / 'm.csv'}:smiles:label")) == 1
