import pytest

from ifmixup.paper.plan import DatasetPlan, plan
from ifmixup.paper.scale import Scale

TINY = Scale("tiny", repeats=2, folds=2, epochs=2, graphs=60)


@pytest.fixture
def gcn_plan() -> DatasetPlan:
    (found,) = plan(["gcn"], TINY, datasets=["MUTAG"], protocols=["paper", "holdout"])
    return found
