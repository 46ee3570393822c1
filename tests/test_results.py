"""Runs go into the repository and come back; the published tables are made of them alone."""

import gzip
import importlib
import json
import sys
from pathlib import Path

import pytest

from engine_here import Here
from ifmixup.paper.experiments import WHOLE_NODES
from ifmixup.paper.reproduce import Scale, packed, plan
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies, save_studies
from ifmixup.training.run_spec import RunSpec
from stored_runs import records_of, result, stored, study_of

RESULTS = Path(__file__).parents[1] / "results"
if not (RESULTS / "publish.py").exists():
    pytest.skip("results/ comes with the repository only", allow_module_level=True)


def imported(name):
    sys.path.insert(0, str(RESULTS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(RESULTS))


@pytest.fixture(scope="module")
def publish():
    return imported("publish")


def measured(folder, *, folds=2, variants=("none", "ifmixup"), every=1):
    """A folder with a part of the paper's GCN table; ``every`` second run and so on is there."""
    scale = Scale("tiny", repeats=1, folds=folds, epochs=2, graphs=60)
    chosen = {"datasets": ["MUTAG"], "variants": variants, "protocols": ["paper", "holdout"]}
    (study,) = plan(["gcn"], scale, **chosen).studies
    numbers = {spec.key: i for i, spec in enumerate(study.specs())}

    def measure(spec, validated):
        if numbers[spec.key] % every:
            return None
        value = 2 / 3 + numbers[spec.key] / 100
        return result((0.5, value), validation=(0.5, 0.6) if validated else None)

    return stored(folder, study, records_of(study, measure))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def keys(folder):
    with Store(folder, read_only=True) as store:
        return store.keys("done")


def test_there_and_back_again(publish, tmp_path):
    folder, runs, other = measured(tmp_path / "a"), tmp_path / "runs", tmp_path / "b"
    assert publish.save_runs(folder, runs) == 8
    assert sorted(contents(runs)) == ["MUTAG.jsonl.gz", "study.json"]
    assert publish.restore(runs, other) == 8
    assert keys(other) == keys(folder)
    assert load_studies(other) == load_studies(folder)
    assert publish.restore(runs, other) == 0  # once is enough
    before = contents(runs)
    assert publish.save_runs(other, runs) == 8
    assert contents(runs) == before


def test_four_digits_and_the_curves_that_are_read(publish, tmp_path):
    publish.save_runs(measured(tmp_path / "a"), tmp_path / "runs")
    publish.restore(tmp_path / "runs", tmp_path / "b")
    with Store(tmp_path / "b", read_only=True) as store:
        records = list(store.records())
    assert all(record.host == "" for record in records)
    curves = {name for record in records for name in record.result.curves}
    assert curves == {"test_accuracy", "test_loss", "validation_accuracy", "validation_loss"}
    values = [value for r in records for curve in r.result.curves.values() for value in curve]
    assert all(value == float(f"{value:.4g}") for value in values)
    assert {name for record in records for name in record.result.metrics} == {
        *("accuracy", "nll", "ece")
    }


def test_published_runs_are_never_lost(publish, tmp_path):
    runs = tmp_path / "runs"
    publish.save_runs(measured(tmp_path / "a"), runs)
    before = contents(runs)
    part = measured(tmp_path / "b", every=2)
    with pytest.raises(SystemExit, match=r"lacks 4 published runs.*--restore"):
        publish.save_runs(part, runs)
    assert contents(runs) == before
    publish.restore(runs, part)
    publish.save_runs(part, runs)
    assert contents(runs) == before


def test_a_new_machine_goes_on_from_them(publish, tmp_path):
    runs = tmp_path / "runs"
    publish.save_runs(measured(tmp_path / "a"), runs)
    further = measured(tmp_path / "b", folds=3, variants=("none", "drop_edge"))
    publish.restore(runs, further)
    (study,) = load_studies(further)
    assert {trial.name for trial in study.trials} == {"none", "ifmixup", "drop_edge"}
    assert publish.save_runs(further, runs) == 8 + 2 + 6
    assert publish.published_keys(runs) == keys(further)


def test_what_cannot_be_published(publish, tmp_path, monkeypatch):
    folder = measured(tmp_path / "a")
    monkeypatch.setattr(publish, "MOST_BYTES", 10)
    with pytest.raises(SystemExit, match="at most 10"):
        publish.save_runs(folder, tmp_path / "runs")
    assert contents(tmp_path / "runs") == {}
    (folder / "study.json").unlink()
    with pytest.raises(SystemExit, match=r"no study\.json"):
        publish.save_runs(folder, tmp_path / "runs")


def test_a_damaged_file_is_not_read_in_part(publish, tmp_path):
    publish.save_runs(measured(tmp_path / "a"), tmp_path / "runs")
    path = tmp_path / "runs" / "MUTAG.jsonl.gz"
    lines = publish.gzip.decompress(path.read_bytes()).splitlines()
    values = json.loads(lines[0])
    values["spec"]["seed"] = 1
    lines[0] = json.dumps(values).encode()
    path.write_bytes(publish.gzip.compress(b"\n".join(lines)))
    with pytest.raises(SystemExit, match="1 runs cannot be read"):
        publish.restore(tmp_path / "runs", tmp_path / "b")


def test_tables_and_readme(publish, tmp_path):
    runs, tables = tmp_path / "runs", tmp_path / "tables"
    text = f"a\n{publish.BEGIN}old\n{publish.END}b\n"
    publish.make_tables(publish.read(runs), tables)
    assert not tables.exists()
    without = publish.with_table(text, publish.read(runs))
    assert "measured again" in without
    assert without.startswith("a\n")
    assert without.endswith("b\n")
    publish.save_runs(measured(tmp_path / "a"), runs)
    publish.make_tables(publish.read(runs), tables)
    assert sorted(contents(tables)) == ["counts.md", "gcn.md", "gcn.tex", "main.md"]
    made = publish.with_table(without, publish.read(runs))
    assert "| dataset | GCN: accuracy, % |" in made
    assert "**On held-out graphs, ifMixup changes accuracy by" in made
    assert "measured again" not in made
    assert publish.with_table(made, publish.read(runs)) == made


def test_studies_of_another_kind_are_kept_as_they_are(publish, tmp_path):
    folder = measured(tmp_path / "a")
    save_studies(folder, [study_of()])
    publish.save_runs(folder, tmp_path / "runs")
    publish.restore(tmp_path / "runs", tmp_path / "b")
    assert [study.name for study in load_studies(tmp_path / "b")] == ["gcn", "MUTAG"]


def test_the_committed_tables_follow_from_the_committed_runs(publish, tmp_path):
    studies = publish.read(publish.RUNS)
    publish.make_tables(studies, tmp_path / "tables")
    made, kept = (
        {path.name: path.read_text() for path in folder.glob("*")}
        for folder in (tmp_path / "tables", publish.TABLES)
    )
    assert made == kept
    text = publish.README.read_text()
    assert publish.with_table(text, studies) == text
    assert publish.findings(studies) == publish.FINDINGS.read_text()
    assert publish.FIGURE.exists() == publish.save_readings(studies, tmp_path / "figure.png")


def test_findings_answer_first(publish, tmp_path):
    assert "Nothing has been measured yet" in publish.findings(None)
    folder = measured(tmp_path / "a", folds=5, variants=("none", "ifmixup", WHOLE_NODES))
    publish.save_runs(folder, tmp_path / "runs")
    studies = publish.read(tmp_path / "runs")
    page = publish.findings(studies)
    assert page.startswith("# What we found\n\n**On held-out graphs, ifMixup changes accuracy by")
    assert "| MUTAG | " in page
    assert "Not run yet: `python results/run.py 6`." in page
    assert publish.save_readings(studies, tmp_path / "readings.png")
    assert (tmp_path / "readings.png").stat().st_size > 10_000


def test_committed_runs_are_small_and_finished(publish):
    files = list(publish.RUNS.glob("*"))
    assert sum(path.stat().st_size for path in files) <= publish.MOST_BYTES
    studies = publish.read(publish.RUNS)
    assert (studies is not None) == bool(files)
    for record in () if studies is None else studies.records:
        assert record.result is not None


def test_the_settings_are_those_that_the_search_chose():
    if not (RESULTS / "search" / "study.json").exists():
        pytest.skip("no search is published")
    search = imported("search")
    page, recommended = search.texts(RESULTS / "search")
    assert (RESULTS / "search" / "README.md").read_text(encoding="utf-8") == page
    assert search.RECOMMENDED.read_text(encoding="utf-8") == recommended


def test_the_keys_of_published_runs_are_still_those_of_their_content():
    paths = sorted(RESULTS.glob("search/*.jsonl.gz"))
    assert paths
    for path in paths:
        with gzip.open(path, "rt") as lines:
            for values in map(json.loads, lines):
                assert RunSpec.of(values["spec"]).key == values["key"]


@pytest.fixture(scope="module")
def methods():
    return imported("methods")


def test_all_methods_are_compared_published_and_continued(methods, publish, tmp_path):
    mutag = packed("MUTAG")
    folder, found = tmp_path / "runs", tmp_path / "methods"
    names = ("none", "drop_edge", "g_mixup")
    how = {"models": ("gcn", "gin"), "methods": names, "epochs": 1, "folds": 3}
    methods.run(mutag, folder, Here(), **how)
    publish.save_runs(folder, found)
    assert sorted(contents(found)) == ["MUTAG.jsonl.gz", "study.json"]
    methods.write(found)
    text = (found / "README.md").read_text()
    assert text.startswith("# All methods compared\n\nOf 4 comparisons with `none` on 1 dataset, ")
    assert "To try first: for molecules " in text
    assert "too few for a critical-difference diagram" in text
    for line in ("## Mean ranks over MUTAG", "## MUTAG, GCN", "## MUTAG, GIN"):
        assert line in text.splitlines()
    rows = [line for line in text.splitlines() if line.startswith("| G-Mixup |")]
    assert len(rows) == 3  # ranks and both models
    assert rows[1].split("|")[-2].strip().endswith(" s")  # the time of the fit

    # A new machine restores them, and has nothing to do.
    publish.restore(found, tmp_path / "again")
    engine = Here()
    engine.execute = lambda tasks, *_: pytest.fail(f"{len(tasks)} runs") if tasks else iter(())
    methods.run(mutag, tmp_path / "again", engine, **how)


def test_methods_have_one_setting_per_dataset_and_model_and_published_defaults(methods, tmp_path):
    specs = []

    class Planned:
        def execute(self, tasks, data, watcher=None):
            specs.extend(spec for spec, _ in tasks)
            yield from ()

    methods.run(packed("MUTAG"), tmp_path, Planned())
    assert len(specs) == 2 * 14 * 10
    assert {spec.settings.epochs for spec in specs} == {200}
    for model in ("gcn", "gin"):
        mine = [spec for spec in specs if spec.model.name == model]
        assert len({(spec.settings, spec.model) for spec in mine}) == 1
    assert {
        dict(s.method.options)["alpha"] for s in specs if s.method.name == "manifold_mixup"
    } == {2}
