"""The published tables are made of the published runs, and of nothing else."""

import importlib.util
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[1] / "results"
pytestmark = pytest.mark.skipif(
    not (RESULTS / "paper" / "experiments.json").exists(),
    reason="results/ comes with the repository only",
)


@pytest.fixture(scope="module")
def publish():
    spec = importlib.util.spec_from_file_location("publish", RESULTS / "publish.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def studies(publish):
    return publish.read(RESULTS / "paper")


def test_nothing_is_left_out_or_missing(studies):
    assert not studies.notes
    assert all(record.result is not None for record in studies.records)


def test_the_tables_follow_from_the_runs(publish, studies, tmp_path):
    publish.make_tables(studies, RESULTS / "search", tmp_path)
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text() for path in (RESULTS / "tables").iterdir()}
    assert made == kept


def test_the_readme_shows_the_main_table(publish, studies):
    text = publish.README.read_text()
    assert publish.with_table(text, studies) == text


def test_publishing_again_changes_no_number(publish, studies, tmp_path):
    (tmp_path / "paper").mkdir()
    with publish.Store(tmp_path / "store") as store:
        store.merge(studies.records)
    for name in ("experiments.json", "commands.txt"):
        (tmp_path / "store" / name).write_bytes((RESULTS / "paper" / name).read_bytes())
    publish.save_runs(tmp_path / "store", tmp_path / "paper")
    kept = {path.name: path.read_bytes() for path in (RESULTS / "paper").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "paper").iterdir()} == kept


def test_publishing_less_than_there_is_is_refused(publish, studies, tmp_path):
    dataset = studies.records[0].spec.dataset
    with publish.Store(tmp_path) as store:
        store.merge([record for record in studies.records if record.spec.dataset != dataset])
    for name in ("experiments.json", "commands.txt"):
        (tmp_path / name).write_bytes((RESULTS / "paper" / name).read_bytes())
    before = {path.name: path.read_bytes() for path in (RESULTS / "paper").iterdir()}
    with pytest.raises(SystemExit, match=r"lacks .* runs that are published"):
        publish.save_runs(tmp_path, RESULTS / "paper")
    assert {path.name: path.read_bytes() for path in (RESULTS / "paper").iterdir()} == before
