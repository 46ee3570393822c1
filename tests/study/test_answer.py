"""The answer in plain words: every sentence, by a study that calls for it."""

import random
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import ifmixup
from engine_here import Here
from ifmixup.data import load
from ifmixup.data.dataset import GraphDataset
from ifmixup.study.answer import first_sentence
from ifmixup.study.baselines import Baseline
from ifmixup.study.comparison import Comparison
from ifmixup.study.deploy import chosen_candidate, python_source
from ifmixup.study.numbers import difference_text
from ifmixup.study.rows import compare_next
from ifmixup.training.checkpoint import load_checkpoint
from stored_runs import records_of, result, study_of

NOISE = (0.0, 0.011, -0.009, 0.004, -0.006, 0.008, -0.003, 0.002, -0.012, 0.005)


def found(
    means, *, models=("gin",), methods=("none", "ifmixup"), folds=10, guess=None, small=1.0,
    config=None, metric="accuracy", epochs=None, **options,
):  # fmt: skip
    """A comparison of runs with a mean by (model, method), and noise that differs by fold."""
    study = study_of(models, methods, folds=folds, metric=metric, **options)

    def measure(run, validated):
        mean = means[run.model.name, run.method.name]
        shift = list(means).index((run.model.name, run.method.name))
        value = mean + small * NOISE[(run.fold + 3 * shift + run.repeat) % 10]
        best = (epochs or [2] * folds)[run.fold] - 1
        validation = [0.9 if epoch == best else 0.1 for epoch in range(2)]
        if metric in ("mae", "ece"):
            validation = [-each for each in validation]
        return result([value, value], validation=validation, metric=metric, chosen_nll=0.5)

    if guess is not None:
        values = tuple((0, fold, guess + NOISE[fold % 10]) for fold in range(folds))
        study = replace(study, baselines=(Baseline("majority class", "MUTAG", {metric: values}),))
    study = replace(study, config=config or {})
    return Comparison(study, list(records_of(study, measure).values()))


HELPED = {("gin", "none"): 0.70, ("gin", "ifmixup"): 0.80}


def test_the_best_the_next_and_whether_augmentation_helped():
    said = found(HELPED).answer()
    assert said.startswith("Best on MUTAG is gin with ifmixup: accuracy 80.0 ± ")
    assert "It is better than the next best, gin with none, by +10.0 [+" in said
    assert "Augmentation helps (gin with ifmixup: +10.0 [+" in said
    assert "Holm-adjusted p < 0.0001, helps)." in said


@pytest.mark.parametrize("seed", range(8))
def test_two_trials_never_have_two_intervals(seed):
    chance = random.Random(seed)
    models, methods = ("gin", "gcn"), ("none", "ifmixup", "drop_edge")
    means = {
        (model, method): 0.7 + chance.uniform(0, 0.01) for model in models for method in methods
    }
    study = found(means, models=models, methods=methods, small=chance.choice([0.2, 1, 3]))
    ranked = sorted(study.rows, key=lambda row: -row.score)
    after = compare_next(study.study, ranked[0], study.rows, study.models)
    pair = {after.first, after.second}
    assert (after.first, after.second) == (ranked[0].label, ranked[1].label)
    told = {
        frozenset({row.label, f"{row.trial.model} with none"}): row.difference
        for row in study.rows
        if row.difference is not None
    }
    told |= {frozenset({one.first, one.second}): one.finding.difference for one in study.models}
    known = told.get(frozenset(pair))
    if known is not None:
        ends = after.finding.difference.low, after.finding.difference.high
        assert ends in ((known.low, known.high), (-known.high, -known.low))
    assert f"{after.difference_text()} points" in study.answer()


@pytest.mark.parametrize(("mean", "small"), [(0.73, 1), (0.67, 1), (0.703, 3), (0.697, 3)])
def test_the_next_best_of_the_same_model_is_what_the_table_says(mean, small):
    means = {
        ("gin", "none"): 0.70, ("gin", "ifmixup"): mean,
        ("gcn", "none"): 0.5, ("gcn", "ifmixup"): 0.5,
    }  # fmt: skip
    study = found(means, models=("gin", "gcn"), small=small)
    row = study.rows[1]
    there = row.difference if mean > 0.70 else row.difference.turned()
    assert f"{difference_text(there, margin=row.margin)} points. " in study.answer()


def test_what_cannot_be_told():
    same = {("gin", "none"): 0.700, ("gin", "ifmixup"): 0.702}
    said = found(same, small=3).answer()
    assert "Its difference to the next best, gin with none, is inconclusive: " in said
    assert "It is unclear whether augmentation helps (gin with ifmixup: " in said
    assert "inconclusive: the interval includes zero" in said
    close = found({("gin", "none"): 0.700, ("gin", "ifmixup"): 0.7004}, small=0.2).answer()
    assert "Augmentation makes no difference larger than 1 point (gin with ifmixup:" in close
    assert "There is no difference larger than 1 point to the next best" in close
    few = found(same, folds=3).answer()
    assert "There are too few runs to say whether augmentation helps" in few
    assert "Fewer than 5 runs cannot show a difference" in few


def test_no_model_beats_a_guess_is_the_first_sentence():
    said = found(HELPED, guess=0.924).answer()
    assert first_sentence(said).startswith("No model beats the majority class: accuracy 92.4 ± ")
    assert "for the best model, gin with ifmixup (difference −12.4 [−" in first_sentence(said)
    unsure = found(HELPED, guess=0.799).answer()
    assert unsure.startswith("It is unclear whether any model beats the majority class")
    assert "It beats the majority class" in found(HELPED, guess=0.6).answer()
    errors = found({("gin", "none"): 0.7, ("gin", "ifmixup"): 0.5}, guess=0.4, metric="mae")
    assert errors.answer().startswith("No model beats the majority class")


def without(comparison, method, folds):
    """The comparison without the runs of a method on the first folds."""
    gone = [r for r in comparison.runs if r.spec.method.name == method and r.spec.fold < folds]
    return Comparison(comparison.study, [r for r in comparison.runs if r not in gone])


def test_a_trial_that_lacks_runs_is_not_ranked():
    """A mean over other, maybe easier, folds is not a better one."""
    less = without(found(HELPED, guess=0.6), "ifmixup", 6)
    said = less.answer()
    assert "Best on MUTAG is gin with none: accuracy 70.0 ± " in said
    assert "cannot be compared: gin with ifmixup lacks 6 of 10 runs. It beats" in said
    assert [row.best for row in less.rows] == [True, False]
    three = found({**HELPED, ("gin", "drop_edge"): 0.75}, methods=("none", "ifmixup", "drop_edge"))
    said = without(three, "ifmixup", 6).answer()
    assert "Best on MUTAG is gin with drop_edge" in said
    assert "Fewer than 5 runs" not in said
    all_less = found(HELPED, guess=0.78)
    for method in ("none", "ifmixup"):
        all_less = without(all_less, method, 5)
    folds = [0.78 + NOISE[fold] for fold in range(5, 10)]  # the same for the guess
    assert f"{100 * sum(folds) / 5:.1f} ± " in first_sentence(all_less.answer())
    assert "Not ranked" not in all_less.answer()


def test_the_best_of_many_has_to_beat_a_baseline_by_more():
    methods = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")
    means = {("gin", method): 0.700 for method in methods}
    means["gin", "ifmixup"] = 0.72
    for number, lead in ((2, "It beats the"), (6, "It is unclear whether any model beats the")):
        few = {key: mean for key, mean in means.items() if key[1] in methods[:number]}
        assert lead in found(few, methods=methods[:number], guess=0.7).answer()


def test_a_period_in_a_name_does_not_end_the_first_sentence():
    first = "Best on t-log sol. (mol per L) is gin with none: RMSE 0.9 ± 0.1."
    assert first_sentence(f"{first} It beats 1. 2.") == first


def test_comparisons_that_can_show_different_things_have_a_range():
    methods = ("none", "ifmixup", "drop_edge")
    study = found({("gin", method): 0.7 for method in methods}, methods=methods)

    def noisier(record):
        if record.spec.method.name != "drop_edge":
            return record
        more = 4 * NOISE[(7 * record.spec.fold) % 10]
        curves = dict(record.result.curves)
        curves["test_accuracy"] = [value + more for value in curves["test_accuracy"]]
        return replace(record, result=replace(record.result, curves=curves))

    said = Comparison(study.study, list(map(noisier, study.runs))).answer()
    assert re.search(
        r"difference of [\d.]+ to [\d.]+ points, depending on the comparison, is", said
    )
    assert "to detect 1 point in each of them you need" in said


def test_an_error_that_is_lower_is_said_in_words():
    means = {("gin", "none"): 0.7, ("gin", "ifmixup"): 0.5}
    said = found(means, guess=0.9, metric="mae").answer()
    assert "beats the majority class: its MAE is low" in said
    assert "its MAE is lower by 0.400 [0." in said
    assert "It is better than the next best, gin with none: its MAE is lower by 0.200 [0.1" in said
    assert "(gin with ifmixup: −0.200 [−0.2" in said
    assert "] MAE, Holm-adjusted p < 0.0001, helps)" in said
    assert said.count("lower is better") == 1
    same = {("gin", "none"): 0.700, ("gin", "ifmixup"): 0.702}
    assert "] MAE. It is unclear" in found(same, small=3, metric="mae").answer()
    models = {("gin", "none"): 0.5, ("gcn", "none"): 0.7}
    two = found(models, models=("gin", "gcn"), methods=("none",), metric="mae").answer()
    assert "Models: gin with none is better than gcn with none: its MAE is lower by 0.200 [" in two
    share = {("gin", "none"): 0.10, ("gin", "ifmixup"): 0.05}
    assert "its ECE is lower by 5.0 [" in found(share, small=0.1, metric="ece").answer()


def test_models_are_compared_with_each_other():
    means = {("gin", "none"): 0.9, ("gcn", "none"): 0.7, ("gat", "none"): 0.705}
    two = found(means, models=("gin", "gcn"), methods=("none",))
    (pair,) = two.models
    assert (pair.first, pair.second, pair.verdict) == ("gin with none", "gcn with none", "better")
    assert "Models: gin with none is better than gcn with none, by +20.0 [" in two.answer()
    assert "gin with none against gcn with none on MUTAG (holdout): better." in two.verdict()
    three = found(means, models=("gin", "gcn", "gat"), methods=("none",), small=3)
    # one family of three pairs: the levels are those of Holm's steps
    assert sorted(each.finding.difference.alpha for each in three.models) == pytest.approx(
        [0.05 / 3, 0.05 / 2, 0.05]
    )
    assert "gat with none against gcn with none" in three.answer()
    assert "inconclusive" in three.answer()


def test_what_these_data_can_show():
    study = found(HELPED)
    row = study.rows[1]
    smallest = 100 * row.difference.detectable()
    assert f"With 10 runs per trial, a difference of {smallest:.1f} points is detected" in (
        study.answer()
    )
    assert "to detect 1 point you need more graphs" in found(HELPED, small=3).answer()
    assert "which is less than 1 point" in found(HELPED, small=0.1).answer()
    one = replace(found(HELPED, small=0.9).study, margin=1.4)
    some = Comparison(one, found(HELPED, small=0.9).runs).answer()
    repeats = (
        Comparison(one, found(HELPED, small=0.9).runs).rows[1].difference.repeats_for(0.014, 10)
    )
    assert repeats is None or f"(--repeats {repeats})" in some or "less than 1.4 points" in some


def test_settings_where_they_are_from_and_what_they_were_by_fold():
    study = found(HELPED, epochs=[1, 2] * 5)
    study = Comparison(replace(study.study, origins={"gin ifmixup": "the defaults"}), study.runs)
    assert (
        "Its settings are the defaults, the same on every fold: learning_rate 0.01, batch_size 32"
        in study.answer()
    )
    assert "epochs chosen on validation graphs: 1 to 2 of 2, median 1." in study.answer()
    grid = found(HELPED, grid={"num_layers": [3, 5]})
    assert (
        "chosen on validation graphs, fold by fold, from a grid of 2: num_layers 3;"
        in grid.answer()
    )
    optimistic = found(HELPED, protocols=("paper",), grid={"num_layers": [3, 5]}).answer()
    assert "chosen on the test folds from a grid of 2" in optimistic
    assert "which is optimistic" in optimistic


def test_the_chosen_setting_stands_in_the_table():
    study = found(HELPED, grid={"num_layers": [3, 5]})
    assert "num_layers 3" in study.table()
    assert "chosen" in study.table("markdown").splitlines()[0]
    assert study.figures()[1]["chosen"] == "num_layers 3"
    assert "chosen" not in study.table("latex")  # no prose


def test_the_command_that_trains_it():
    config = {
        "command": "compare", "source": "my mols.csv", "models": ["gin", "nets.py:Net"],
        "methods": ["none", "ifmixup"], "epochs": 2, "label": "toxic", "strict": True, "seed": 3,
        "folds": 10, "metric": "accuracy", "protocols": ["holdout"],
    }  # fmt: skip
    study = found(HELPED, config=config, grid={"num_layers": [5, 3]}, epochs=[1] * 7 + [2] * 3)
    *_, line = study.answer().splitlines()
    assert shlex.split(line) == [
        "ifmixup", "train", "my mols.csv", "--model", "gin", "--method", "ifmixup", "--strict",
        "--epochs", "1", "--num-layers", "5", "--label", "toxic", "--seed", "3",
        "--split", "all", "--save", "model.pt",
    ]  # fmt: skip
    *_, line = study.answer({**config, "source": "data/my mols.csv"}).splitlines()
    assert "'data/my mols.csv'" in line


def test_that_command_is_one_that_train_understands(tmp_path, monkeypatch):
    from ifmixup.cli import main

    config = {"source": "MUTAG", "epochs": 2, "hidden_channels": 4, "recompute_bn": True}
    grid = {"hidden_channels": [4]}
    study = found(HELPED, config=config, grid=grid, recompute_bn=True, epochs=[1] * 10)
    *_, line = study.answer().splitlines()
    monkeypatch.chdir(tmp_path)
    assert "--recompute-bn --" in line
    assert main(shlex.split(line)[1:]) == 0
    assert (tmp_path / "model.pt").exists()


def test_that_command_trains_on_all_graphs_of_a_dataset_with_its_own_split(tmp_path, monkeypatch):
    from ifmixup.cli import main

    mutag = load("MUTAG")
    parts = {"train": range(100), "validation": range(100, 140), "test": range(140, 188)}
    split = {name: torch.tensor(index) for name, index in parts.items()}
    made = GraphDataset("own", mutag._data, mutag.slices, split=split)
    monkeypatch.setattr("ifmixup.data.load", lambda *_, **__: made)
    monkeypatch.chdir(tmp_path)
    config = {"source": "own", "epochs": 2, "hidden_channels": 4}
    said = found(HELPED, config=config, grid={"hidden_channels": [4]}, epochs=[1] * 10).answer()
    said, line = said.splitlines()
    assert said.endswith("To train it on all graphs:")
    assert main(shlex.split(line)[1:]) == 0
    assert load_checkpoint(tmp_path / "model.pt").about["graphs"] == 188


def test_a_variant_is_named_as_it_was_typed():
    config = {"source": "MUTAG", "models": ["gin=gin(num_layers=2)"], "methods": ["a.py:ifmixup"]}
    *_, line = found(HELPED, config=config).answer().splitlines()
    assert "--model 'gin=gin(num_layers=2)' --method a.py:ifmixup" in line


def test_from_python_molecules_start_from_their_own_settings():
    study = found(HELPED, learning_rate=0.005)
    origins = {
        "gin ifmixup": "recommended for molecules and GIN, with learning_rate=0.005 as given"
    }
    study = Comparison(replace(study.study, origins=origins), study.runs)
    *_, line = study.answer().splitlines()
    assert "learning_rate=0.005" in line
    assert "batch_size=32" in line  # not the 64 that is recommended for molecules
    assert "model__readout='sum'" in line
    assert "model__norm" not in line  # the default of both


def test_from_python_it_is_a_line_of_python():
    study = found(HELPED, learning_rate=0.005, grid={"alpha": [2.0], "hidden_channels": [8]})
    *_, line = study.answer().splitlines()
    assert line == (
        "model = ifmixup.GraphClassifier('gin', 'ifmixup', epochs=2, learning_rate=0.005, "
        "model__hidden_channels=8, method__alpha=2.0).fit(graphs)"
    )
    errors = found({("gin", "none"): 0.7, ("gin", "ifmixup"): 0.5}, metric="mae").answer()
    assert "ifmixup.GraphRegressor('gin', 'ifmixup'" in errors


def test_several_datasets_are_counted():
    said = found(HELPED, datasets=("A", "B")).answer()
    assert said.startswith("gin ifmixup against gin none: helps on 2 of 2 datasets.")
    assert "Train it" not in said


def test_nothing_has_run():
    study = study_of()
    assert Comparison(study, []).answer() == "No run has finished yet."


def test_the_line_of_python_trains_what_was_compared(tmp_path):
    found = ifmixup.compare(
        "MUTAG", "gin", "none", folds=2, epochs=1, hidden_channels=4, num_layers=1,
        folder=tmp_path, engine=Here(), progress=False, baselines=False,
    )  # fmt: skip
    *_, line = found.answer().splitlines()
    assert line.endswith(".fit(ifmixup.data.load('MUTAG'))")
    names = {"ifmixup": ifmixup}
    exec(line, names)
    settings = found.study.trials[0].candidates[0].settings
    assert names["model"].predictor_.settings == settings
    assert settings.use_edge_attr is False  # as in the paper, though MUTAG has edge attributes


def test_the_line_of_python_for_a_frame_of_molecules_has_the_settings_of_molecules(tmp_path):
    import pandas

    smiles = [f"{'C' * n}{end}" for n in range(2, 12) for end in ("O", "N")]
    frame = pandas.DataFrame({"smiles": smiles, "length": [len(each) * 1.5 for each in smiles]})
    found = ifmixup.compare(
        frame, "gin", "none", label="length", folds=2, epochs=1, folder=tmp_path, engine=Here(),
        progress=False, baselines=False,
    )  # fmt: skip
    *_, line = found.answer().splitlines()
    names = {"ifmixup": ifmixup, "frame": frame}
    exec(line, names)
    (trial,) = found.study.trials
    trained = names["model"].predictor_
    assert trained.settings == trial.candidates[0].settings
    options = dict(trial.candidates[0].model.options)
    assert trained.model.num_layers == options["num_layers"]
    assert trained.model.hidden_channels == options["hidden_channels"]


@pytest.mark.parametrize(
    ("dataset", "reading", "text"),
    [
        ("m.csv:smiles:y", {"smiles": None}, "ifmixup.data.load('m.csv:smiles:y')"),
        (Path("/home/me/m.csv"), {"label": "y"}, "ifmixup.data.load('m.csv', label='y')"),
        (["CCO"], {"label": [1]}, "ifmixup.data.load(smiles, label=labels)"),
        (
            SimpleNamespace(columns=["smiles"], __getitem__=None),
            {"smiles": "smi", "label": "y", "features": "element"},
            "ifmixup.data.load(frame, smiles='smi', label='y', features='element')",
        ),
        ([], {}, "graphs"),
    ],
)
def test_what_was_compared_as_python(dataset, reading, text):
    assert python_source(dataset, **reading) == text


def test_of_settings_chosen_equally_often_the_one_most_alike_the_others_is_trained():
    chosen = [(2, 8), (3, 16), (3, 32)]  # by fold: three layers on two of three folds

    def measure(spec, validated):
        options = dict(spec.model.options)
        mine = (options["num_layers"], options["hidden_channels"])
        good = spec.fold < 3 and chosen[spec.fold] == mine
        return result([0.5, 0.5], validation=[0.9, 0.9] if good else [0.5, 0.5])

    study = study_of(folds=3, grid={"num_layers": [2, 3], "hidden_channels": [8, 16, 32]})
    found = Comparison(study, list(records_of(study, measure).values()))
    picked = chosen_candidate(found.rows[0]).values()
    assert (picked["num_layers"], picked["hidden_channels"]) == (3, 16)


def test_of_equal_trials_the_baseline_is_the_best():
    level = {("gin", "drop_edge"): 0.7, ("gin", "ifmixup"): 0.7, ("gin", "none"): 0.7}
    study = found(level, methods=("drop_edge", "ifmixup", "none"), small=0)
    assert "Best on MUTAG is gin with none" in study.answer()
    assert study.best().trial.method == "none"
