import json

import pytest

from ifmixup.errors import InputError, StoreError
from ifmixup.report.studies import gather
from stored_runs import done, failed, filled


def test_the_paper_and_a_study_of_ones_own(studies, experiment):
    assert [each.name for each in studies.experiments] == ["gcn", "depth", "compare-1-gcn"]
    assert list(studies.groups(experiment("gcn"))) == [("MUTAG", "holdout"), ("MUTAG", "paper")]
    ((_, cells),) = studies.groups(experiment("compare-1-gcn")).items()
    assert list(cells) == ["none", "ifmixup"]
    assert cells["ifmixup"].test_ratio == pytest.approx(1 / 2)
    assert [v.against for v in experiment("compare-1-gcn").variants] == [None, "none"]
    assert studies.names == ["reproduced", "own"]


def test_a_run_of_two_experiments_counts_once(studies):
    keys = [record.key for record in studies.records]
    assert len(keys) == len(set(keys)) < sum(len(cell.records) for cell in studies.cells)


def test_a_folder_given_twice_is_shown_once(paper_folder, studies, experiment):
    twice = gather([paper_folder, paper_folder])
    assert len(twice.of(experiment("gcn"))) == len(studies.of(experiment("gcn")))
    assert any("several folders" in note for note in twice.notes)


def test_failed_runs_are_left_out(tmp_path):
    runs = [done(0, protocol="paper"), done(1, protocol="paper"), failed(2, protocol="paper")]
    found = gather([filled(tmp_path / "s", *runs)])
    assert found.cells[0].reading.runs == 2
    assert any("1 runs failed" in note for note in found.notes)


def test_what_cannot_be_read_together_is_left_out_with_a_note(tmp_path):
    # holdout without validation curves
    folder = filled(tmp_path / "s", done(0, protocol="paper"), done(0, protocol="holdout"))
    found = gather([folder])
    assert [cell.protocol for cell in found.cells] == ["paper"]
    assert any("left out" in note for note in found.notes)


def test_metrics_are_not_shown_together(tmp_path):
    outcome = done(0, protocol="paper", dataset="ZINC")
    outcome.result.curves["test_mae"] = outcome.result.curves.pop("test_accuracy")
    found = gather([filled(tmp_path / "s", outcome, done(0, protocol="paper"))])
    shown = {found.metric(each): each for each in found.experiments}
    assert sorted(shown) == ["accuracy", "mae"]
    assert shown["mae"].datasets == ("ZINC",)
    assert sorted(each.name for each in found.experiments) == ["compare-1-gcn", "compare-2-gcn"]
    assert {each.title for each in found.experiments} == {
        "GCN in the study s, MAE",
        "GCN in the study s, accuracy",
    }


def test_a_manifest_with_what_the_paper_does_not_have(paper_folder, tmp_path):
    entries = json.loads((paper_folder / "experiments.json").read_text())
    for entry in entries[1:]:
        entry["dataset"] = "<b>"
    (tmp_path / "experiments.json").write_text(json.dumps(entries))
    (tmp_path / "runs.sqlite").write_bytes((paper_folder / "runs.sqlite").read_bytes())
    found = gather([tmp_path])
    assert len(found.cells) == 1
    assert any("not in the paper" in note for note in found.notes)


def test_nothing_to_report(tmp_path):
    with pytest.raises(InputError, match="needs the folder"):
        gather([])
    with pytest.raises(InputError, match="Run ifmixup compare"):
        gather([filled(tmp_path / "s", failed(0))])
    with pytest.raises(StoreError, match="holds no runs"):
        gather([tmp_path / "nowhere"])
