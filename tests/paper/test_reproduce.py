from engine_here import Here
from ifmixup.paper.plan import plan
from ifmixup.paper.reproduce import read_cells, reproduce
from ifmixup.paper.scale import Scale
from ifmixup.study.store import Store


def test_every_run_is_done_once_and_every_trial_read(tmp_path, gcn_plan):
    engine = Here()
    with Store(tmp_path) as store:
        assert read_cells(gcn_plan, store) == []
        cells = reproduce(gcn_plan, store, engine, progress=False)
        assert len(engine.ran) == 48
        again = reproduce(gcn_plan, store, engine, progress=False)
    assert len(engine.ran) == 48
    assert [cell.reading for cell in again] == [cell.reading for cell in cells]
    assert len(cells) == 12
    assert all(cell.reading.complete and len(cell.reading.scores) == 4 for cell in cells)


def test_a_failed_run_is_missing_and_tried_again_when_asked_for(tmp_path, gcn_plan):
    def bad(spec) -> bool:
        return spec.settings.method == "drop_edge" and spec.fold == 1

    with Store(tmp_path) as store:
        cells = reproduce(gcn_plan, store, Here(bad), progress=False)
        missing = {(c.variant, c.protocol): sum(c.reading.missing.values()) for c in cells}
        assert missing["drop_edge", "paper"] == 2
        assert missing["none", "paper"] == 0
        quiet, engine = Here(), Here()
        reproduce(gcn_plan, store, quiet, progress=False)
        assert quiet.ran == []
        cells = reproduce(gcn_plan, store, engine, progress=False, retry_failed=True)
        assert len(engine.ran) == 4
        assert all(cell.reading.complete for cell in cells)


def test_where_halving_saves_nothing_the_grid_is_run(tmp_path):
    scale = Scale("tiny", repeats=1, folds=2, epochs=1, graphs=40)
    (found,) = plan(["gat"], scale, datasets=["MUTAG"], grid=True)
    found = type(found)(found.data, found.splits, found.trials[:1])
    engine = Here()
    with Store(tmp_path) as store:
        (cell,) = reproduce(found, store, engine, halving=True, progress=False)
    # one epoch on two folds is the least there is: nothing to halve, so the grid is run
    assert len(engine.ran) == 48 * 2
    assert cell.reading.complete
