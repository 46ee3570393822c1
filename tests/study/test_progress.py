import io

import pytest

from ifmixup.study.engines.engine import Outcome
from ifmixup.study.progress import Progress, duration
from ifmixup.training import RunResult, RunSpec, Settings


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def outcome(fold, accuracy=None, model="gin", method="ifmixup", **metrics):
    settings = Settings(model=model, method=method)
    spec = RunSpec("MUTAG", "", settings, "holdout", 0, fold, "", 0)
    if accuracy is None:
        return Outcome(spec, error="TrainingError: no")
    return Outcome(spec, RunResult({}, {"accuracy": accuracy, **metrics}, 1.0, 0.1))


def watch(progress, clock, outcomes, seconds):
    with progress:
        for found in outcomes:
            progress.started(found.spec)
            clock.now += seconds
            progress.finished(found)


def test_a_log_has_a_line_a_tenth(clock):
    file = io.StringIO()
    found = [outcome(fold, 0.5 + fold / 100) for fold in range(40)]
    watch(Progress(40, already=2, file=file, clock=clock), clock, found, seconds=1)
    lines = file.getvalue().splitlines()
    assert lines[0] == "40 runs to do (2 are there already)"
    assert lines[1] == "4/40 runs done, 36 s left, best so far: gin ifmixup 0.530 (fold 3)"
    assert lines[-1] == "40/40 runs done, took 40 s, best so far: gin ifmixup 0.890 (fold 39)"
    assert len(lines) == 11
    assert "\x1b" not in file.getvalue()


def test_a_log_has_a_line_after_a_while(clock):
    file = io.StringIO()
    progress = Progress(1, file=file, clock=clock)
    first = outcome(0, 0.5).spec
    with progress:
        progress.started(first)
        for number in range(1, 101):
            clock.now += 1
            progress.epoch(first, number)
    lines = file.getvalue().splitlines()
    assert lines[1:4] == [
        "0/1 runs done, 1 running, 5 min 20 s left",
        "0/1 runs done, 1 running, 4 min 50 s left",
        "0/1 runs done, 1 running, 4 min 20 s left",
    ]
    assert len(lines) == 5


def test_the_best_is_of_validation_and_the_test_fold_is_not_shown(clock):
    file = io.StringIO()
    found = [outcome(0, 0.9), outcome(1, 0.8, "gcn")]
    found[0].result.curves["validation_accuracy"] = [0.6, 0.7]
    found[1].result.curves["validation_accuracy"] = [0.75, 0.5]
    watch(Progress(2, file=file, clock=clock), clock, found, 1)
    assert "best so far: gcn ifmixup 0.750 (fold 1)" in file.getvalue().splitlines()[-1]


def test_the_best_error_is_the_lowest(clock):
    file = io.StringIO()
    found = [outcome(0, 0.9), outcome(1, 0.8, "gcn")]
    found[0].result.curves["validation_mae"] = [2.0, 1.25, float("nan")]
    found[1].result.curves["validation_mae"] = [1.5, 3.0]
    watch(Progress(2, file=file, clock=clock), clock, found, 1)
    assert "best so far: gin ifmixup MAE 1.250 (fold 0)" in file.getvalue().splitlines()[-1]


def test_failed_runs_are_counted_and_never_the_best(clock):
    file = io.StringIO()
    found = [outcome(0), outcome(1, float("nan")), outcome(2, 0.5), outcome(3, 0.4)]
    watch(Progress(4, file=file, clock=clock), clock, found, 1)
    last = file.getvalue().splitlines()[-1]
    assert last == "3/4 runs done, 1 failed, took 4 s, best so far: gin ifmixup 0.500 (fold 2)"


def test_a_study_that_is_stopped(clock):
    def interrupted():
        raise KeyboardInterrupt
        yield

    file = io.StringIO()
    progress = Progress(9, file=file, clock=clock)
    progress.started(outcome(0).spec)
    with pytest.raises(KeyboardInterrupt):
        watch(progress, clock, interrupted(), 1)
    assert file.getvalue().splitlines() == ["9 runs to do", "stopped, 0/9 runs done, took 0 s"]


def test_nothing_to_do_is_quiet(clock):
    file = io.StringIO()
    with Progress(0, already=5, file=file, clock=clock):
        pass
    assert file.getvalue() == ""


def test_a_terminal_gets_a_live_display(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    file = io.StringIO()
    file.isatty = lambda: True
    progress = Progress(3, file=file, clock=clock)
    with progress:
        for found in (outcome(0, 0.889), outcome(1)):
            progress.started(found.spec)
            clock.now += 60
            progress.finished(found)
        progress.started(outcome(2).spec)
        progress._live.refresh()
    shown = file.getvalue()
    assert "1/3 runs done, 1 running, 1 failed, 1 min 0 s left" in shown
    assert "best so far: gin ifmixup 0.889 (fold 0)" in shown
    assert "\x1b[" in shown
    assert shown.endswith(
        "1/3 runs done, 1 failed, took 2 min 0 s, best so far: gin ifmixup 0.889 (fold 0)\n"
    )


def test_it_writes_to_the_standard_error(capsys):
    with Progress(1):
        pass
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("1 runs to do")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
