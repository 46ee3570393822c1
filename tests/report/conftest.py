import pytest

from engine_here import Here
from ifmixup.paper.reproduce import Scale, plan, reproduce
from ifmixup.report.studies import gather
from stored_runs import records_of, result, stored, study_of

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def paper_folder(tmp_path_factory):
    """A table and a figure of the paper on a few graphs, under two protocols."""
    folder = tmp_path_factory.mktemp("studies") / "reproduced"
    scale = Scale("tiny", repeats=1, folds=2, epochs=2, graphs=60)
    found = plan(["gcn", "depth"], scale, datasets=["MUTAG"], protocols=["holdout", "paper"])
    reproduce(found, folder, Here(), progress=False)
    return folder


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory):
    """A study of a dataset with a hostile name."""
    named = {"datasets": [HOSTILE], "name": HOSTILE, "notes": [HOSTILE]}
    study = study_of(protocols=["paper"], folds=3, **named)
    records = records_of(study, lambda spec, validated: result((0.5, 0.6 + spec.fold / 100)))
    return stored(tmp_path_factory.mktemp("studies") / "own", study, records)


@pytest.fixture(scope="session")
def studies(paper_folder, own_folder):
    return gather([paper_folder, own_folder], command="ifmixup report <b>reproduced</b> own")


@pytest.fixture(scope="session")
def error_studies(tmp_path_factory):
    """A study of a regression: the error is lower with ifMixup on every fold."""
    errors = {"none": (0.50, 0.54, 0.52, 0.51, 0.53), "ifmixup": (0.40, 0.45, 0.41, 0.41, 0.43)}
    study = study_of(datasets=["ZINC"], protocols=["paper"], metric="mae")

    def measure(spec, validated):
        return result((1.0, errors[spec.method.name][spec.fold]), metric="mae", squared_error=0.2)

    folder = tmp_path_factory.mktemp("studies") / "errors"
    return gather([stored(folder, study, records_of(study, measure))])


@pytest.fixture
def shown(studies):
    """A study by its name."""
    return {each.name: each for each in studies.shown}.__getitem__
