import pytest
import tyro

from ifmixup.cli import main
from ifmixup.cli.runs import runs
from ifmixup.errors import InputError
from ifmixup.study.store import Store
from ifmixup.study.study import save_studies
from stored_runs import done, everything, failed, filled, records_of, result, study_of


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def study(tmp_path):
    return filled(
        tmp_path / "runs" / "one",
        done(0, dataset="IMDB-BINARY", model="gatv2", method="attribute_masking"),
        done(1, accuracy=0.9),
        failed(2, error="out of [red]memory\x1b[31m\nsecond line"),
    )


def test_the_list(study, capsys):
    assert runs(study) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[0].split()) == (
        "dataset model method repeat fold status accuracy seconds"
    )
    assert [" ".join(line.split()) for line in lines[2:5]] == [
        "IMDB-BINARY gatv2 attribute_masking 0 0 done 0.6667 1.2",
        "MUTAG gcn none 0 1 done 0.9000 1.2",
        "MUTAG gcn none 0 2 failed",
    ]
    assert max(map(len, lines[:5])) <= 80
    assert lines[5] == (
        "MUTAG gcn none, repeat 0, fold 2 failed: out of [red]memory?[31m?second line"
    )
    assert lines[6] == "2 done, 1 failed, 2.5 s of training."


@pytest.mark.parametrize("metric", ["accuracy", "ece"])
def test_the_metric_is_that_of_the_study(tmp_path, capsys, metric):
    made = study_of(metric=metric)

    def measure(run, validated):
        return result([0.5, 0.5], validation=[0.5, 0.5], metric=metric, roc_auc=0.7)

    records = records_of(made, measure)
    with Store(tmp_path) as store:
        for each in records.values():
            store.add(each)
    assert runs(tmp_path) == 0
    assert "roc_auc" in capsys.readouterr().out
    save_studies(tmp_path, [made])
    for filters in ({}, {"fold": 0}):
        assert runs(tmp_path, **filters) == 0
        out = capsys.readouterr().out
        assert f"{metric}: on the test graphs after the last epoch." in out
        assert "roc_auc" not in out


def test_filters(study, capsys):
    assert tyro.cli(runs, args=[str(study), "--dataset", "MUTAG", "--status", "done"]) == 0
    out = capsys.readouterr().out
    assert "1 done, 0 failed, 1.2 s of training." in out
    assert "IMDB" not in out
    assert runs(study, repeat=0, fold=1) == 0
    assert "1 done, 0 failed" in capsys.readouterr().out
    assert runs(study, method="attribute_masking", status="failed") == 0
    assert capsys.readouterr().out == "No runs.\n"


def test_a_filter_that_no_run_has_names_those_there_are(study):
    with pytest.raises(InputError, match=r"'mutag'. Did you mean 'MUTAG'\? Known: IMDB-B.*MUTAG"):
        runs(study, dataset="mutag")
    with pytest.raises(InputError, match=r"'gin'.* Known: gatv2, gcn"):
        runs(study, model="gin")
    with pytest.raises(InputError, match="Known: done, failed"):
        runs(study, status="good")
    with pytest.raises(InputError, match=r"'7'\. Known: 0, 1, 2"):
        runs(study, fold=7)


def test_a_folder_of_studies(study, capsys):
    filled(study.parent / "two", done())
    (study.parent / "bad").mkdir()
    (study.parent / "bad" / "runs.sqlite").write_text("nonsense")
    (study.parent / "nothing").mkdir()
    assert runs(study.parent) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert ["0", "2", "1"] in [row[-3:] for row in rows]
    assert ["0", "1", "0"] in [row[-3:] for row in rows]
    assert "Damaged: " in out
    assert "nothing" not in out
    with pytest.raises(InputError, match=r"holds folders of runs. Name one of: .*one, .*two"):
        runs(study.parent, model="gcn")


def test_what_is_not_there(tmp_path):
    for folder in (tmp_path, tmp_path / "no"):
        with pytest.raises(InputError, match="There are no runs in"):
            runs(folder)
    with pytest.raises(InputError, match="nothing at"):
        runs(tmp_path / "new", import_=tmp_path / "no.jsonl")
    assert not (tmp_path / "new").exists()


def test_export_and_import(study, tmp_path, capsys):
    path = tmp_path / "all.jsonl"
    assert tyro.cli(runs, args=[str(study), "--export", str(path)]) == 0
    assert capsys.readouterr().out == f"Exported 3 runs to {path}.\n"
    assert tyro.cli(runs, args=[str(tmp_path / "new"), "--import", str(path)]) == 0
    out = capsys.readouterr().out
    assert out == f"Imported into {tmp_path / 'new'}: 3 added, 0 already there, 0 refused.\n"
    assert everything(tmp_path / "new") == everything(study)
    assert runs(study, model="gcn", export=tmp_path / "some.csv") == 0
    assert len((tmp_path / "some.csv").read_text().splitlines()) > 2


def test_a_thin_export_can_be_imported(study, tmp_path, capsys):
    whole, thin = tmp_path / "whole.jsonl", tmp_path / "thin.jsonl"
    runs(study, export=whole)
    runs(study, export=thin, thin=True)
    assert thin.stat().st_size < whole.stat().st_size
    assert runs(tmp_path / "other", import_=thin) == 0
    assert "0 refused" in capsys.readouterr().out


def test_a_refused_line_is_exit_code_one(study, tmp_path, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text("nonsense\n")
    assert runs(study, import_=path) == 1
    out = capsys.readouterr().out
    assert "0 added, 0 already there, 1 refused." in out
    assert "  line 1: it is not JSON" in out


def test_an_ending_that_is_not_known_is_said_first(tmp_path):
    with pytest.raises(InputError, match="Change its ending"):
        runs(tmp_path / "no", export=tmp_path / "runs.xls")


def test_the_help_names_the_options(capsys):
    with pytest.raises(SystemExit):
        tyro.cli(runs, args=["--help"])
    out = capsys.readouterr().out
    assert "--import" in out
    assert "--import-" not in out
    assert "--export" in out


def stored(folder, study, measure):
    """A folder with a study and its runs."""
    with Store(folder) as store:
        store.merge(records_of(study, measure).values())
    save_studies(folder, [study])
    return folder


def test_the_studies_of_a_folder_stand_above_its_runs(tmp_path, capsys):
    study = study_of(methods=("none", "ifmixup"), folds=3, title="Does it help?")
    folder = stored(
        tmp_path / "one",
        study,
        lambda run, validated: result(validation=(0.5, 0.6)) if run.fold < 2 else None,
    )
    assert runs(folder) == 0
    out = capsys.readouterr().out
    assert out.startswith("Study Does it help?: 2 trials, 4 of 6 runs done.\n")
    assert main(["runs", str(tmp_path)]) == 0
    rows = [line.split()[-3:] for line in capsys.readouterr().out.splitlines()]
    assert ["1", "4", "0"] in rows


def test_what_was_chosen_of_a_grid_stands_under_its_study(tmp_path, capsys):
    study = study_of(folds=3, grid={"dropout": [0.0, 0.5], "alpha": [1.0, 20.0]})

    def measure(run, validated):
        dropout = dict(run.model.options)["dropout"]
        good = dropout == (0.5 if run.fold else 0.0)
        return result([0.5, 0.7], validation=[0.5, 0.9 if good else 0.6])

    with Store(tmp_path) as store:
        store.merge(records_of(study, measure).values())
    save_studies(tmp_path, [study])
    assert runs(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "  gcn none (holdout) chose dropout 0.5 on 2 folds, 0 on 1."
    assert lines[2].startswith("  gcn ifmixup (holdout) chose ")
    assert "alpha 1" in lines[2]


def test_of_a_large_grid_the_curves_are_not_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ifmixup.cli.runs._MOST_READ", 5)
    study = study_of(folds=3, grid={"dropout": [0.0, 0.5]})
    with Store(tmp_path) as store:
        store.merge(records_of(study, lambda *_: result([0.5], validation=[0.5])).values())
    save_studies(tmp_path, [study])
    assert runs(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[1]
        == "  The settings that were chosen from its grid are in the report: ifmixup report FOLDER."
    )
