import pytest

from ifmixup.errors import InputError, StoreError
from ifmixup.report.studies import gather
from ifmixup.study.study import save_studies
from stored_runs import done, failed, filled, records_of, result, stored, study_of


def test_the_paper_and_a_study_of_ones_own(studies, shown):
    assert [each.name for each in studies.shown][:2] == ["gcn", "depth"]
    assert [each.experiment is not None for each in studies.shown] == [True, True, False]
    assert list(shown("gcn").groups) == ["MUTAG, holdout", "MUTAG, paper"]
    ((_, rows),) = studies.shown[2].groups.items()
    assert list(rows) == ["none", "ifmixup"]
    assert studies.names == ["reproduced", "own"]
    assert studies.of_paper


def test_a_run_of_two_experiments_counts_once(studies):
    keys = [record.key for record in studies.records]
    assert len(keys) == len(set(keys))
    assert len(keys) < sum(len(each.comparison.runs) for each in studies.shown)


def test_a_folder_given_twice_is_shown_once(paper_folder):
    assert [each.name for each in gather([paper_folder, paper_folder]).shown] == ["gcn", "depth"]


def test_a_study_in_two_folders_has_the_runs_of_both(tmp_path):
    study = study_of(folds=4)
    records = records_of(study, lambda spec, validated: result(validation=(0.1, 0.5)))
    halves = [dict(list(records.items())[i::2]) for i in (0, 1)]
    folders = [stored(tmp_path / str(i), study, half) for i, half in enumerate(halves)]
    (alone,) = gather(folders[:1]).shown
    (both,) = gather(folders).shown
    assert alone.progress().startswith("This study is not complete: 4 of its 8 runs are done.")
    assert both.progress() is None


def test_methods_are_the_labels_of_one_model_and_trials_of_several(tmp_path):
    for models, labels in (
        (["gcn"], ["none", "ifmixup"]),
        (["gcn", "gin"], ["gcn none", "gcn ifmixup", "gin none", "gin ifmixup"]),
    ):
        study = study_of(models, protocols=["last"])
        records = records_of(study, lambda spec, validated: result())
        (shown,) = gather([stored(tmp_path / models[-1], study, records)]).shown
        assert list(shown.groups["MUTAG, last"]) == labels


def test_a_stopped_study_is_shown_as_far_as_it_is(tmp_path):
    study = study_of()
    save_studies(tmp_path, [study])  # before its first run
    (shown,) = gather([tmp_path]).shown
    assert shown.comparison.rows == []
    assert "0 of its 10 runs" in shown.progress()

    def measure(spec, validated):
        if spec.fold > 1:
            return None
        return "out of memory" if spec.fold else result(validation=(0.1, 0.5))

    stored(tmp_path, study, records_of(study, measure))
    (shown,) = gather([tmp_path]).shown
    assert "2 of its 10 runs are done, 2 failed" in shown.progress()
    assert "--retry-failed" in shown.progress()


def test_runs_without_a_study_are_told_and_not_guessed_at(tmp_path):
    folder = filled(tmp_path / "s", done(0), done(1, method="ifmixup"), failed(2, model="gin"))
    found = gather([folder])
    assert found.shown == []
    first, second = found.unknown
    assert "s has 3 runs (datasets MUTAG; models gcn, gin; methods ifmixup, none)" in first
    assert "is unknown" in first
    assert "ifmixup runs s lists" in second
    assert "--folder s" in second
    assert "writes study.json" in second


def test_runs_of_no_study_beside_one_are_told(tmp_path):
    study = study_of()
    records = records_of(study, lambda spec, validated: result(validation=(0.1, 0.5)))
    folder = stored(tmp_path / "s", study, records)
    filled(folder, done(0), done(1))
    assert gather([folder]).notes == ["s has 2 more runs that belong to none of its studies."]


def test_studies_with_the_same_title_are_told_apart(tmp_path):
    studies = [
        study_of(folds=3),
        study_of(folds=4, name="MUTAG"),
        study_of(methods=["none", "drop_edge"], folds=3, name="MUTAG"),
        study_of(datasets=["PTC_MR"], title="Another"),
    ]
    for i, study in enumerate(studies):
        save_studies(tmp_path / str(i), [study])
    titles = [each.title for each in gather([tmp_path / str(i) for i in range(4)]).shown]
    assert len(set(titles)) == 4
    assert "folds 4" in titles[1]
    assert "method none, drop_edge" in titles[2]
    assert titles[3] == "Another"


def test_nothing_to_report(tmp_path):
    with pytest.raises(InputError, match="needs the folder"):
        gather([])
    with pytest.raises(InputError, match=r"has no runs.*ifmixup compare"):
        gather([filled(tmp_path / "s")])
    with pytest.raises(StoreError, match="holds no runs"):
        gather([tmp_path / "nowhere"])
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(StoreError, match=r"study\.json"):
        gather([tmp_path])
