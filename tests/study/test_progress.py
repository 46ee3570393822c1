import io

import pytest

from ifmixup.study.progress import Progress, duration
from ifmixup.study.record import Record
from ifmixup.study.running_means import RunningMeans
from stored_runs import done, failed, record, result, spec, study_of


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def watch(progress, clock, outcomes, seconds):
    with progress:
        for found in outcomes:
            progress.started(found.spec)
            clock.now += seconds
            progress.finished(found)


def test_a_log_has_one_line_per_tenth(clock):
    file = io.StringIO()
    found = [done(fold) for fold in range(40)]
    watch(Progress(40, already=2, file=file, clock=clock), clock, found, seconds=1)
    lines = file.getvalue().splitlines()
    assert lines[0] == "40 runs to do (2 are stored)"
    assert lines[1] == "4/40 runs done, 36 s left"
    assert lines[-1] == "40/40 runs done, took 40 s"
    assert len(lines) == 11
    assert "\x1b" not in file.getvalue()


def test_a_log_has_a_line_after_a_while(clock):
    file = io.StringIO()
    first = spec(epochs=350)
    progress = Progress(1, epochs=350, file=file, clock=clock)
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


def test_time_is_counted_in_epochs(clock):
    progress = Progress(3, epochs=100, file=io.StringIO(), clock=clock)
    assert progress.left() is None  # nothing is known
    short, long = spec(0, epochs=10), spec(1, epochs=80)
    with progress:
        progress.started(short)
        progress.started(long)
        clock.now = 10
        progress.epoch(long, 10)
        progress.finished(Record(short, error="no"))
        assert progress.share() == pytest.approx(0.2)
        assert progress.left() == pytest.approx(40)
        progress.started(long)  # its worker was lost: it begins again
        assert progress.share() == pytest.approx(0.1)
        progress.finished(Record(long, error="no"))
        progress.epoch(long, 79)  # too late to count
        assert progress.share() == pytest.approx(0.9)


def test_failed_runs_are_counted(clock):
    file = io.StringIO()
    watch(Progress(4, file=file, clock=clock), clock, [failed(0), done(1), done(2), done(3)], 1)
    assert file.getvalue().splitlines()[-1] == "3/4 runs done, 1 failed, took 4 s"


def test_means_over_folds_are_shown_and_nothing_of_a_single_fold(clock):
    study = study_of(("gcn",), ("none", "ifmixup"), folds=4)
    runs = [record(run, result([0.5, 0.75], validation=[0.1, 0.9])) for run in study.specs()]
    file = io.StringIO()
    watch(Progress(8, file=file, clock=clock, means=RunningMeans(study)), clock, runs, 40)
    lines = file.getvalue().splitlines()
    assert lines[3] == "3/8 runs done, 3 min 20 s left"  # one has two folds, the other has one
    assert lines[4] == (
        "4/8 runs done, 2 min 40 s left; means over 2 folds: gcn none 75.0, gcn ifmixup 75.0"
    )


def test_a_narrow_terminal_folds_long_lines(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    study = study_of(("gcn", "gin"), ("none", "ifmixup"), folds=2)
    file = io.StringIO()
    file.isatty = lambda: True
    runs = [record(run, result([0.5, 0.75], validation=[0.1, 0.9])) for run in study.specs()]
    watch(Progress(8, file=file, clock=clock, means=RunningMeans(study)), clock, runs[:8], 1)
    assert "…" not in file.getvalue()


def test_a_study_that_is_stopped(clock):
    def interrupted():
        raise KeyboardInterrupt
        yield

    file = io.StringIO()
    progress = Progress(9, file=file, clock=clock)
    with pytest.raises(KeyboardInterrupt):
        watch(progress, clock, interrupted(), 1)
    assert file.getvalue().splitlines() == ["9 runs to do", "stopped, 0/9 runs done, took 0 s"]


def test_nothing_to_do_is_quiet(clock):
    file = io.StringIO()
    with Progress(0, already=5, file=file, clock=clock):
        pass
    assert file.getvalue() == ""


def test_a_terminal_gets_a_bar(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    file = io.StringIO()
    file.isatty = lambda: True
    progress = Progress(3, file=file, clock=clock)
    with progress:
        for found in (done(0), failed(1)):
            progress.started(found.spec)
            clock.now += 60
            progress.finished(found)
        progress.started(spec(2))
    shown = file.getvalue()
    assert "1/3 runs done, 1 running, 1 failed, 1 min 0 s left" in shown
    assert "\x1b[" in shown
    assert shown.endswith("1/3 runs done, 1 failed, took 2 min 0 s\n")


def test_it_writes_to_the_standard_error(capsys):
    with Progress(1):
        pass
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("1 runs to do")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.4, "1 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_how_far_the_fits_of_methods_are(clock):
    file = io.StringIO()
    first, second = done(0), done(1)
    progress = Progress(2, epochs=2 * first.spec.settings.epochs, file=file, clock=clock)
    with progress:
        for found in (first, second):
            progress.started(found.spec)
        for share in (0.25, 0.5):
            clock.now += 40
            progress.fitting(first.spec, share)
        progress.epoch(first.spec, 1)
        clock.now += 40
        progress.fitting(second.spec, 0.1)
        for found in (first, second):
            progress.finished(found)
    lines = file.getvalue().splitlines()
    assert lines[1] == "0/2 runs done, 2 running (fitting the method: 25 %)"
    assert lines[2] == "0/2 runs done, 2 running (fitting the method: 50 %)"
    assert lines[3].startswith("0/2 runs done, 2 running (fitting the method: 10 %), ")
