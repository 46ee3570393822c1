import io
import shutil
import subprocess
from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from ifmixup.study.table import Table, TerminalRow, TerminalTable


def test_markdown_has_names_to_the_left_and_numbers_to_the_right():
    found = Table(("name", "a", "b"), [("x", "1", "2"), ("y", "", "3")]).markdown()
    assert found.splitlines() == [
        "| name | a | b |",
        "| :-- | --: | --: |",
        "| x | 1 | 2 |",
        "| y |  | 3 |",
    ]
    assert found.endswith("\n")
    assert Table(("a",), []).markdown() == "| a |\n| :-- |\n"


def test_markdown_with_everything():
    table = Table(
        ("name", "accuracy ± folds"),
        [("a|b", "89.4 ± 6.3*"), ("drop_edge", "[1]\n`x`")],
        title="A *table*",
        notes=["* optimistic"],
        bold={(0, 1)},
    )
    assert table.markdown().splitlines() == [
        r"## A \*table\*",
        "",
        "| name | accuracy ± folds |",
        "| :-- | --: |",
        r"| a\|b | **89.4 ± 6.3\*** |",
        r"| drop\_edge | \[1\] \`x\` |",
        "",
        r"\* optimistic",
    ]


def test_latex():
    table = Table(
        ("dataset", "accuracy ± folds", "difference [95 %]", "verdict"),
        [
            (r"A_1&\~^{", "90.2 ± 5.5*", "+10.8 [−1.1, +2.7]", "helps"),
            ("B", "100.0 ± 15.5*", "0.0 [−10.1, 0.0]", "hurts"),
            ("C", "–", "", ""),
        ],
        title="What\nit is",
        notes=["Accuracy in %."],
        bold={(1, 1)},
        rules={1},
        prose={"verdict"},
    )
    assert table.latex(lambda text: {"B": "ifMixup"}.get(text, text)).splitlines() == [
        "% What it is",
        "% Accuracy in %.",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"dataset & accuracy $\pm$ folds & difference [95 \%] \\",
        r"\midrule",
        r"A\_1\&\textbackslash{}\textasciitilde{}\textasciicircum{}\{ & "
        r"\phantom{0}90.2 $\pm$ \phantom{0}5.5\rlap{$^*$} & "
        r"+10.8 [\phantom{0}$-$1.1, +2.7] \\",
        r"\midrule",
        r"ifMixup & \textbf{100.0} $\pm$ 15.5\rlap{$^*$} & "
        r"\phantom{+0}0.0 [$-$10.1, \phantom{+}0.0] \\",
        r"C & -- &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_numbers_with_fewer_decimals_are_padded():
    column = Table(("n", "x"), [("a", "1.25"), ("b", "0.5"), ("c", "7")]).latex()
    assert r"a & 1.25 \\" in column
    assert r"b & 0.5\phantom{0} \\" in column
    assert r"c & 7\phantom{.00} \\" in column


def has_booktabs():
    if shutil.which("pdflatex") is None:
        return False
    return subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_booktabs(), reason="needs pdflatex and booktabs")
def test_latex_compiles(tmp_path):
    table = Table(
        ("a_b", "ρ ± %", "Δ → ×"),
        [("λ{&}#$~^", "1.25 ± 3.4*", "+1.0 [−0.5, +2.5]"), ("é", "10.5", "–")],
        notes=["A note with 100 %."],
        bold={(0, 1), (1, 2)},
        rules={1},
    )
    text = (
        r"\documentclass{article}\usepackage[utf8]{inputenc}\usepackage{booktabs}"
        r"\begin{document}" + f"\n{table.latex()}" + r"\end{document}"
    )
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


ROWS = [
    TerminalRow(("MUTAG", "with a long name of its own"), ("random forest on sums", "1.5", "", "")),
    TerminalRow(("MUTAG gcn", "holdout"), ("none", "75.0 ± 4.1", "", "")),
    TerminalRow(
        ("MUTAG gcn", "holdout"),
        (
            "a_method_with_a_very_long_name",
            "85.0 ± 4.4",
            "+10.0 [+8.0, +12.0]",
            "inconclusive: zero",
        ),
    ),
]
HEAD = ("method", "accuracy\n± folds", "difference to\nnone [95 %, Holm]", "verdict")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140])
def test_nothing_is_cropped_at_any_width(width):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(TerminalTable(HEAD, ROWS, "A note.", wraps={0, 3}, left={0, 3}))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in console.file.getvalue()
    text = console.file.getvalue()
    characters = [c for row in ROWS for cell in row.cells for c in cell if not c.isspace()]
    assert all(text.count(c) >= characters.count(c) for c in set(characters))
    if width >= 60:
        for text in ("75.0 ± 4.1", "85.0 ± 4.4", "+10.0 [+8.0, +12.0]"):
            assert any(text in line for line in lines)


def test_side_by_side_where_there_is_room_and_stacked_where_not():
    def printed(width):
        console = Console(width=width, file=io.StringIO(), color_system=None)
        rows = [ROWS[1], TerminalRow(ROWS[2].group, ("ifmixup", *ROWS[2].cells[1:]))]
        console.print(TerminalTable(HEAD, rows, wraps={0, 3}, left={0, 1, 2, 3}))
        return [line.rstrip() for line in console.file.getvalue().splitlines()]

    assert printed(100)[3:] == [
        "MUTAG gcn  holdout",
        "none       75.0 ± 4.1",
        "ifmixup    85.0 ± 4.4  +10.0 [+8.0, +12.0]  inconclusive: zero",
    ]
    assert printed(50)[2:] == [
        "MUTAG gcn  holdout",
        "none       accuracy ± folds 75.0 ± 4.1",
        "ifmixup    accuracy ± folds 85.0 ± 4.4",
        "           difference to none +10.0 [+8.0, +12.0]",
        "           verdict inconclusive: zero",
    ]


WORDS = st.text("abcdef−0123456789.%[]", min_size=1, max_size=14)
CELLS = st.lists(WORDS, max_size=8).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(20, 160), st.integers(2, 8))
def test_every_letter_of_any_table_is_shown(data, width, columns):
    head = data.draw(st.lists(CELLS.filter(bool), min_size=columns, max_size=columns))
    cells = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), max_size=4))
    group = data.draw(st.lists(WORDS, max_size=2))
    wraps = data.draw(st.sets(st.integers(0, columns - 1)))
    table = TerminalTable(head, [TerminalRow(group, row) for row in cells], wraps=wraps)
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=False).print(table)
    shown = Counter("".join(stream.getvalue().replace("─", "").split()))
    texts = [*(group if cells else ()), *chain(*cells)]
    # Where rows are stacked, titles stand in each row that has a value, or nowhere.
    assert not Counter("".join("".join(texts).split())) - shown
    assert all(len(line.rstrip()) <= width for line in stream.getvalue().splitlines())
