import csv
import io
import json
import math

import pytest
from rich.console import Console

from ifmixup.components import with_options
from ifmixup.errors import InputError, StoreError
from ifmixup.study.comparison import Comparison, compare_trials
from stored_runs import record, records_of, result, study_of

METHODS = ("none", "ifmixup", "drop_edge")
ACCURACY = {  # by method, one value per fold
    "none": [0.70, 0.75, 0.80, 0.72, 0.78],
    "ifmixup": [0.80, 0.86, 0.90, 0.81, 0.88],
    "drop_edge": [0.71, 0.73, 0.82, 0.70, 0.79],
}


def measured(run, validated, metric="accuracy", scores=ACCURACY):
    value = scores[run.method.name][run.fold]
    return result([value, value], validation=[0.6, 0.6] if validated else None, metric=metric)


def comparison(folder=None, *, without=None, metric="accuracy", measure=measured, **options):
    """A comparison of synthetic runs; that of the method and fold ``without`` failed."""
    study = study_of(methods=METHODS, metric=metric, **options)

    def measure_or_fail(run, validated):
        if (run.method.name, run.fold) == without:
            return "NaN"
        return measure(run, validated, metric)

    return Comparison(study, list(records_of(study, measure_or_fail).values()), folder)


def printed(found, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(found.rich_table())
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_one_row_per_trial_with_its_difference():
    none, mixed, dropped = comparison().rows
    assert (none.trial.method, none.difference, none.verdict) == ("none", None, None)
    assert none.reading.mean == pytest.approx(0.75)
    assert mixed.difference.mean == pytest.approx(0.10)
    assert mixed.verdict == "helps"
    assert dropped.verdict == "inconclusive: the interval includes zero"
    # Holm: the smaller of two p-values counts twice
    assert mixed.adjusted_p == pytest.approx(2 * mixed.difference.p_value)
    assert (none.reading.runs, none.failed, none.reading.optimistic) == (5, 0, False)
    assert [row.best for row in (none, mixed, dropped)] == [False, True, False]


def test_holms_family_is_all_comparisons_of_a_protocol():
    one, two = comparison(), comparison(models=("gcn", "gin"))
    assert len(two.rows) == 6
    assert one.rows[1].difference.mean == two.rows[1].difference.mean
    assert [each.rows[1].difference.alpha for each in (one, two)] == [0.05 / 2, 0.05 / 4]
    assert two.rows[1].adjusted_p == pytest.approx(4 * one.rows[1].difference.p_value)
    # the comparisons of another protocol are another family
    both = comparison(protocols=("holdout", "paper"))
    assert [row.trial.protocol for row in both.rows] == ["holdout"] * 3 + ["paper"] * 3
    assert both.rows[1].adjusted_p == both.rows[4].adjusted_p == one.rows[1].adjusted_p
    assert both.rows[4].reading.optimistic


def test_without_none_the_first_method_is_the_baseline():
    study = study_of(methods=("drop_edge", "ifmixup"))
    found = Comparison(study, list(records_of(study, measured).values()))
    assert [row.trial.against for row in found.rows] == [None, "gcn drop_edge"]
    assert found.rows[1].difference.mean == pytest.approx(0.10)
    assert "drop_edge [95 %, Holm]" in found.table()


def test_a_trial_without_runs_has_no_row():
    found = comparison(measure=lambda run, *_: None if run.method.name == "ifmixup" else measured(
        run, True
    ))  # fmt: skip
    assert [row.trial.method for row in found.rows] == ["none", "drop_edge"]
    nothing = comparison(measure=lambda *_: None)
    assert nothing.rows == []
    assert nothing.best() is None
    assert nothing.verdict() == "Nothing to compare: the baseline or the others are missing."
    assert nothing.table("csv") == ""
    assert nothing.table("json") == "[]\n"
    for name in ("text", "markdown", "latex"):
        assert nothing.table(name)


def test_the_first_of_equal_settings_is_chosen():
    study = study_of(methods=("none",), grid={"num_layers": [3, 5]})
    found = compare_trials(study, records_of(study, measured))[0]
    assert {dict(each.model.options)["num_layers"] for each in found.chosen.values()} == {3}
    assert found.reading.runs == 10
    assert len(found.chosen_results()) == 5


def test_the_chosen_setting_is_the_one_that_validation_prefers():
    def by_layers(run, validated):
        layers = dict(run.model.options)["num_layers"]
        better = [0.9, 0.9] if (layers == 5) == (run.fold == 2) else [0.6, 0.6]
        return result([layers / 10] * 2, validation=better)

    study = study_of(methods=("none",), grid={"num_layers": [3, 5]})
    (row,) = compare_trials(study, records_of(study, by_layers))
    assert [row.reading.scores[0, fold] for fold in range(5)] == [0.3, 0.3, 0.5, 0.3, 0.3]
    assert [r.curves["test_accuracy"][0] for r in row.chosen_results()] == [0.3, 0.3, 0.5, 0.3, 0.3]


def test_best():
    found = comparison(protocols=("holdout", "paper"))
    assert found.best().trial.name == "gcn ifmixup"
    assert found.best("paper").trial.protocol == "paper"
    assert comparison(metric="mae").best().trial.method == "none"  # the lowest error


def test_the_verdict_in_plain_words():
    lines = comparison(notes=("Read this.",)).verdict().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(
        "gcn ifmixup on MUTAG (holdout): helps. Difference to gcn none +10.0"
    )
    assert "5 folds" in lines[0]
    assert lines[2] == "Read this."


def test_another_metric_is_named_and_more_of_an_error_hurts():
    found = comparison(metric="mae")
    assert [row.metric for row in found.rows] == ["mae"] * 3
    assert found.rows[1].verdict == "hurts"
    line = found.verdict().splitlines()[0]
    assert "hurts. Difference to gcn none +0.10" in line
    assert "in MAE, where lower is better" in line
    assert "MAE in the units of the target" in found.table()
    line = comparison(metric="roc_auc").verdict().splitlines()[0]
    assert "helps. Difference to gcn none +10.0" in line
    assert "points of ROC-AUC" in line


def test_a_failed_run_is_counted_and_left_out_of_pairs(tmp_path):
    found = comparison(tmp_path, without=("ifmixup", 2))
    assert [each.spec.fold for each in found.failed] == [2]
    row = found.rows[1]
    assert (row.reading.runs, row.failed, row.difference.pairs) == (4, 1, 4)
    assert f"1 run failed, the first with: NaN (ifmixup runs {tmp_path}" in found.verdict()
    assert "1 of 5 runs are missing or failed" in " ".join(found.table().split())
    assert "| 4 (1 failed) |" in found.table("markdown")


def test_records_of_other_runs_make_no_difference():
    found = comparison()
    more = [*found.runs, record(study_of(("gat",)).trials[0].specs()[0][0])]
    assert Comparison(found.study, more).table("json") == found.table("json")


def test_on_the_terminal():
    assert printed(comparison(without=("drop_edge", 0))) == [
        "           accuracy    at last  difference to",
        "method     ± folds       epoch  none [95 %, Holm]    verdict",
        "─" * 65,
        "MUTAG gcn  holdout",
        "none       75.0 ± 4.1     75.0",
        "ifmixup    85.0 ± 4.4     85.0  +10.0 [+8.3, +11.7]  helps",
        "drop_edge  76.0 ± 5.5     76.0  −0.3 [−4.9, +4.4]    too few runs",
        "Accuracy in %, differences in points.",
        "Each interval has the level of its step in Holm's correction, 95 % or more: it",
        "excludes zero where the Holm-adjusted p is below 0.05.",
        "MUTAG gcn drop_edge (holdout): 1 of 5 runs are missing or failed and are not in",
        "these numbers.",
    ]
    lines = printed(comparison(protocols=("paper",)))
    assert lines[4].startswith("none       75.0 ± 4.1*")
    text = " ".join(" ".join(lines).split())
    assert "* optimistic: the paper's protocol chooses the epoch" in text


def test_nothing_compared_nothing_repeated():
    study = study_of(methods=("none",))
    lines = printed(Comparison(study, list(records_of(study, measured).values())))
    assert lines[1] == "method     ± folds       epoch"
    assert lines[4] == "none       75.0 ± 4.1     75.0"
    assert not any("optimistic" in line for line in lines)


def test_repeats_have_a_column():
    assert "repeats" in printed(comparison(repeats=2))[1]
    assert comparison(repeats=2).rows[0].figures()["std_repeats"] == 0


def test_names_are_not_read_as_markup():
    wide = with_options("ifmixup", name="[red]x y[red]")
    study = study_of(methods=(wide, "drop_edge"), datasets=("[bold]D",))
    scores = {**ACCURACY, wide.name: ACCURACY["none"]}
    records = records_of(study, lambda run, validated: measured(run, validated, scores=scores))
    found = Comparison(study, list(records.values()))
    text = found.table()
    assert "[bold]D gcn" in text
    assert "[red]x y[red] [95 %, Holm]" in text  # the baseline, whole
    assert "<td>[red]x y[red]</td>" in found._repr_html_()


def test_a_notebook_shows_a_table_that_is_escaped():
    study = study_of(methods=("none",), datasets=("<script>",), notes=("a < b",))
    found = Comparison(study, list(records_of(study, measured).values()))._repr_html_()
    assert "<td>&lt;script&gt;</td>" in found
    assert "<small>a &lt; b</small>" in found
    assert "<script>" not in found


def test_a_fold_without_the_metric_is_told():
    def undefined(run, validated, metric):
        value = math.nan if run.fold == 1 else 0.5
        return result([value] * 2, validation=[0.5, 0.5], metric=metric)

    text = " ".join(comparison(metric="average_precision", measure=undefined).table().split())
    assert "on 1 fold the average precision is not defined" in text
    assert "Average precision in %, differences in points." in text


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("nll", "Log-loss: lower is better."),
        ("ece", "ECE in %, differences in points; lower is better."),
        ("mae", "MAE in the units of the target; lower is better."),
    ],
)
def test_that_lower_is_better_is_told(metric, said):
    def measure(run, validated, metric):
        return result([0.5, 0.5], validation=[-0.5, -0.5], metric=metric)

    assert said in comparison(metric=metric, measure=measure).table().splitlines()


def test_figures_are_unrounded_and_what_is_unknown_is_none():
    figures = comparison().rows[1].figures()
    assert figures["mean"] == comparison().rows[1].reading.mean
    assert (figures["against"], figures["verdict"], figures["pairs"]) == ("gcn none", "helps", 5)
    assert figures["std_repeats"] is None
    first = comparison().rows[0].figures()
    assert [first[name] for name in ("difference", "p_value", "adjusted_p")] == [None] * 3
    assert list(first) == list(figures)


def test_every_format(tmp_path):
    found = comparison(tmp_path)
    assert json.loads(found.table("json"))[1]["difference"] == pytest.approx(0.10)
    rows = list(csv.DictReader(io.StringIO(found.table("csv"))))
    assert [row["method"] for row in rows] == list(METHODS)
    assert float(rows[1]["mean"]) == found.rows[1].reading.mean
    assert rows[0]["difference"] == ""
    assert found.table("markdown").startswith("| dataset")
    assert r"| drop\_edge |" in found.table("markdown")
    assert "| **85.0 ± 4.4** |" in found.table("markdown")
    assert r"\toprule" in found.table("latex")
    assert "MUTAG gcn" in found.table()
    assert str(found) == found.table()
    with pytest.raises(InputError, match=r"Unknown format 'latx'. Did you mean 'latex'"):
        found.table("latx")


def test_the_table_is_saved_in_every_format(tmp_path):
    found = comparison(tmp_path)
    names = sorted(path.name for path in found.save())
    assert names == ["table.csv", "table.json", "table.md", "table.tex", "table.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert (tmp_path / "table.md").read_text() == found.table("markdown")
    assert comparison(None).save() == []
    with pytest.raises(StoreError, match=r"nowhere.table.txt"):
        comparison(tmp_path / "nowhere").save()


def test_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = comparison().to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["method"]) == list(METHODS)
    assert frame["difference"][1] == pytest.approx(0.10)
