import pytest

from engine_here import Here
from ifmixup.paper.cell import cell_of
from ifmixup.paper.reproduce import reproduce
from ifmixup.study.store import Store


def test_a_cell_stands_beside_what_was_published(tmp_path, gcn_plan):
    with Store(tmp_path) as store:
        cells = reproduce(gcn_plan, store, Here(), progress=False)
    cell = next(c for c in cells if (c.variant, c.protocol) == ("ifmixup", "paper"))
    assert (cell.experiment, cell.dataset, cell.epochs) == ("gcn", "MUTAG", 2)
    assert cell.published.mean == 0.879
    assert cell.difference == pytest.approx(cell.reading.mean - 0.879)
    assert len(cell.records) == 4
    assert cell.test_ratio == pytest.approx(1 / 9, abs=0.02)


def test_a_trial_without_runs_has_no_cell(gcn_plan):
    assert cell_of(gcn_plan.trials[0], []) is None
