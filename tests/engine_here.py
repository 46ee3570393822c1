"""An engine for tests: runs in this process, counts, and fails when told to."""

from ifmixup.study.record import Record
from ifmixup.training.run import run


class Here:
    """An engine in this process that counts what it runs and may fail."""

    def __init__(self, fail=lambda spec: False):
        self.ran = []
        self.fail = fail

    def execute(self, tasks, data, watcher=None):
        for spec, fold in tasks:
            self.ran.append(spec)
            if self.fail(spec):
                yield Record(spec, error="TrainingError: no")
            else:
                yield Record(spec, run(spec, data, fold))
