import json

import pytest

from engine_here import Here
from ifmixup.errors import StoreError
from ifmixup.paper.manifest import FILE_NAME, load_cells, save_manifest
from ifmixup.paper.plan import plan
from ifmixup.paper.reproduce import reproduce
from ifmixup.paper.scale import Scale
from ifmixup.study.store import Store


def test_the_cells_come_back_from_the_folder_alone(tmp_path, gcn_plan):
    save_manifest(tmp_path, [gcn_plan])
    with Store(tmp_path) as store:
        assert load_cells(tmp_path) == []
        cells = reproduce(gcn_plan, store, Here(), progress=False)
    found = load_cells(tmp_path)
    assert [cell.reading for cell in found] == [cell.reading for cell in cells]
    assert [cell.variant for cell in found] == [cell.variant for cell in cells]
    assert [cell.published for cell in found] == [cell.published for cell in cells]


def test_experiments_add_up_and_the_same_one_is_replaced(tmp_path, gcn_plan):
    (gat,) = plan(["gat"], Scale("tiny", 1, 2, 1, 60), datasets=["MUTAG"])
    for plans in ([gcn_plan], [gat], [gcn_plan]):
        save_manifest(tmp_path, plans)
    entries = json.loads((tmp_path / FILE_NAME).read_text())
    assert len(entries) == 12 + 3


def test_a_folder_without_experiments_has_none(tmp_path):
    assert load_cells(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    ["no json", "{}", "[1]", '[{"experiment": "gcn"}]', "[" * 100_000],
    ids=["text", "object", "number", "part", "deep"],
)
def test_a_file_that_is_no_manifest(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(StoreError, match=FILE_NAME):
        load_cells(tmp_path)


def test_a_quick_look_does_not_take_the_place_of_a_longer_run(tmp_path, gcn_plan):
    (quick,) = plan(["gcn", "gat"], Scale("quick", 1, 2, 1, 60), datasets=["MUTAG"])
    assert save_manifest(tmp_path, [gcn_plan]) == []
    before = json.loads((tmp_path / FILE_NAME).read_text())
    assert save_manifest(tmp_path, [quick]) == ["gcn"]
    after = json.loads((tmp_path / FILE_NAME).read_text())
    assert after[: len(before)] == before
    assert {entry["experiment"] for entry in after[len(before) :]} == {"gat"}
    assert save_manifest(tmp_path, [gcn_plan]) == []


@pytest.mark.parametrize(
    "changes",
    [{"protocol": "holdout"}, {"dataset": "PTC_MR"}, {"variant": "ifmixup"}, {"experiment": "gin"}],
    ids=lambda changes: next(iter(changes)),
)
def test_runs_under_a_wrong_name_are_refused(tmp_path, gcn_plan, changes):
    save_manifest(tmp_path, [gcn_plan])
    with Store(tmp_path) as store:
        reproduce(gcn_plan, store, Here(), progress=False)
    path = tmp_path / FILE_NAME
    (entry, *_) = json.loads(path.read_text())
    assert (entry["variant"], entry["protocol"]) == ("none", "paper")
    path.write_text(json.dumps([entry | changes]))
    with pytest.raises(StoreError, match="names runs of something else"):
        load_cells(tmp_path)
