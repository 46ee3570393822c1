import socket

from ifmixup.training.versions import versions

from ifmixup.study.engines.engine import Outcome
from stored_runs import spec


def test_an_outcome_says_where_it_was_made():
    outcome = Outcome(spec(), error="no")
    assert outcome.host == socket.gethostname()
    assert outcome.versions == versions()
    assert set(versions()) == {"ifmixup", "python", "torch", "torch_geometric"}
