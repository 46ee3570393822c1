import json
import sys

from engine_here import Here
from ifmixup.data import load
from ifmixup.paper import search as module
from ifmixup.paper.search import main, search
from ifmixup.study.store import Store
from ifmixup.training import pack

GRID = {"learning_rate": [1e-9, 0.02], "layers": [1, 2], "hidden": [2, 4], "dropout": [0.0, 0.5]}


def test_the_best_setting_of_each_model_and_method(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAPER_GRID", GRID)
    engine = Here()
    with Store(tmp_path) as store:
        found = search(pack(load("MUTAG")[:60]), store, engine, epochs=12)
    assert set(found) == {"gcn", "gin"}
    for methods in found.values():
        assert set(methods) == {"none", "ifmixup"}
        for best in methods.values():
            assert set(best["settings"]) == set(GRID)
            assert 0 <= best["validation_accuracy"] <= 1
    assert all(spec.protocol == "holdout" for spec in engine.ran)  # test graphs choose nothing


def test_the_command_writes_what_it_found(tmp_path, monkeypatch, capsys):
    found = {"gcn": {"none": {"settings": {"layers": 3}, "validation_accuracy": 0.9}}}
    monkeypatch.setattr(module, "search", lambda *_, **__: found)
    monkeypatch.setattr(sys, "argv", ["search", "MUTAG", "--folder", str(tmp_path)])
    main()
    assert json.loads(capsys.readouterr().out) == {"MUTAG": found}
    assert json.loads((tmp_path / "MUTAG.json").read_text()) == {"MUTAG": found}
