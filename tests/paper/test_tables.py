import io
import math
from dataclasses import replace

import pytest
from rich.console import Console

from ifmixup.paper.reproduce import Scale, plan
from ifmixup.paper.tables import effects, lines, main_table, rich_table, study_table
from ifmixup.study.comparison import Comparison
from ifmixup.study.statistics import HELPS, HURTS
from stored_runs import records_of, result, study_of

NONE = [0.70, 0.72, 0.68, 0.71, 0.69, 0.70]
MORE = [0.80, 0.825, 0.78, 0.815, 0.79, 0.80]


def compared(study, values, *, missing=()):
    """A comparison in which a run has the value of its method and fold."""

    def measure(spec, validated):
        if (spec.dataset, spec.method.name) in missing:
            return None
        value = values[spec.method.name][spec.fold] + spec.repeat / 100
        return result((0.1, value), validation=(0.1, 0.5) if validated else None)

    return Comparison(study, list(records_of(study, measure).values()))


def experiment(name="gcn", *, datasets=("MUTAG",), folds=6, repeats=1, epochs=2, **options):
    """A study of the paper's, whose data need not be here."""
    scale = Scale("t", repeats=repeats, folds=folds, epochs=epochs, graphs=60)
    (mutag,) = plan([name], scale, datasets=["MUTAG"], **options).studies
    trials = [
        replace(trial, dataset=dataset, data=(dataset + trial.data)[:24], keys=())
        for dataset in datasets
        for trial in mutag.trials
    ]
    return replace(mutag, trials=tuple(trials))


METHODS = {
    **dict.fromkeys(("none", "drop_edge", "drop_node", "attribute_masking"), NONE),
    "ifmixup": MORE,
    "mixup_graph": NONE,
}


def test_the_first_columns_are_ours_beside_the_published():
    made = study_table(compared(experiment(), METHODS))
    assert list(made.head[:5]) == ["dataset", "variant", "protocol", "ours", "published"]
    assert list(made.rows[1][:6]) == [
        *("MUTAG", "ifmixup", "paper", "80.2 ± 1.6*", "87.9 ± 0.3", "−7.7")
    ]
    row = dict(zip(made.head, made.rows[1], strict=True))
    assert row["to none [95 %, Holm]"].startswith("+10.2 [+")
    assert row["verdict"] == HELPS
    assert row["runs x epochs"] == "6 x 2"
    assert (1, 3) in made.bold
    assert any("optimistic" in note for note in made.notes)
    assert "| MUTAG | ifmixup | paper | **80.2 ± 1.6" in made.markdown()


def test_log_loss_and_calibration_stand_beside_the_last_epoch():
    made = study_table(compared(experiment(protocols=["paper", "last"]), METHODS))
    rows = [dict(zip(made.head, row, strict=True)) for row in made.rows]
    shown = {row["protocol"]: (row["log-loss"], row["ECE"]) for row in rows}
    assert shown == {"paper": ("–", "–"), "last": ("0.700", "10.0")}


def test_deviations_are_over_repeats_as_the_papers():
    made = study_table(compared(experiment(repeats=2), METHODS))
    assert made.rows[0][3] == "70.5 ± 0.7*"
    assert "over repeats" in made.notes[0]


def test_any_other_study_has_models_and_methods():
    made = study_table(compared(study_of(("gcn", "gin"), folds=6), METHODS))
    names = ["dataset", "model", "method", "protocol", "accuracy ± folds"]
    assert list(made.head[:5]) == names
    assert "published" not in made.head
    assert list(made.rows[3][:5]) == ["MUTAG", "gin", "ifmixup", "holdout", "80.2 ± 1.6"]


def test_a_trial_without_runs_is_not_run():
    comparison = compared(study_of(folds=6), METHODS, missing=[("MUTAG", "ifmixup")])
    made = study_table(comparison)
    assert made.rows[1][4] == "not run"
    assert "1 of 2 trials are not run yet." in made.notes
    assert [line.row is None for line in lines(comparison)] == [False, True]


def test_a_table_for_a_terminal_fits_80_columns():
    study = experiment(protocols=["paper", "holdout"])
    comparison = compared(study, METHODS)
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_table(comparison))
    text = console.file.getvalue()
    assert "MUTAG paper" in text
    assert "attribute_masking" in text
    assert "87.9 ± 0.3" in text
    assert "optimistic" in text
    assert "nan" not in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_table(comparison, replace(study, trials=study.trials[:2])))
    assert "attribute_masking" not in console.file.getvalue()


def test_effects_over_datasets():
    values = {"none": NONE, "ifmixup": MORE, "drop_edge": NONE[::-1]}
    study = study_of(methods=("none", "ifmixup", "drop_edge"), datasets=("A", "B", "C"), folds=6)
    comparison = compared(study, values, missing=[("C", "drop_edge")])
    mixed, dropped = effects(comparison.rows)
    assert (mixed.name, mixed.against, mixed.protocol) == ("gcn ifmixup", "gcn none", "holdout")
    assert mixed.mean == pytest.approx(sum(MORE) / 6 - 0.70)
    assert (mixed.count(HELPS), mixed.count(HURTS)) == (3, 0)
    assert len(dropped.rows) == 2
    assert effects([row for row in comparison.rows if row.difference is None]) == []


def test_errors_of_several_datasets_have_no_mean():
    study = study_of(datasets=("A", "B"), protocols=("paper",), metric="mae")
    records = records_of(study, lambda spec, validated: result((1.0, 0.5), metric="mae"))
    (effect,) = effects(Comparison(study, list(records.values())).rows)
    assert math.isnan(effect.mean)


def test_the_main_table():
    found = [
        compared(experiment("gin"), METHODS),
        compared(experiment("gcn", protocols=["holdout", "paper"]), METHODS),
        compared(study_of(name="gcn", folds=6), METHODS),  # not the paper's
    ]
    made = main_table(found)
    assert [row[:3] for row in made.rows] == [
        ("MUTAG", "GCN", "85.0 → 87.9"),
        ("MUTAG", "GIN", "88.6 → 89.0"),
    ]
    assert made.rows[0][3:5] == ("70.0 → 80.2", "70.0 → 80.2")
    assert made.rows[0][5].startswith("+10.2 [+")
    assert made.rows[0][6] == "6 x 2"
    assert made.rows[1][4] == "not run"
    told = " ".join(made.notes)
    assert (
        "Held out: 1 comparisons. With ifMixup the accuracy is higher in 1 and lower in 0" in told
    )
    assert "helps in 1 and hurts in 0" in told
    assert "Paper protocol: 2 comparisons." in told
    assert "Wilcoxon" not in told
    assert main_table([compared(study_of(), METHODS)]) is None


def test_the_datasets_of_the_main_table_together():
    datasets = ("PTC_MR", "NCI1", "MUTAG", "ENZYMES", "PROTEINS")
    found = compared(experiment(datasets=datasets, protocols=["holdout"]), METHODS)
    made = main_table([found])
    assert [row[0] for row in made.rows] == ["PTC_MR", "NCI1", "MUTAG", "ENZYMES", "PROTEINS"]
    assert "(Wilcoxon's signed-rank test): p = 0.062 for GCN (5 datasets)." in made.notes[-1]
