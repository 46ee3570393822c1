"""The store against a dictionary that follows its rules: claim, finish, fail, merge, crash."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ifmixup.study.store import Store
from stored_runs import done, failed

FOLDS = st.integers(0, 3)


class StoreMachine(RuleBasedStateMachine):
    """Every rule does the same to a store and to a dictionary from keys to outcomes."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store(self.folder)
        self.model = {}

    def put(self, record, later):
        """A done run stays; a failed one gives way to a done one, or to a later failure."""
        before = self.model.get(record.key)
        if before is not None and (before.result is not None or not later(before)):
            return False
        self.model[record.key] = record
        return True

    @rule(fold=FOLDS, accuracy=st.floats(0, 1))
    def finish(self, fold, accuracy):
        record = done(fold, accuracy=accuracy)
        assert self.store.add(record) == self.put(record, lambda _: True)

    @rule(fold=FOLDS, error=st.text(max_size=9))
    def fail(self, fold, error):
        record = failed(fold, error=f"E{error}")
        if error.isprintable():
            assert self.store.add(record) == self.put(record, lambda _: True)

    @rule(folds=st.lists(FOLDS, max_size=4), good=st.booleans())
    def merge(self, folds, good):
        records = [done(fold) if good else failed(fold) for fold in folds]
        added = sum(
            self.put(r, lambda b, r=r: good or r.finished_at > b.finished_at) for r in records
        )
        assert self.store.merge(records) == added

    @rule(fold=FOLDS)
    def set_aside(self, fold):
        record = failed(fold, error="Damaged: x")
        if record.key in self.model:
            self.store.set_aside(record)
            self.model[record.key] = record

    @rule(fold=FOLDS)
    def crash_in_a_merge(self, fold):
        """What a process had not committed is gone, all of it."""

        def broken():
            yield done(fold)
            raise KeyboardInterrupt

        try:
            self.store.merge(broken())
        except KeyboardInterrupt:
            self.reopen()

    @rule()
    def reopen(self):
        self.store.close()
        self.store = Store(self.folder)

    @invariant()
    def the_same(self):
        assert {key: repr(value) for key, value in self.store.get(self.model).items()} == {
            key: repr(value) for key, value in self.model.items()
        }
        for status in ("done", "failed"):
            wanted = {key for key, record in self.model.items() if record.status == status}
            assert self.store.keys(status) == wanted

    def teardown(self):
        self.store.close()
        shutil.rmtree(self.folder)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
