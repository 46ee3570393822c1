import json
import sys

from engine_here import Here
from ifmixup.data import load
from ifmixup.paper import search as module
from ifmixup.paper.search import main, search
from ifmixup.study.halving import Rung
from ifmixup.study.store import Store
from ifmixup.training import pack

GRID = {"learning_rate": [1e-9, 0.02], "layers": [1, 2], "alpha,beta": [(1.0, 1.0), (20.0, 1.0)]}
FIRST = Rung(4, folds=1, epochs=2, keep=2)
LAST = Rung(3, folds=2, epochs=4, keep=1)


def test_the_best_setting_of_each_model_and_method(tmp_path):
    engine = Here()
    with Store(tmp_path) as store:
        data = pack(load("MUTAG")[:60])
        found = search(data, store, engine, grid=GRID, first=FIRST, last=LAST)
    assert set(found) == {"gcn", "gin"}
    for methods in found.values():
        assert set(methods) == {"none", "ifmixup"}
        for method, best in methods.items():
            own = {"alpha", "beta"} if method == "ifmixup" else set()
            assert set(best["settings"]) == {"learning_rate", "layers"} | own
            assert 0 <= best["steady_validation_accuracy"] <= 1
        # what is compared differs in the method alone
        both = [
            {k: v for k, v in best["settings"].items() if k not in ("alpha", "beta")}
            for best in methods.values()
        ]
        assert both[0] == both[1]
    assert all(spec.protocol == "holdout" for spec in engine.ran)  # test graphs choose nothing
    # for each model: both methods try four settings on one fold, then two of them and the one that
    # is recommended in general on two folds, and ifmixup a second distribution of λ
    assert len(engine.ran) == 2 * (2 * (4 + 3 * 2) + 2)


def test_the_command_writes_what_it_found(tmp_path, monkeypatch, capsys):
    found = {"gcn": {"none": {"settings": {"layers": 3}, "validation_accuracy": 0.9}}}
    monkeypatch.setattr(module, "search", lambda *_, **__: found)
    monkeypatch.setattr(sys, "argv", ["search", "MUTAG", "--folder", str(tmp_path)])
    main()
    assert json.loads(capsys.readouterr().out) == {"MUTAG": found}
    assert json.loads((tmp_path / "MUTAG.json").read_text()) == {"MUTAG": found}


def test_the_command_searches_a_part_of_the_grid(tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(module, "search", lambda *_, **options: asked.update(options) or {})
    narrow = ["--layers", "5", "--hidden", "64", "--keep", "2", "--epochs", "100"]
    monkeypatch.setattr(sys, "argv", ["search", "MUTAG", "--folder", str(tmp_path), *narrow])
    main()
    assert (asked["grid"]["layers"], asked["grid"]["hidden"]) == ([5], [64])
    assert asked["grid"]["batch_size"] == [32, 128]
    rounds = [(rung.folds, rung.epochs, rung.keep) for rung in (asked["first"], asked["last"])]
    assert rounds == [(1, 60, 2), (5, 100, 1)]
