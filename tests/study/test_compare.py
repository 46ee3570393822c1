import contextlib
import os
from dataclasses import replace

import pytest
import torch

import ifmixup
from engine_here import Here
from ifmixup import augment
from ifmixup.data import NAMES, GraphDataset, load
from ifmixup.errors import InputError, StoreError
from ifmixup.nn import MODELS
from ifmixup.study.engines.local import LocalEngine
from ifmixup.training import Settings, pack
from task_graphs import with_labels, with_values

TINY = {"epochs": 2, "hidden": 4, "layers": 1, "folds": 3, "progress": False}


def test_from_python(tmp_path):
    found = ifmixup.compare("MUTAG", models=("gcn", "gin"), folder=tmp_path, engine=Here(), **TINY)
    assert isinstance(found, ifmixup.Comparison)
    assert len(found.runs) == 12
    assert [(row.model, row.method) for row in found.rows()] == [
        ("gcn", "none"), ("gcn", "ifmixup"), ("gin", "none"), ("gin", "ifmixup"),
    ]  # fmt: skip
    assert "ifmixup" in found.table()
    assert len(found.verdict().splitlines()) == 2


def test_graphs_of_ones_own_and_other_folds_from_a_file(tmp_path):
    graphs = list(load("MUTAG"))
    first = ifmixup.compare(graphs, folder=tmp_path / "a", engine=Here(), seed=3, **TINY)
    (splits,) = (tmp_path / "a").glob("splits-*.json")
    again = ifmixup.compare(
        graphs, folder=tmp_path / "b", engine=Here(), splits=splits, **{**TINY, "seed": 3}
    )
    assert [record.result.curves for record in first.runs] == [
        record.result.curves for record in again.runs
    ]


@pytest.mark.parametrize(
    ("graphs", "metric", "said"),
    [(with_labels, "roc_auc", "ROC-AUC in %"), (with_values, "mae", "MAE in the units")],
)
def test_labels_and_values_with_every_method(tmp_path, graphs, metric, said):
    found = ifmixup.compare(
        graphs(30),
        methods=augment.names(),
        protocols=("holdout", "paper"),
        folder=tmp_path,
        engine=Here(),
        **{**TINY, "folds": 2},
    )
    assert found.failed == []
    assert [row.metric for row in found.rows()] == [metric] * 12
    assert all(row.runs == 2 and row.mean > 0 for row in found.rows())
    assert said in found.table()
    *lines, note = found.verdict().splitlines()
    assert len(lines) == 10
    assert note.startswith("1 of the 3 features are continuous")


def test_a_dataset_with_a_split_of_its_own(tmp_path):
    split = {"train": torch.arange(20), "validation": torch.arange(20, 25)}
    own = GraphDataset.of("own", with_values(30), split={**split, "test": torch.arange(25, 30)})
    own.task, own.metric = "values", "mae"
    engine = Here()
    found = ifmixup.compare(own, folder=tmp_path, engine=engine, repeats=2, **TINY)
    assert [(spec.repeat, spec.fold) for spec in engine.ran] == [(0, 0), (0, 0), (1, 0), (1, 0)]
    assert found.study.splits.fold(1, 0).test.tolist() == list(range(25, 30))
    assert "2 runs of one fold" in found.verdict()
    once = ifmixup.compare(own, folder=tmp_path, engine=engine, **TINY).verdict()
    assert "not enough runs to say" in once
    assert "p = unknown, 1 runs of one fold" in once
    assert "One fold shows no spread" in once
    assert len(engine.ran) == 4  # they were there


def test_only_what_is_missing_is_run(tmp_path):
    engine = Here()
    for methods in (("none",), ("none", "ifmixup"), ("none", "ifmixup")):
        ifmixup.compare("MUTAG", methods=methods, folder=tmp_path, engine=engine, **TINY)
    assert [spec.settings.method for spec in engine.ran] == ["none"] * 3 + ["ifmixup"] * 3


def test_protocols_have_their_own_runs_and_a_grid_is_chosen_from(tmp_path):
    engine = Here()
    found = ifmixup.compare(
        "MUTAG",
        protocols=("holdout", "paper"),
        grid={"dropout": [0.0, 0.5]},
        folder=tmp_path,
        engine=engine,
        **TINY,
    )
    assert len(engine.ran) == 2 * 2 * 2 * 3
    assert [(row.protocol, row.optimistic) for row in found.rows()] == [
        ("holdout", False), ("holdout", False), ("paper", True), ("paper", True),
    ]  # fmt: skip


def test_a_search_runs_less_than_the_grid(tmp_path):
    engine = Here()
    grid = {"dropout": [0.0, 0.25, 0.5], "learning_rate": [0.001, 0.01, 0.1]}
    options = {**TINY, "folds": 5, "epochs": 12}
    found = ifmixup.compare(
        "MUTAG",
        methods=("none",),
        grid=grid,
        search="halving",
        folder=tmp_path,
        engine=engine,
        **options,
    )
    trained = sum(spec.settings.epochs for spec in engine.ran)
    assert trained < 9 * 5 * 12
    assert found.rows()[0].runs == len(found.runs) < 9 * 5


def test_failed_runs_do_not_stop_the_others(tmp_path):
    engine = Here(fail=lambda spec: spec.fold == 0 and spec.settings.method == "ifmixup")
    found = ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, **TINY)
    assert len(found.runs) == 6
    assert [record.error for record in found.failed] == ["TrainingError: no"]
    again = ifmixup.compare("MUTAG", folder=tmp_path, engine=Here(), retry_failed=True, **TINY)
    assert again.failed == []


def test_a_full_disk_stops_the_study_and_it_goes_on_when_there_is_space(small_disk):
    folder, engine = small_disk / "study", Here()
    ifmixup.compare("MUTAG", methods=("none",), folder=folder, engine=engine, **TINY)
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(StoreError, match="disk is full"):
        ifmixup.compare("MUTAG", folder=folder, engine=engine, **TINY)
    ballast.unlink()
    found = ifmixup.compare("MUTAG", folder=folder, engine=engine, **TINY)
    assert len(found.runs) == 6
    assert [spec.settings.method for spec in engine.ran].count("none") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ("gcm",)}, "Unknown model 'gcm'"),
        ({"methods": ("ifmixpu",)}, r"Unknown method 'ifmixpu'. Did you mean 'ifmixup'"),
        ({"protocols": ("papers",)}, r"Unknown protocol 'papers'. Did you mean 'paper'"),
        ({"search": "halve"}, "Unknown search 'halve'"),
        ({"search": "halving"}, "A search needs a grid"),
        ({"epoch": 3}, r"Unknown setting 'epoch'. Did you mean 'epochs'"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_runs(tmp_path, options, message):
    engine = Here()
    with pytest.raises(InputError, match=message):
        ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, **{**TINY, **options})
    assert engine.ran == []


def test_labels_at_random_give_no_more_than_the_majority_class(tmp_path):
    """A leak from the test folds would show here."""
    data = pack(load("MUTAG"))
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))
    shuffled = replace(
        data,
        name="shuffled",
        fingerprint="shuffled",
        graphs=replace(data.graphs, graphs={"y": data.y[order]}),
    )
    found = ifmixup.compare(
        shuffled,
        models=("gin",),
        folder=tmp_path,
        engine=Here(),
        progress=False,
        settings=Settings(epochs=25, hidden=16, layers=3),
    )
    majority = data.y.double().mean().item()
    majority = max(majority, 1 - majority)
    for reading in found.readings().values():
        assert len(reading.scores) == 10
        standard_error = reading.std_over_folds / 10**0.5
        assert reading.mean <= majority + 2 * standard_error


@pytest.mark.parametrize("name", NAMES)
def test_every_model_with_every_method_on_every_dataset(tmp_path, name):
    if name != "MUTAG" and not os.environ.get("IFMIXUP_DATA"):
        pytest.skip(f"{name} is not bundled: point IFMIXUP_DATA at a folder of TU zips")
    found = ifmixup.compare(
        name,
        models=list(MODELS),
        methods=augment.names(),
        folds=2,
        folder=tmp_path,
        engine=LocalEngine(1),
        progress=False,
        settings=Settings(epochs=1, hidden=16, layers=2, batch_size=128),
    )
    assert found.failed == []
    assert len(found.rows()) == 4 * 6
    assert all((row.runs, row.failed) == (2, 0) for row in found.rows())


def test_the_name_of_a_dataset_does_not_lead_out_of_the_folder(tmp_path, monkeypatch):
    (tmp_path / "here" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "deeper")
    data = replace(pack(load("MUTAG")), name="../../evil")
    found = ifmixup.compare(data, methods=("none",), engine=Here(), **TINY)
    assert found.folder.parts == ("ifmixup-runs", "_.._evil")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_one_split_says_nothing_of_other_graphs(tmp_path):
    split = {"train": torch.arange(100), "validation": torch.arange(100, 140)}
    data = replace(pack(load("MUTAG")), split={**split, "test": torch.arange(140, 188)})
    found = ifmixup.compare(
        data,
        folder=tmp_path,
        engine=Here(),
        repeats=2,
        grid={"dropout": [0.0, 0.1, 0.2, 0.5]},
        search="halving",
        **{**TINY, "epochs": 30},
    )
    assert "All runs share one split of the graphs" in found.verdict()
    assert "other folds" not in found.verdict()


@pytest.mark.parametrize("what", ["models", "methods", "protocols"])
def test_nothing_to_compare_is_an_error(tmp_path, what):
    with pytest.raises(InputError, match=f"at least one of {what}"):
        ifmixup.compare("MUTAG", **{what: []}, folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_one_class_is_nothing_to_learn(tmp_path):
    alike = [graph for graph in load("MUTAG") if int(graph.y) == 0]
    with pytest.raises(InputError, match="of one class"):
        ifmixup.compare(alike, folder=tmp_path)
