import pytest

from engine_here import Here
from ifmixup.paper.manifest import save_manifest
from ifmixup.paper.plan import plan
from ifmixup.paper.reproduce import reproduce
from ifmixup.paper.scale import Scale
from ifmixup.report.studies import gather
from ifmixup.study.store import Store
from stored_runs import done, filled

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def paper_folder(tmp_path_factory):
    """A table and a figure of the paper on a few graphs, under both protocols."""
    folder = tmp_path_factory.mktemp("studies") / "reproduced"
    scale = Scale("tiny", repeats=1, folds=2, epochs=2, graphs=60)
    plans = list(plan(["gcn", "depth"], scale, datasets=["MUTAG"], protocols=["paper", "holdout"]))
    with Store(folder) as store:
        save_manifest(folder, plans)
        for each in plans:
            reproduce(each, store, Here(), progress=False)
    return folder


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory):
    """A study without a manifest, whose dataset has a hostile name."""
    folder = tmp_path_factory.mktemp("studies") / "own"
    runs = [
        done(fold, dataset=HOSTILE, protocol="paper", method=method)
        for method in ("none", "ifmixup")
        for fold in range(3)
    ]
    return filled(folder, *runs)


@pytest.fixture(scope="session")
def studies(paper_folder, own_folder):
    return gather([paper_folder, own_folder], command="ifmixup report <b>reproduced</b> own")


@pytest.fixture
def experiment(studies):
    found = {each.name: each for each in studies.experiments}
    return lambda name: found[name]
