import contextlib
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
import torch
from torch import nn

import ifmixup
from engine_here import Here
from ifmixup import augment
from ifmixup.augment import Method
from ifmixup.components import MODELS
from ifmixup.data import NAMES, GraphDataset, load
from ifmixup.errors import IfmixupError, InputError, StoreError
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies
from ifmixup.training.packed import pack
from ifmixup.training.settings import Settings
from own_classes import Net, Noise
from stored_runs import child
from task_graphs import with_labels, with_values

SMALL = {"hidden_channels": 4, "num_layers": 1}
FEW = {"epochs": 2, "folds": 3, "progress": False}
TINY = {**SMALL, **FEW}


def test_from_python(tmp_path):
    found = ifmixup.compare("MUTAG", models=("gcn", "gin"), folder=tmp_path, engine=Here(), **TINY)
    assert isinstance(found, ifmixup.Comparison)
    assert len(found.runs) == 12
    assert [row.trial.name for row in found.rows] == [
        "gcn none", "gcn ifmixup", "gin none", "gin ifmixup",
    ]  # fmt: skip
    assert "ifmixup" in found.table()
    assert len(found.verdict().splitlines()) == 3  # two methods, and the two models
    (study,) = load_studies(tmp_path)
    assert study == found.study
    assert study.keys == {record.key for record in found.runs}


def test_graphs_of_ones_own_and_other_folds_from_a_file(tmp_path):
    graphs = list(load("MUTAG"))
    first = ifmixup.compare(graphs, folder=tmp_path / "a", engine=Here(), seed=3, **TINY)
    (splits,) = (tmp_path / "a").glob("splits-*.json")
    again = ifmixup.compare(
        graphs, folder=tmp_path / "b", engine=Here(), split=splits, **{**TINY, "seed": 3}
    )
    assert [record.result.curves for record in first.runs] == [
        record.result.curves for record in again.runs
    ]


@pytest.mark.parametrize(
    ("graphs", "metric", "said"),
    [(with_labels, "roc_auc", "ROC-AUC in %"), (with_values, "mae", "MAE in the units")],
)
def test_labels_and_values_with_every_method(tmp_path, graphs, metric, said):
    methods = [name for name in augment.names() if name != "g_mixup"]  # which needs classes
    found = ifmixup.compare(
        graphs(30),
        methods=methods,
        protocols=("holdout", "paper"),
        folder=tmp_path,
        engine=Here(),
        **{**TINY, "folds": 2},
    )
    count = len(methods)
    assert found.failed == []
    assert [row.metric for row in found.rows] == [metric] * 2 * count
    assert all(row.reading.runs == 2 and row.reading.mean > 0 for row in found.rows)
    assert said in found.table()
    *lines, note = found.verdict().splitlines()
    assert len(lines) == 2 * (count - 1)
    assert note.startswith("1 of the 3 features is continuous")


def test_a_dataset_with_a_split_of_its_own(tmp_path):
    split = {"train": torch.arange(20), "validation": torch.arange(20, 25)}
    own = GraphDataset.of("own", with_values(30), split={**split, "test": torch.arange(25, 30)})
    own.task, own.metric = "values", "mae"
    engine = Here()
    found = ifmixup.compare(own, folder=tmp_path, engine=engine, repeats=2, **TINY)
    assert [(spec.repeat, spec.fold) for spec in engine.ran] == [(0, 0), (0, 0), (1, 0), (1, 0)]
    assert "2 runs of one fold" in found.verdict()
    once = ifmixup.compare(own, folder=tmp_path, engine=engine, **TINY).verdict()
    assert "too few runs" in once
    assert "p = unknown, 1 runs of one fold" in once
    assert "One fold has no spread" in once
    assert len(engine.ran) == 4  # they were there


def test_only_what_is_missing_is_run(tmp_path):
    engine = Here()
    for methods in (("none",), ("none", "ifmixup"), ("none", "ifmixup")):
        ifmixup.compare("MUTAG", methods=methods, folder=tmp_path, engine=engine, **TINY)
    assert [spec.method.name for spec in engine.ran] == ["none"] * 3 + ["ifmixup"] * 3
    assert len(load_studies(tmp_path)) == 1


def test_protocols_share_runs_and_a_grid_is_chosen_from(tmp_path):
    engine = Here()
    found = ifmixup.compare(
        "MUTAG",
        protocols=("holdout", "paper", "last"),
        grid={"dropout": [0.0, 0.5]},
        folder=tmp_path,
        engine=engine,
        **TINY,
    )
    assert len(engine.ran) == 2 * 2 * 2 * 3  # holdout has its own runs, paper and last share theirs
    assert [(row.trial.protocol, row.reading.optimistic) for row in found.rows] == [
        ("holdout", False), ("holdout", False), ("paper", True), ("paper", True),
        ("last", True), ("last", True),
    ]  # fmt: skip


def test_a_search_runs_less_than_the_grid(tmp_path):
    engine = Here()
    grid = {"dropout": [0.0, 0.25, 0.5], "learning_rate": [0.001, 0.01, 0.1]}
    options = {**TINY, "folds": 5, "epochs": 12, "grid": grid, "search": "halving"}
    found = ifmixup.compare("MUTAG", methods="none", folder=tmp_path, engine=engine, **options)
    trained = sum(spec.settings.epochs for spec in engine.ran)
    assert trained < 9 * 5 * 12
    assert found.rows[0].reading.runs == len(found.runs) < 9 * 5
    assert "a little optimistic" in found.verdict()
    assert load_studies(tmp_path) == [found.study]


def test_failed_runs_do_not_stop_the_others(tmp_path):
    engine = Here(fail=lambda spec: spec.fold == 0 and spec.method.name == "ifmixup")
    found = ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, **TINY)
    assert len(found.runs) == 6
    assert [record.error for record in found.failed] == ["TrainingError: no"]
    again = ifmixup.compare("MUTAG", folder=tmp_path, engine=Here(), retry_failed=True, **TINY)
    assert again.failed == []


def test_the_study_is_written_before_the_runs(tmp_path):
    class Stopped(Here):
        def execute(self, tasks, data, watcher=None):
            self.studies = load_studies(tmp_path)
            yield from super().execute(tasks[:2], data, watcher)
            raise KeyboardInterrupt

    engine = Stopped()
    with pytest.raises(KeyboardInterrupt):
        ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, **TINY)
    (study,) = engine.studies
    assert len(study.keys) == 6
    with Store(tmp_path) as store:
        assert len(store.keys() & study.keys) == 2
    found = ifmixup.compare("MUTAG", folder=tmp_path, engine=Here(), **TINY)
    assert found.study == study
    assert load_studies(tmp_path) == [study]


def test_two_studies_in_one_folder_stay_two(tmp_path):
    engine = Here()
    for rate in (0.01, 0.0005):
        ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, learning_rate=rate, **TINY)
    one, two = load_studies(tmp_path)
    assert not one.keys & two.keys
    assert len(engine.ran) == 12


def test_what_made_the_study_is_kept_with_it(tmp_path):
    ifmixup.compare("MUTAG", folder=tmp_path, engine=Here(), config={"epochs": 2}, **TINY)
    assert load_studies(tmp_path)[0].config == {"epochs": 2}


def test_a_full_disk_stops_the_study_and_it_goes_on_when_there_is_space(small_disk):
    folder, engine = small_disk / "study", Here()
    ifmixup.compare("MUTAG", methods=("none",), folder=folder, engine=engine, **TINY)
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(StoreError, match=r"disk is full|No space left"):
        ifmixup.compare("MUTAG", folder=folder, engine=engine, **TINY)
    ballast.unlink()
    found = ifmixup.compare("MUTAG", folder=folder, engine=engine, **TINY)
    assert len(found.runs) == 6
    assert [spec.method.name for spec in engine.ran].count("none") == 3


class Broken(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return super().forward(x, edge_index, edge_weight, batch).t()


class Deaf(Net):
    """Does not read edge weights."""

    def forward(self, x, edge_index, edge_weight, batch):
        return super().forward(x, edge_index, None, batch)


class Needs(Net):
    def __init__(self, in_channels, out_channels, width: int):
        super().__init__(in_channels, out_channels, width)


class OldStyle(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ("gcm",)}, "Unknown model 'gcm'"),
        ({"models": (OldStyle,)}, r"OldStyle.* no in_channels"),
        ({"models": (Noise,)}, "Noise is not a model"),
        ({"models": (Net(3, 2),)}, "a class"),
        ({"models": ("no_such_file.py:Net",)}, r"no_such_file.py"),
        ({"models": (Net, ifmixup.with_options(Net, width=3))}, "Two models are called 'Net'"),
        ({"models": (Broken,)}, r"Broken.forward returns shape \[2, 2\]|Broken"),
        ({"models": (Deaf,)}, "The model ignores edge_weight.*half of the method is lost"),
        ({"models": (Needs,)}, "needs the option 'width'"),
        ({"models": (Net,), "widht": 3}, "Did you mean 'width'"),
        ({"models": (Net,), "width": "wide"}, "width of Net must be int; got 'wide'"),
        ({"models": (Net,), "methods": ("none", "mixup_graph")}, "MixupGraph needs a model with"),
        ({"methods": ("ifmixpu",)}, r"Unknown method 'ifmixpu'. Did you mean 'ifmixup'"),
        ({"methods": (Net,)}, "Net is not a method"),
        ({"methods": ("ifmixup(alpa=1)",)}, "Did you mean 'alpha'"),
        ({"methods": ("ifmixup(alpha=-1)",)}, "alpha"),
        ({"protocols": ("papers",)}, r"Unknown protocol 'papers'. Did you mean 'paper'"),
        ({"search": "halve"}, "Unknown search 'halve'"),
        ({"search": "halving"}, "A search needs a grid"),
        ({"epoch": 3}, r"'epoch'. Did you mean 'epochs'"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"workers": 2}, "either engine or workers"),
        ({"use_edge_attr": True}, "does not read edge attributes"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_said_before_the_first_run(tmp_path, options, message):
    engine = Here()
    with pytest.raises(IfmixupError, match=message):
        ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, **{**FEW, **options})
    assert engine.ran == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_study_stays_as_it_was(tmp_path):
    ifmixup.compare("MUTAG", methods="none", folder=tmp_path, engine=Here(), **TINY)
    studies = (tmp_path / "study.json").read_text()
    engine = Here()
    with pytest.raises(IfmixupError, match="ignores edge_weight"):
        ifmixup.compare("MUTAG", ("gcn", Deaf), folder=tmp_path, engine=engine, **TINY)
    assert engine.ran == []
    assert (tmp_path / "study.json").read_text() == studies
    with Store(tmp_path) as store:
        assert len(store.keys()) == 3


def test_a_transposed_output_of_as_many_classes_as_graphs(tmp_path):
    """[2, 2] is the right shape by accident: the training step finds it out."""
    with pytest.raises(IfmixupError, match="Broken"):
        ifmixup.compare("MUTAG", models=Broken, folder=tmp_path, engine=Here(), **FEW)


GRID = {"width": [3, 4], "std": [0.1, 0.5], "alpha,beta": [[1, 1], [20, 1]]}


def test_classes_of_ones_own_beside_ours_with_a_grid_over_their_options(tmp_path):
    engine = Here()
    found = ifmixup.compare(
        "MUTAG",
        models=("gin", Net),
        methods=("none", "ifmixup", Noise),
        grid=GRID,
        folder=tmp_path,
        engine=engine,
        **{**TINY, "folds": 2},
    )
    by_trial = {trial.name: len(trial.candidates) for trial in found.study.trials}
    assert by_trial == {
        "gin none": 1, "gin ifmixup": 2, "gin Noise": 2,
        "Net none": 2, "Net ifmixup": 4, "Net Noise": 4,
    }  # fmt: skip
    assert found.failed == []
    assert len(engine.ran) == 2 * 15
    assert "Net Noise on MUTAG (holdout)" in found.verdict()
    assert "Difference to Net none" in found.verdict()
    # a width of 3 and one of 4 are different runs, under one name
    assert {dict(run.model.options)["width"] for run in engine.ran if run.model.name == "Net"} == {
        3,
        4,
    }


def test_variants_of_one_class(tmp_path):
    engine = Here()
    found = ifmixup.compare(
        "MUTAG",
        models=(ifmixup.with_options("gin", name="deep", num_layers=3), "gin"),
        methods=("none", ifmixup.with_options("ifmixup", name="wide", alpha=1), "ifmixup"),
        folder=tmp_path,
        engine=engine,
        alpha=2.0,
        **{**TINY, "folds": 2},
    )
    assert [row.trial.name for row in found.rows] == [
        "deep none", "deep wide", "deep ifmixup", "gin none", "gin wide", "gin ifmixup",
    ]  # fmt: skip
    deep, gin = found.study.trials[1], found.study.trials[5]
    # what a variant was given it keeps; the others get what was given for all
    assert dict(deep.candidates[0].model.options)["num_layers"] == 3
    assert dict(deep.candidates[0].method.options)["alpha"] == 1.0
    assert dict(gin.candidates[0].model.options)["num_layers"] == 1
    assert dict(gin.candidates[0].method.options)["alpha"] == 2.0
    assert len(engine.ran) == 12


def test_a_variant_keeps_its_options_where_others_choose_from_a_grid(tmp_path):
    found = ifmixup.compare(
        "MUTAG",
        models="gin",
        methods=("ifmixup", ifmixup.with_options("ifmixup", name="wide", alpha=1, beta=1)),
        grid={"alpha, beta": [[2, 2], [20, 1]], "dropout": [0.0, 0.1]},
        folder=tmp_path,
        engine=Here(),
        **{**TINY, "folds": 2, "epochs": 1},
    )
    chosen = [
        [dict(each.method.options)["alpha"] for each in trial.candidates]
        for trial in found.study.trials
    ]
    assert chosen == [[2.0, 2.0, 20.0, 20.0], [1.0, 1.0]]


NETS = """
    import torch
    from torch_geometric.nn import GraphConv, global_mean_pool

    class Net(torch.nn.Module):
        # a comment
        def __init__(self, in_channels, out_channels, width: int = 4):
            super().__init__()
            self.conv = GraphConv(in_channels, width)
            self.head = torch.nn.Linear(width, out_channels)

        def forward(self, x, edge_index, edge_weight, batch):
            return self.head(global_mean_pool(self.conv(x, edge_index, edge_weight), batch))
"""


def test_editing_the_code_makes_new_runs_and_says_so(tmp_path):
    """In a process of its own each time, as a user would: a module is loaded once per process."""
    path, folder = tmp_path / "nets.py", tmp_path / "runs"

    def compared(text):
        path.write_text(textwrap.dedent(text))

        def work():
            engine = Here()
            found = ifmixup.compare(
                "MUTAG",
                models=f"{path}:Net",
                methods=("none", "ifmixup"),
                folder=folder,
                engine=engine,
                **{**FEW, "folds": 2},
            )
            told = {"ran": len(engine.ran), "said": found.verdict(), "failed": len(found.failed)}
            (tmp_path / "told").write_text(json.dumps(told))

        with child(work):
            pass
        return json.loads((tmp_path / "told").read_text())

    first = compared(NETS)
    assert (first["ran"], first["failed"]) == (4, 0)
    assert "changed" not in first["said"]
    again = compared(NETS.replace("# a comment", '"""Or a docstring."""\n'))
    assert again["ran"] == 0
    assert "changed" not in again["said"]
    edited = compared(NETS.replace("self.conv(x, ", "self.conv(2 * x, "))
    assert edited["ran"] == 4
    assert "Net changed: 4 stored runs were made by older code." in edited["said"]
    back = compared(NETS)
    assert back["ran"] == 0  # the old runs have stayed
    assert "Net changed: 4 stored runs were made by older code." in back["said"]
    # the study of the older code is kept beside that of the new one
    assert len(load_studies(folder)) == 2


MAIN = """
    import sys
    from dataclasses import replace
    import torch
    from torch_geometric.nn import GraphConv, global_mean_pool
    import ifmixup
    from ifmixup.augment import Method
    from beside import SCALE

    def pooled(x, batch):
        return global_mean_pool(SCALE * x, batch)

    class Net(torch.nn.Module):
        def __init__(self, in_channels, out_channels, width: int = 4):
            super().__init__()
            self.conv = GraphConv(in_channels, width)
            self.head = torch.nn.Linear(width, out_channels)

        def forward(self, x, edge_index, edge_weight, batch):
            return self.head(pooled(self.conv(x, edge_index, edge_weight), batch))

    class Noise(Method):
        def __init__(self, num_classes=None, *, std: float = 0.1, generator=None):
            super().__init__(num_classes, generator=generator)
            self.std = std

        def draw(self, graphs):
            return torch.randn(graphs.nodes["x"].shape, generator=self.generator)

        def change(self, graphs, plan):
            return replace(graphs, nodes={**graphs.nodes, "x": graphs.nodes["x"] + plan})

    # no guard: workers do not import the script again
    found = ifmixup.compare("MUTAG", models=[Net], methods=["none", Noise], folds=2, epochs=1,
                            workers=1, folder=sys.argv[1], progress=False)
    print(len(found.runs), len(found.failed), [row.trial.name for row in found.rows])
"""


def test_classes_of_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(MAIN))
    (tmp_path / "beside.py").write_text("SCALE = 2.0\n")
    command = [sys.executable, str(script), str(tmp_path / "runs")]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout == "4 0 ['Net none', 'Net Noise']\n", found.stderr
    (study,) = load_studies(tmp_path / "runs")
    assert study.trials[0].candidates[0].model.class_name == "Net"


class Peeping(Method):
    """Would gain by looking at graphs that it is not given."""

    def fit(self, graphs, *, seed):
        self.allowed = set(graphs.index.tolist())

    def draw(self, graphs):
        assert set(graphs.index.tolist()) <= self.allowed
        return None

    def change(self, graphs, plan):
        return graphs


def test_each_fold_fits_its_own_training_graphs(tmp_path):
    found = ifmixup.compare(
        "MUTAG", methods=("none", Peeping), folder=tmp_path, engine=Here(), **TINY
    )
    assert found.failed == []
    assert found.rows[1].difference.mean == 0  # it changes nothing


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
        settings=Settings(epochs=15),
        hidden_channels=16,
        num_layers=3,
    )
    majority = data.y.double().mean().item()
    majority = max(majority, 1 - majority)
    for row in found.rows:
        assert len(row.reading.scores) == 10
        standard_error = row.reading.std_over_folds / 10**0.5
        assert row.reading.mean <= majority + 2 * standard_error


@pytest.mark.parametrize("name", NAMES)
def test_every_model_with_every_method_on_every_dataset(tmp_path, name):
    if name != "MUTAG" and not os.environ.get("IFMIXUP_DATA"):
        pytest.skip(f"{name} is not bundled: point IFMIXUP_DATA at a folder of TU zips")
    graphs = load(name)
    found = ifmixup.compare(
        graphs[:: max(1, len(graphs) // 150)],
        models=MODELS.names(),
        methods="all",
        folds=2,
        folder=tmp_path,
        engine=LocalEngine(1),
        progress=False,
        settings=Settings(epochs=1, batch_size=128),
        hidden_channels=16,
        num_layers=2,
        matcher_channels=4,
        matcher_layers=1,
        matcher_epochs=1,
    )
    assert found.failed == []
    assert len(found.rows) == len(MODELS.names()) * len(augment.names())
    assert all((row.reading.runs, row.failed) == (2, 0) for row in found.rows)


def test_the_name_of_a_dataset_does_not_lead_out_of_the_folder(tmp_path, monkeypatch):
    (tmp_path / "here" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "deeper")
    data = replace(pack(load("MUTAG")), name="../../evil")
    found = ifmixup.compare(data, methods=("none",), engine=Here(), **TINY)
    assert found.folder.parts == ("ifmixup-runs", "_.._evil")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_one_split_does_not_tell_of_other_graphs(tmp_path):
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
    with pytest.raises(InputError, match="have the same class"):
        ifmixup.compare(alike, folder=tmp_path)


RINGS = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccc2ccccc2c1", "C1CCCC1", "c1ccoc1", "c1ccsc1")


@pytest.fixture
def table(tmp_path):
    """Four molecules of each of seven scaffolds, with a column of parts and one of groups."""
    rows = []
    for number, ring in enumerate(RINGS):
        for i, rest in enumerate(("C", "O", "N", "CC")):
            part = "test" if number > 4 else "val" if number > 3 else "train"
            rows.append(f"{rest}{ring},{(number + i) % 2},{part},lab{number}")
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(["mol,active,split,lab", *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("split", "runs", "said"),
    [
        ("column:split", 5, "All runs share one split of the graphs: intervals and p-values show"),
        ("group:lab", 5 * 3, ""),
        ("scaffold", 5 * 3, ""),
        ({"train": [0, 1, 2, 3], "val": [4, 5], "test": [6, 7]}, 5, "All runs share one split"),
    ],
)
def test_splits_of_a_table_of_molecules(tmp_path, table, split, runs, said):
    engine = Here()
    found = ifmixup.compare(
        table,
        methods="none",
        smiles="mol",
        label="active",
        split=split,
        repeats=5,
        folder=tmp_path / "out",
        engine=engine,
        **TINY,
    )
    assert len(engine.ran) == runs
    assert said in found.verdict()
    assert found.rows[0].reading.runs == runs
    assert len({spec.run_seed for spec in engine.ran}) == runs


def test_whole_numbers_that_are_taken_as_classes_are_said(tmp_path):
    path = tmp_path / "rings.csv"
    rows = [f"{'C' * (1 + i % 5)}{ring},{i % 3}" for i, ring in enumerate(RINGS * 3)]
    path.write_text("\n".join(["smiles,rings", *rows]) + "\n")
    options = {"methods": "none", "folder": tmp_path / "out", "engine": Here(), **TINY}
    said = "The 3 whole numbers of the target are taken as classes. To predict the number: --task"
    assert said in ifmixup.compare(str(path), label="rings", **options).verdict()


def test_workers_and_a_dataset_that_was_loaded(tmp_path, table):
    options = {"methods": "none", "folder": tmp_path / "out", "workers": 1, **TINY, "epochs": 1}
    loaded = load(table, smiles="mol", label="active", columns="split")
    found = ifmixup.compare(loaded, split="column:split", **options)
    assert len(found.runs) == 1
    with pytest.raises(InputError, match=r"loaded without its column 'lab'.*columns=\['lab'\]"):
        ifmixup.compare(loaded, split="group:lab", **options)


def test_a_dry_run_in_python(tmp_path, capsys):
    found = ifmixup.compare("MUTAG", folder=tmp_path / "out", dry_run=True, **TINY)
    assert "6 runs to do; about" in capsys.readouterr().out
    assert found.runs == []
    assert not (tmp_path / "out").exists()


def test_a_time_limit_in_python(tmp_path):
    engine = Here()
    found = ifmixup.compare("MUTAG", folder=tmp_path, engine=engine, time_limit="1h", **TINY)
    assert [spec.fold for spec in engine.ran] == [0, 0, 1, 1, 2, 2]
    assert found.study.notes == ()
    with pytest.raises(InputError, match="needs search='grid'"):
        ifmixup.compare(
            "MUTAG", folder=tmp_path, time_limit=60, grid={"dropout": [0.1]}, search="halving"
        )


def test_leaks_are_a_note_of_the_study(tmp_path):
    graphs = with_labels(20)
    found = ifmixup.compare(
        [*graphs, *graphs], methods="none", folder=tmp_path, engine=Here(), **TINY
    )
    (note,) = [note for note in found.study.notes if note.startswith("Leak: ")]
    assert "of 40 test graphs" in note
    assert note in found.verdict()


def test_a_fold_is_fitted_once_for_all_models_and_the_table_says_how_long(tmp_path, monkeypatch):
    monkeypatch.setenv("IFMIXUP_CACHE", str(tmp_path / "cache"))
    small = {"matcher_channels": 4, "matcher_layers": 1, "matcher_epochs": 1}
    models, methods = ["gcn", "gin"], ["none", "s_mixup"]
    how = {"folder": tmp_path / "study", "engine": Here(), **small, **TINY}
    found = ifmixup.compare("MUTAG", models, methods, **{**how, "epochs": 1, "folds": 2})
    assert not found.failed
    assert len(list((tmp_path / "cache").iterdir())) == 2  # one per fold
    none, fitted = found.rows[0], found.rows[1]
    assert none.fit_seconds is None
    assert none.figures()["fit_seconds"] is None
    assert found.rows[3].fit_seconds == pytest.approx(fitted.fit_seconds, rel=0.5)
    told = f"{max(row.fit_seconds or 0 for row in found.rows):.2g} s"
    assert f"Time to fit on the training graphs of a fold: s_mixup {told}." in found.table()
    assert "fit per fold" in found.table("markdown")
    again = ifmixup.compare("MUTAG", models, methods, **{**how, "epochs": 1, "folds": 2})
    assert [row.fit_seconds for row in again.rows] == [row.fit_seconds for row in found.rows]


def test_all_leaves_out_what_does_not_work(tmp_path):
    """A model without encode and embed, and graphs without classes."""
    tiny = {"matcher_channels": 4, "matcher_layers": 1, "matcher_epochs": 1}
    how = {"engine": Here(), **tiny, **FEW, "epochs": 1, "folds": 2}
    found = ifmixup.compare("MUTAG", [Net], "all", folder=tmp_path / "net", **how)
    assert not found.failed
    left = {"manifold_mixup", "mixup_graph", "graph_transplant"}
    methods = {row.trial.method for row in found.rows}
    assert methods == {*augment.names()} - left
    for name in left:
        assert f"{name} is skipped for Net: " in found.verdict()
    assert "Net has no encode" in found.verdict()

    values = with_values(12)
    own = {"folder": tmp_path / "values", **SMALL}
    found = ifmixup.compare(values, ["gcn"], ["all"], **own, **how)
    assert {row.trial.method for row in found.rows} == {*augment.names()} - {"g_mixup"}
    assert "g_mixup is skipped for gcn: " in found.verdict()
    with pytest.raises(IfmixupError, match="Net has no"):  # asked for by name
        ifmixup.compare("MUTAG", [Net], ["all", "mixup_graph"], folder=tmp_path / "c", **how)
