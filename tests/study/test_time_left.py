from itertools import pairwise

import pytest

from ifmixup.study.time_left import TimeLeft
from ifmixup.training import RunSpec, Settings


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def spec(fold, epochs=10):
    return RunSpec("MUTAG", "", Settings(epochs=epochs), "holdout", 0, fold, "", 0)


def test_nothing_is_known_at_first(clock):
    left = TimeLeft(4, clock)
    assert left.left() is None
    left.started(spec(0))
    clock.now = 5
    assert left.left() is None


def test_from_the_mean_of_finished_runs(clock):
    left = TimeLeft(4, clock)
    left.started(spec(0))
    clock.now = 10
    left.finished(spec(0), failed=False)
    assert left.left() == 30  # three runs of ten seconds, one at a time


def test_two_at_a_time(clock):
    left = TimeLeft(6, clock)
    for fold in (0, 1):
        left.started(spec(fold))
    clock.now = 10
    for fold in (0, 1):
        left.finished(spec(fold), failed=False)
    assert left.left() == 20


def test_from_the_epochs_of_the_first_run(clock):
    left = TimeLeft(4, clock)
    left.started(spec(0))
    clock.now = 2
    left.epoch(spec(0), 2)
    assert left.left() == pytest.approx(38)


def test_the_last_run_is_not_shared(clock):
    left = TimeLeft(3, clock)
    left.started(spec(0))
    left.started(spec(1))
    clock.now = 10
    left.finished(spec(0), failed=False)
    left.finished(spec(1), failed=False)
    left.started(spec(2))
    assert left.left() == 10


def test_runs_that_tell_no_epochs_count_by_their_time(clock):
    left = TimeLeft(3, clock)
    left.started(spec(0))
    clock.now = 10
    left.finished(spec(0), failed=False)
    left.started(spec(1))
    clock.now = 14
    assert left.left() == pytest.approx(16)
    clock.now = 100  # overdue, but not done
    assert left.left() == pytest.approx(10.5)


def test_failed_runs_say_nothing_about_seconds(clock):
    left = TimeLeft(3, clock)
    left.started(spec(0))
    left.finished(spec(0), failed=True)
    assert left.left() is None
    left.started(spec(1))
    clock.now = 10
    left.finished(spec(1), failed=False)
    assert left.left() == 10


def test_it_does_not_jump(clock):
    """Runs of four lengths on two workers: after a tenth, each second takes about a second away."""
    lengths = [4 + 3 * (fold % 4) for fold in range(40)]
    left, waiting, running, seen = TimeLeft(40, clock), list(range(40)), {}, []
    while left.ended < 40:
        while waiting and len(running) < 2:
            fold = waiting.pop(0)
            running[fold] = clock.now
            left.started(spec(fold, 100))
        clock.now += 0.5
        for fold, since in list(running.items()):
            part = (clock.now - since) / lengths[fold]
            if part >= 1:
                left.finished(spec(fold, 100), failed=False)
                del running[fold]
            else:
                left.epoch(spec(fold, 100), int(part * 100))
        if left.ended >= 4:
            seen.append((clock.now, left.left()))
    end = clock.now
    for (_, before), (now, after) in pairwise(seen):
        assert abs(after - before) < 6
        assert after == pytest.approx(end - now, rel=0.25, abs=8)
    assert seen[-1][1] == 0
