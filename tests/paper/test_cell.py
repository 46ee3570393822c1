from dataclasses import replace

import pytest

from engine_here import Here
from ifmixup.paper.cell import cell_of, relevant
from ifmixup.paper.plan import plan
from ifmixup.paper.reproduce import reproduce
from ifmixup.paper.scale import Scale
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


def test_of_a_grid_only_the_runs_of_the_chosen_setting_count(tmp_path):
    scale = Scale("tiny", repeats=1, folds=2, epochs=1, graphs=40)
    (found,) = plan(["gat"], scale, datasets=["MUTAG"], grid=True)
    found = replace(found, trials=found.trials[:1])

    def bad(spec) -> bool:  # few are enough
        return spec.settings.hidden != 64 or spec.settings.layers != 3

    with Store(tmp_path) as store:
        (cell,) = reproduce(found, store, Here(bad), progress=False)
    chosen = cell.chosen_results()
    assert len(chosen) == len(cell.reading.scores) == 2
    assert len([r for r in cell.records if r.result is not None]) > len(chosen)
    settings = {repr(relevant(r.spec.settings)) for r in cell.records if r.result in chosen}
    assert settings == {repr(choice.settings) for choice in cell.reading.chosen.values()}


def test_a_trial_without_runs_has_no_cell(gcn_plan):
    assert cell_of(gcn_plan.trials[0], []) is None
