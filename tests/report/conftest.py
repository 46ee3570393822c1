from dataclasses import replace

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


@pytest.fixture(scope="session")
def error_studies(tmp_path_factory):
    """A study of a regression, where less is better: ifMixup's error is lower on every fold."""
    errors = {
        "none": (0.50, 0.54, 0.52, 0.51, 0.53),
        "ifmixup": (0.40, 0.45, 0.41, 0.41, 0.43),
    }
    runs = []
    for method, values in errors.items():
        for fold, value in enumerate(values):
            run = done(fold, dataset="ZINC", protocol="paper", method=method)
            curves = {"train_loss": [1.0, 0.5], "test_mae": [1.0, value]}
            metrics = {"mae": value, "squared_error": value**2}
            runs.append(replace(run, result=replace(run.result, curves=curves, metrics=metrics)))
    return gather([filled(tmp_path_factory.mktemp("studies") / "errors", *runs)])


@pytest.fixture
def experiment(studies):
    found = {each.name: each for each in studies.experiments}
    return lambda name: found[name]
