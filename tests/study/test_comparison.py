import json
from pathlib import Path

import pytest

from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.study.comparison import Comparison
from ifmixup.study.record import Record
from ifmixup.study.splits import make_splits
from ifmixup.study.study import Study
from ifmixup.training import RunResult, Settings, pack

METHODS = ("none", "ifmixup", "drop_edge")
ACCURACY = {  # by method, a value a fold
    "none": [0.70, 0.75, 0.80, 0.72, 0.78],
    "ifmixup": [0.80, 0.86, 0.90, 0.81, 0.88],
    "drop_edge": [0.71, 0.73, 0.82, 0.70, 0.79],
}


def result(value: float, protocol: str, metric: str) -> RunResult:
    curves = {"train_loss": [1.0, 0.5], f"test_{metric}": [value, value], "test_loss": [1.0, 0.5]}
    if protocol == "holdout":
        curves |= {f"validation_{metric}": [0.6, 0.6], "validation_loss": [1.0, 0.5]}
    return RunResult(curves, {metric: value}, 1.0, 0.1)


def comparison(
    tmp_path: Path,
    *,
    without: tuple[str, int] | None = None,
    protocols=("holdout",),
    metric="accuracy",
):
    data = pack(load("MUTAG"))
    base = Settings(epochs=2)
    settings = {
        (protocol, "gcn", method): [base.with_(method=method)]
        for protocol in protocols
        for method in METHODS
    }
    study = Study(data, make_splits(data, folds=5), 0, settings)
    records = []
    for spec in study.specs():
        method = spec.settings.method
        failed = (method, spec.fold) == without
        records.append(
            Record(
                key=spec.key,
                spec=spec,
                status="failed" if failed else "done",
                result=None
                if failed
                else result(ACCURACY[method][spec.fold], spec.protocol, metric),
                error="NaN" if failed else None,
                versions={},
                host="here",
                finished_at="2026-01-01T00:00:00+00:00",
            )
        )
    return Comparison(study, records, tmp_path)


def test_a_row_a_trial_with_its_difference(tmp_path):
    none, mixed, dropped = comparison(tmp_path).rows()
    assert (none.method, none.difference, none.verdict) == ("none", None, None)
    assert none.mean == pytest.approx(0.75)
    assert mixed.difference.mean == pytest.approx(0.10)
    assert mixed.verdict == "helps"
    assert dropped.verdict == "no difference that these folds can show"
    # Holm: the smaller of two p-values counts twice
    assert mixed.adjusted_p == pytest.approx(2 * mixed.difference.p_value)
    assert (none.runs, none.failed, none.optimistic) == (5, 0, False)


def test_each_protocol_is_corrected_by_itself(tmp_path):
    rows = comparison(tmp_path, protocols=("holdout", "paper")).rows()
    assert [row.protocol for row in rows] == ["holdout"] * 3 + ["paper"] * 3
    assert rows[1].adjusted_p == rows[4].adjusted_p
    assert rows[4].optimistic


def test_the_verdict_in_plain_words(tmp_path):
    lines = comparison(tmp_path).verdict().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(
        "ifmixup with gcn on MUTAG (holdout): helps. Difference to none +10.0"
    )
    assert "5 folds" in lines[0]


def test_another_metric_is_named_and_more_of_an_error_hurts(tmp_path):
    found = comparison(tmp_path, metric="mae")
    assert [row.metric for row in found.rows()] == ["mae"] * 3
    assert found.rows()[1].verdict == "hurts"
    line = found.verdict().splitlines()[0]
    assert "hurts. Difference to none +0.10" in line
    assert "in MAE, where lower is better" in line
    assert "MAE in the units of the target" in found.table()
    line = comparison(tmp_path, metric="roc_auc").verdict().splitlines()[0]
    assert "helps. Difference to none +10.0" in line
    assert "points of ROC-AUC" in line


def test_a_failed_run_is_counted_and_left_out_of_pairs(tmp_path):
    found = comparison(tmp_path, without=("ifmixup", 2))
    assert [record.spec.fold for record in found.failed] == [2]
    row = found.rows()[1]
    assert (row.runs, row.failed, row.difference.pairs) == (4, 1, 4)


def test_every_format(tmp_path):
    found = comparison(tmp_path)
    assert json.loads(found.table("json"))[1]["difference"] == pytest.approx(0.10)
    assert found.table("csv").splitlines()[0].startswith("dataset,model,method")
    assert found.table("markdown").startswith("| dataset")
    assert r"\toprule" in found.table("latex")
    assert "MUTAG gcn" in found.table()
    with pytest.raises(InputError, match=r"Unknown format 'latx'. Did you mean 'latex'"):
        found.table("latx")
    names = sorted(path.name for path in found.save())
    assert names == ["table.csv", "table.json", "table.md", "table.tex", "table.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
