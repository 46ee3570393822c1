import pytest

from ifmixup.cli.config import as_arguments, expand_config, read_config, to_toml
from ifmixup.errors import InputError


def test_options_of_a_file_stand_before_those_typed(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('epochs = 5\nmodels = ["gcn", "gin"]\nuse_edge_attr = true\nresume = false\n')
    typed = ["compare", "MUTAG", "--epochs", "7", "--config", str(path)]
    assert expand_config(typed) == [
        "compare", "MUTAG", "--epochs", "5", "--models", "gcn", "gin", "--use-edge-attr",
        "--no-resume", "--epochs", "7",
    ]  # fmt: skip
    assert expand_config(["compare", f"--config={path}"])[1:3] == ["--epochs", "5"]


def test_without_a_file_nothing_changes():
    assert expand_config(["audit", "MUTAG"]) == ["audit", "MUTAG"]
    assert expand_config([]) == []


def test_yaml(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text("epochs: 5\nmodels: [gcn, gin]\n")
    assert as_arguments(read_config(path)) == ["--epochs", "5", "--models", "gcn", "gin"]


def test_what_is_printed_can_be_read(tmp_path):
    values = {"name": 'a "b" \\ c', "rate": 0.0005, "models": ("gcn", "gin"), "on": True, "n": 3}
    path = tmp_path / "printed.toml"
    path.write_text(to_toml({**values, "nothing": None}))
    assert read_config(path) == {**values, "models": ["gcn", "gin"]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{}", "is .toml, .yaml or .yml; got a.json"),
        ("a.toml", "epochs = ", "a.toml cannot be read"),
        ("a.yaml", "a: [", "a.yaml cannot be read"),
        ("a.yaml", "- 1", "must hold options by name"),
        ("a.yaml", "!!python/object/apply:os.system ['true']", "cannot be read"),
        ("a.toml", None, "cannot be read"),
    ],
)
def test_files_that_do_not_work(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_config(path)


def test_tables_and_missing_names():
    with pytest.raises(InputError, match="'model' is a table"):
        as_arguments({"model": {"hidden": 3}})
    with pytest.raises(InputError, match="--config needs the name"):
        expand_config(["compare", "--config"])


def test_a_list_at_the_end_of_a_file_does_not_swallow_the_dataset(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('models = ["gcn", "gin"]\n')
    words = expand_config(["compare", "MUTAG", "--config", str(path), "--folds", "3"])
    assert words == ["compare", "MUTAG", "--models", "gcn", "gin", "--folds", "3"]
