import importlib.util
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_loop_with_one_added_line(monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("quickstart", EXAMPLES / "quickstart.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDS", 2)
    monkeypatch.setattr(module, "EPOCHS", 1)
    module.main()
    output = capsys.readouterr().out
    assert "with ifMixup" in output
    assert "without" in output
