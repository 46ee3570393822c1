import pytest
from rich.table import Table

from ifmixup.cli.console import PlainConsole, print_skipped
from ifmixup.data import load


@pytest.mark.parametrize("text", ["mol[v2].csv", "[bold]x[/bold]", "a.csv:key:label", "x " * 200])
def test_text_is_shown_as_it_is(capsys, text):
    PlainConsole().print(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_a_terminal_is_not_steered(capsys):
    PlainConsole(stderr=True).print("a\x1b[2J\nb\udc80")
    assert capsys.readouterr() == ("", "a?[2J\nb?\n")


def test_a_table_is_wrapped(capsys):
    table = Table("words")
    table.add_row("word " * 100)
    PlainConsole().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines).count("word ") == 100
    assert max(map(len, lines)) <= 80


def test_skipped_lines_are_printed(tmp_path, capsys):
    (tmp_path / "m.csv").write_text("smiles,label\nC,1\nXX,0\nCC,0\n")
    print_skipped(load(f"{tmp_path / 'm.csv'}:smiles:label"), PlainConsole())
    assert capsys.readouterr().out == "Skipped line 3: 'XX': not SMILES\n"
