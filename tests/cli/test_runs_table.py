import io

from rich.console import Console

from ifmixup.cli.runs_table import print_runs, print_studies
from ifmixup.study.record import Record
from stored_runs import done, failed, filled


def printed(print_, given, width=80) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_(given, console)
    return console.file.getvalue()


def test_runs_fit_into_eighty_columns():
    records = [Record.of_outcome(o) for o in (done(), failed(1, method="attribute_masking"))]
    text = printed(print_runs, records)
    assert max(map(len, text.splitlines())) <= 80
    assert "0.6667" in text
    assert "failed: out of memory" in text
    assert "1 done, 1 failed, 1.2 s of training." in text
    assert printed(print_runs, []) == "No runs.\n"


def test_studies_and_a_broken_one(tmp_path):
    filled(tmp_path / "good", done(), done(1), failed(2))
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "runs.sqlite").write_text("no database, but long enough to have a header of its own")
    text = printed(print_studies, [tmp_path / "good", bad], width=500)
    assert next(line.split()[-2:] for line in text.splitlines() if "good" in line) == ["2", "1"]
    assert "Broken:" in text
