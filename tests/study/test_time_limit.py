"""A study within a time limit, with a clock that only runs make go on."""

import pytest

from engine_here import Here
from ifmixup.data import load
from ifmixup.errors import InputError, TrainingError
from ifmixup.study.compare import plan
from ifmixup.study.comparison import Comparison
from ifmixup.study.run import Runner
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies, save_studies
from ifmixup.study.time_limit import as_seconds, run_within
from ifmixup.training.packed import pack

TINY = {"epochs": 2, "hidden_channels": 4, "num_layers": 1}


class Slow(Here):
    """Every epoch of a run takes some seconds, and is told."""

    def __init__(self, each=10.0, **options):
        super().__init__(**options)
        self.now, self.each = 0.0, each

    def execute(self, tasks, data, watcher=None):
        for task in tasks:
            watcher.started(task[0])
            for epoch in (1, 2):
                self.now += self.each / 2
                watcher.epoch(task[0], epoch)
            for record in super().execute([task], data):
                watcher.finished(record)
                yield record


@pytest.fixture(scope="module")
def mutag():
    data = pack(load("MUTAG"))
    return data, make_splits(data, folds=5)


def limited(mutag, folder, limit, engine=None, guess=10.0, spent=0.0, **options):
    """The study that a limit leaves, and what ran."""
    study = plan(*mutag, ("gcn",), ("none", "ifmixup"), changes=TINY, **options)
    engine = engine or Slow()
    with Store(folder) as store:
        runner = Runner(store, engine, [mutag], progress=False)
        found = run_within(
            runner,
            study,
            folder,
            {spec.key: guess for spec in study.specs()},
            limit=limit,
            began=engine.now - spent,
            clock=lambda: engine.now,
        )
        return Comparison(found, list(store.get(found.keys).values())), engine


def test_whole_folds_of_all_arms_in_turn(mutag, tmp_path):
    found, engine = limited(mutag, tmp_path, 70)
    assert [(spec.fold, spec.method.name) for spec in engine.ran] == [
        (fold, method) for fold in range(3) for method in ("none", "ifmixup")
    ]
    assert engine.now == 60  # a fourth fold would end after 80
    assert [row.reading.runs for row in found.rows] == [3, 3]
    assert found.study.trials[0].folds == found.study.trials[1].folds
    assert (
        "The time limit of 1 min 10 s left out 2 of 5 folds for all models and methods. The same "
        "command, with or without the limit, continues."
    ) in found.study.notes
    assert load_studies(tmp_path) == [found.study]


def test_it_goes_on_with_the_limit_and_without(mutag, tmp_path):
    limited(mutag, tmp_path, 50)
    found, engine = limited(mutag, tmp_path, 50)
    assert [spec.fold for spec in engine.ran] == [2, 2, 3, 3]
    assert found.rows[0].reading.runs == 4
    assert len(load_studies(tmp_path)) == 1  # the larger one replaces the smaller
    whole = plan(*mutag, ("gcn",), ("none", "ifmixup"), changes=TINY)
    with Store(tmp_path) as store:
        runner = Runner(store, Here(), [mutag], progress=False)
        assert [run.fold for run, _ in runner.pending(whole.specs())] == [4, 4]
        save_studies(tmp_path, [whole])
        runner.execute(whole.specs())
    assert load_studies(tmp_path) == [whole]
    found, engine = limited(mutag, tmp_path, 50)
    assert engine.ran == []
    assert found.study.notes == whole.notes  # nothing was left out
    assert len(load_studies(tmp_path)) == 1


def test_a_limit_after_a_study_that_was_stopped_does_not_list_it_twice(mutag, tmp_path):
    whole = plan(*mutag, ("gcn",), ("none", "ifmixup"), changes=TINY)
    save_studies(tmp_path, [whole])
    limited(mutag, tmp_path, 50)
    assert load_studies(tmp_path) == [whole]


def test_a_bad_estimate_is_corrected_by_what_was_run(mutag, tmp_path):
    found, engine = limited(mutag, tmp_path, 70, guess=1.0)
    assert found.rows[0].reading.runs == 3
    assert engine.now <= 80


def test_a_fold_that_does_not_end_in_time_favours_no_arm(mutag, tmp_path):
    engine = Slow()
    faster = iter([10.0, 10.0, 10.0, 40.0, 40.0, 40.0])
    execute = engine.execute

    def slower(tasks, data, watcher=None):
        for task in tasks:
            engine.each = next(faster)
            yield from execute([task], data, watcher)

    engine.execute = slower
    found, _ = limited(mutag, tmp_path, 50, engine)
    assert [row.reading.runs for row in found.rows] == [1, 1]
    with Store(tmp_path) as store:
        assert len(store.keys("done")) == 3  # the half fold is stored for the next time
    assert "left out 4 of 5 folds" in found.study.notes[-1]


def test_a_grid_is_part_of_every_fold(mutag, tmp_path):
    found, engine = limited(mutag, tmp_path, 90, grid={"dropout": [0.0, 0.5]})
    assert len(engine.ran) == 2 * 4
    assert found.rows[0].reading.runs == 4


def test_unknown_times_run_one_fold_first(mutag, tmp_path):
    found, _ = limited(mutag, tmp_path, 45, guess=float("nan"))
    assert found.rows[0].reading.runs == 2


def test_a_limit_that_is_too_short(mutag, tmp_path):
    engine = Slow()
    with pytest.raises(InputError, match=r"One fold .* takes about 20 s, more than .* 15 s"):
        limited(mutag, tmp_path, 15, engine)
    assert engine.ran == []
    said = r"took 12 s of the time limit of 25 s; .* takes about 20 s more"
    with pytest.raises(InputError, match=said):
        limited(mutag, tmp_path, 25, engine, spent=12.0)
    with pytest.raises(TrainingError, match=r"ended before one fold .*\. 1 of 10 runs are stored"):
        limited(mutag, tmp_path, 15, engine, guess=5.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), (90, 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400),
     ("1.5 h", 5400), ("1 d", 86400), ("10min", 600)],
)  # fmt: skip
def test_times(text, seconds):
    assert as_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "0", "-5m", "30 minutes", "1h:30", True, float("inf")]
)
def test_what_is_no_time(text):
    with pytest.raises(InputError, match="must be a time such as 90s, 30m, 2h or 1h30m; got"):
        as_seconds(text)
