import io
from dataclasses import replace

import pytest
from rich.console import Console

from engine_here import Here
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.reproduce import reproduce
from ifmixup.paper.table import lines, notes, rich_table
from ifmixup.study.store import Store


@pytest.fixture
def cells(tmp_path, gcn_plan):
    with Store(tmp_path) as store:
        return reproduce(gcn_plan, store, Here(), progress=False)


def test_lines_are_in_the_order_of_the_paper_and_compared_with_the_baseline(cells):
    found = lines(EXPERIMENTS["gcn"], list(reversed(cells)))
    names = [line.cell.variant for line in found]
    methods = ["none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking"]
    assert names == methods * 2
    assert [line.cell.protocol for line in found] == ["holdout"] * 6 + ["paper"] * 6
    base, other = found[0], found[1]
    assert base.baseline is None
    assert base.relative is None
    assert other.baseline.mean == pytest.approx(other.cell.reading.mean - base.cell.reading.mean)
    assert other.relative == pytest.approx(other.cell.reading.mean / base.cell.reading.mean - 1)
    assert any(line.best for line in found[:6])


def test_the_table_fits_80_columns_and_says_what_is_optimistic(cells):
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_table(EXPERIMENTS["gcn"], cells))
    text = console.file.getvalue()
    assert "MUTAG paper" in text
    assert "attribute_masking" in text
    assert "85.0 ± 1.1" in text
    assert "optimistic" in text
    assert "nan" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_wide_terminal_shows_the_relative_improvement_too(cells):
    for width, shown in ((80, False), (100, True)):
        console = Console(file=io.StringIO(), width=width)
        console.print(rich_table(EXPERIMENTS["gcn"], cells, width))
        text = console.file.getvalue()
        assert ("rela-" in text) == shown
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width


def test_long_names_take_two_lines_and_numbers_stay_whole(cells):
    names = {"none": "none, a head on every layer", "ifmixup": "ifmixup, a head on every layer"}
    mine = [
        replace(cell, experiment="suspects", variant=names[cell.variant], published=None)
        for cell in cells
        if cell.variant in names
    ]
    console = Console(file=io.StringIO(), width=60)
    console.print(rich_table(EXPERIMENTS["suspects"], mine))
    text = console.file.getvalue()
    assert "…" not in text
    assert "published" not in text
    assert "[95 %]" in text
    assert max(map(len, text.splitlines())) <= 60


def test_no_other_experiment_and_missing_runs_are_said(cells):
    assert lines(EXPERIMENTS["gin"], cells) == []
    found = lines(EXPERIMENTS["gcn"], cells)
    assert not any("not there" in note for note in notes(found))


def test_a_baseline_at_zero_has_no_relative_improvement(cells):
    gcn = EXPERIMENTS["gcn"]
    mine = [cell for cell in cells if cell.protocol == "paper"]
    zero = dict.fromkeys(mine[0].reading.scores, 0.0)
    mine = [
        replace(cell, reading=replace(cell.reading, scores=zero))
        if cell.variant == "none"
        else cell
        for cell in mine
    ]
    assert all(line.relative is None for line in lines(gcn, mine))


def test_folds_without_a_score_are_said(cells):
    mine = [replace(c, reading=replace(c.reading, undefined=((0, 1),))) for c in cells]
    said = notes(lines(EXPERIMENTS["gcn"], mine))[-1]
    assert said.endswith("accuracy is not defined, and which are not in these numbers: 1.")


def test_without_any_score_none_is_the_best(cells):
    mine = [replace(c, reading=replace(c.reading, scores={})) for c in cells]
    assert not any(line.best for line in lines(EXPERIMENTS["gcn"], mine))
