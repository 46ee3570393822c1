import copy
import json
from dataclasses import replace

import pytest

from ifmixup.components import with_options
from ifmixup.errors import InputError, StoreError
from ifmixup.study import study as module
from ifmixup.study.baselines import Baseline, best_baseline
from ifmixup.study.study import Study, load_studies, save_studies
from own_classes import Net, Noise
from stored_runs import study_of


def saved(folder, *studies):
    save_studies(folder, studies)
    return folder / "study.json"


def names(folder):
    return [[trial.name for trial in study.trials] for study in load_studies(folder)]


def test_one_run_per_fold_and_trial_with_all_trials_of_a_fold_together():
    study = study_of(folds=3)
    specs = list(study.specs())
    assert [(spec.fold, spec.method.name) for spec in specs] == [
        (0, "none"), (0, "ifmixup"), (1, "none"), (1, "ifmixup"), (2, "none"), (2, "ifmixup"),
    ]  # fmt: skip
    assert {spec.key for spec in specs} == study.keys
    assert len(study.keys) == 6
    assert len({spec.run_seed for spec in specs if spec.fold == 1}) == 1


def test_a_grid_has_runs_of_every_candidate():
    study = study_of(methods=("none",), folds=2, grid={"num_layers": [3, 5], "batch_size": [8]})
    (trial,) = study.trials
    assert [[spec.key for spec in specs] for specs in trial.specs()] == [
        list(k) for k in trial.keys
    ]
    assert len(study.keys) == 4
    assert replace(trial, candidates=trial.candidates[1:], keys=()).keys == trial.keys[1:]


def test_paper_and_last_share_their_runs_and_holdout_has_its_own():
    by_protocol = {name: study_of(protocols=(name,)).keys for name in ("holdout", "paper", "last")}
    assert by_protocol["paper"] == by_protocol["last"]
    assert not by_protocol["paper"] & by_protocol["holdout"]
    assert len(list(study_of(protocols=("paper", "last")).specs())) == len(by_protocol["paper"])


def test_what_a_trial_is_compared_with():
    study = study_of(("gcn", "gin"), datasets=("A", "B"), protocols=("holdout", "paper"))
    for trial in study.trials:
        base = study.against(trial)
        if trial.method == "none":
            assert base is None
        else:
            assert (base.model, base.method, base.data, base.protocol) == (
                trial.model, "none", trial.data, trial.protocol,
            )  # fmt: skip
    assert study.datasets == ["A", "B"]
    assert study.protocols == ["holdout", "paper"]


def test_two_trials_of_one_name_are_refused():
    study = study_of()
    with pytest.raises(InputError, match="Two trials are called 'MUTAG holdout gcn none'"):
        replace(study, trials=(*study.trials, study.trials[0]))


@pytest.mark.parametrize(
    "study",
    [
        study_of(),
        study_of(("gcn", Net), (Noise, with_options("ifmixup", name="wide λ", drop=("a",)))),
        study_of(protocols=("paper", "last"), repeats=2, grid={"steps_per_epoch": [None, 50]}),
        study_of(metric="mae", notes=("Read\nthis.",)),
    ],
    ids=["plain", "own classes", "grid", "notes"],
)
def test_to_a_file_and_back(tmp_path, study):
    study = replace(study, config={"models": ["gcn"], "epochs": 2})
    saved(tmp_path / "new", study)
    (again,) = load_studies(tmp_path / "new")
    assert again == study
    assert again.config == study.config
    assert again.keys == study.keys
    assert [trial.keys for trial in again.trials] == [trial.keys for trial in study.trials]
    assert list(again.specs()) == list(study.specs())


def test_reading_a_study_does_not_import_the_users_code(tmp_path):
    path = saved(tmp_path, study_of((Net,), ("none",)))
    text = path.read_text()
    assert "own_classes:Net" in text
    path.write_text(text.replace("own_classes:Net", "no_such_module:Net"))
    (study,) = load_studies(tmp_path)
    assert study.trials[0].candidates[0].model.target == "no_such_module:Net"


def test_the_keys_are_those_that_were_stored(tmp_path, monkeypatch):
    """Another version of the training has other keys; a study of before still finds its runs."""
    study = study_of()
    saved(tmp_path, study)
    monkeypatch.setattr("ifmixup.training.run_spec.VERSION", 99)
    (again,) = load_studies(tmp_path)
    assert again.keys == study.keys
    assert study_of().keys != study.keys


def test_no_file_is_no_study(tmp_path):
    assert load_studies(tmp_path) == []
    assert load_studies(tmp_path / "nowhere") == []


def test_the_same_study_again_replaces_itself(tmp_path):
    for note in ("first", "second"):
        saved(tmp_path, study_of(notes=(note,)))
    (study,) = load_studies(tmp_path)
    assert study.notes == ("second",)


@pytest.mark.parametrize(
    "more",
    [
        {"methods": ("none", "ifmixup", "drop_edge")},
        {"models": ("gcn", "gin")},
        {"protocols": ("holdout", "paper")},
        {"grid": {"num_layers": [5, 3]}},
    ],
    ids=str,
)
def test_a_study_that_has_all_of_an_earlier_one_replaces_it(tmp_path, more):
    saved(tmp_path, study_of())
    larger = study_of(**more)
    saved(tmp_path, larger)
    assert load_studies(tmp_path) == [larger]
    saved(tmp_path, study_of())  # but what has less is a study of its own
    assert len(load_studies(tmp_path)) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"learning_rate": 0.5},
        {"methods": ("none", "drop_edge")},
        {"models": ("gin",)},
        {"protocols": ("paper",)},
        {"name": "another question"},
        {"folds": 3},
    ],
    ids=str,
)
def test_two_studies_stay_two(tmp_path, other):
    first, second = study_of(), study_of(**other)
    saved(tmp_path, first)
    saved(tmp_path, second)
    assert load_studies(tmp_path) == [first, second]
    saved(tmp_path, first)
    assert load_studies(tmp_path) == [second, first]


def test_paper_and_last_are_two_studies_of_the_same_runs(tmp_path):
    paper, last = (study_of(protocols=(name,)) for name in ("paper", "last"))
    saved(tmp_path, paper)
    saved(tmp_path, last)
    assert load_studies(tmp_path) == [paper, last]


def test_several_at_once(tmp_path):
    saved(tmp_path, study_of(name="a"), study_of(name="b"))
    assert [study.name for study in load_studies(tmp_path)] == ["a", "b"]


GOOD = study_of(folds=2).to_dict()


def changed(*path, to):
    values = copy.deepcopy(json.loads(json.dumps(GOOD)))
    inner = values
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return json.dumps({"format": 1, "studies": [values]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("\xff", "cannot be read"),
        ("[]", "not a study.json of ifmixup"),
        ('{"format": 2, "studies": []}', "a newer ifmixup wrote it .format 2.: upgrade"),
        ('{"format": "1", "studies": []}', "not a study.json of ifmixup"),
        ('{"format": 1}', "None is not a list"),
        ('{"format": 1, "studies": [5]}', "5 is not an object"),
        (changed("name", to=5), "name must be str; got 5"),
        (changed("metric", to="a/b"), "is not a name for a metric"),
        (changed("metric", to=["accuracy"] * 1000), "metric must be str"),
        (changed("more", to=1), "A study has"),
        (changed("config", to=[]), "is not an object"),
        (changed("notes", to=[1]), "notes must be str; got 1"),
        (changed("trials", to={}), "is not a list"),
        (changed("trials", 0, "name", to="gcn ifmixup"), "Two trials are called"),
        (changed("trials", 0, "protocol", to="papre"), "Did you mean 'paper'"),
        (changed("trials", 0, "against", to=3), "against must be str or None"),
        (changed("trials", 0, "seed", to=1.5), "seed must be int"),
        (changed("trials", 0, "test_ratio", to=-1), "not a number of test graphs"),
        (changed("trials", 0, "test_ratio", to="nan"), "not a number of test graphs"),
        (changed("trials", 0, "test_ratio", to=None), "is not a number"),
        (changed("trials", 0, "folds", to=[]), "has not one key per run"),
        (changed("trials", 0, "folds", 0, to=[0, 0]), "folds must be 3 values"),
        (changed("trials", 0, "folds", 0, to=[0, -1, "x"]), "are not all folds"),
        (changed("trials", 0, "keys", to=[["a"]]), "has not one key per run"),
        (changed("trials", 0, "keys", to=[[1, 2]]), "keys must be str; got 1"),
        (changed("trials", 0, "candidates", to=[]), "has not one key per run"),
        (changed("trials", 0, "candidates", 0, "settings", to={"epoch": 1}), "mean 'epochs'"),
        (changed("trials", 0, "candidates", 0, "settings", "epochs", to=0), "at least 1"),
        (changed("trials", 0, "candidates", 0, "model", to="gcn"), "is not an object"),
        (changed("trials", 0, "candidates", 0, "model", "options", to=5), "is not an object"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_and_left_alone(tmp_path, text, message):
    path = tmp_path / "study.json"
    path.write_text(text, encoding="latin-1")
    for use in (load_studies, lambda folder: save_studies(folder, [study_of()])):
        with pytest.raises(StoreError, match=message) as error:
            use(tmp_path)
        assert str(path) in str(error.value)
        assert "Move the file away" in str(error.value)
        assert len(str(error.value)) < 1000
    assert path.read_text(encoding="latin-1") == text


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    saved(tmp_path, study_of())
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(StoreError, match="too large"):
        load_studies(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        save_studies(tmp_path / "file" / "folder", [study_of()])


def test_a_study_is_plain_values():
    assert Study.of(json.loads(json.dumps(GOOD))) == study_of(folds=2)


GUESS = Baseline("majority class", "MUTAG", {"accuracy": ((0, 0, 0.5), (0, 1, float("nan")))}, 0.1)


def test_metrics_and_baselines_are_kept(tmp_path):
    study = replace(study_of(), metrics=("accuracy", "nll", "f1_macro"), baselines=(GUESS,))
    saved(tmp_path, study)
    (found,) = load_studies(tmp_path)
    assert (found.metric, found.metrics) == ("accuracy", ("accuracy", "nll", "f1_macro"))
    (guess,) = found.baselines
    assert (guess.name, guess.dataset, guess.seconds) == ("majority class", "MUTAG", 0.1)
    assert guess.scores("accuracy") == {(0, 0): 0.5}  # where it is defined
    assert guess.mean("accuracy") == 0.5
    assert guess.scores("mcc") == {}


def test_the_metric_that_decides_comes_first():
    assert study_of(metric="mae").metrics == ("mae",)
    assert replace(study_of(), metrics=("nll", "accuracy")).metrics == ("accuracy", "nll")


def test_a_study_of_before_there_were_metrics_and_baselines_is_read(tmp_path):
    path = saved(tmp_path, study_of())
    content = json.loads(path.read_text())
    for name in ("metrics", "baselines"):
        del content["studies"][0][name]
    path.write_text(json.dumps(content))
    assert load_studies(tmp_path) == [study_of()]
    assert load_studies(tmp_path)[0].metrics == ("accuracy",)


def test_the_best_baseline_is_the_best_by_the_metric():
    other = Baseline("mean", "MUTAG", {"accuracy": ((0, 0, 0.6),), "mae": ((0, 0, 2.0),)})
    less = Baseline("forest", "MUTAG", {"mae": ((0, 0, 1.0),)})
    several = (GUESS, other, less)
    assert best_baseline(several, "MUTAG", "accuracy", True) is other
    assert best_baseline(several, "MUTAG", "mae", False) is less
    assert best_baseline(several, "NCI1", "mae", False) is None


@pytest.mark.parametrize(
    "values",
    [{"accuracy": [[0, 0]]}, {"accuracy": [[0, 0, "high"]]}, {"accuracy": 3}, {"a": [[0, 0.5, 1]]}],
)
def test_a_baseline_of_an_untrusted_file_is_checked(values):
    with pytest.raises(InputError):
        Baseline.of({**GUESS.to_dict(), "values": values})


def test_a_study_of_before_margins_and_origins_is_read():
    values = json.loads(json.dumps(study_of().to_dict()))
    for name in ("metrics", "baselines", "margin", "origins"):
        del values[name]
    found = Study.of(values)
    assert (found.margin, found.origins, found.baselines) == (1.0, {}, ())
    assert found == study_of()


@pytest.mark.parametrize("margin", [-1.0, float("nan"), float("inf")])
def test_a_margin_that_is_none(margin):
    with pytest.raises(InputError, match="The margin must be a number of at least 0"):
        replace(study_of(), margin=margin)
