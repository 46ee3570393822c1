import pytest

from ifmixup.cli import main
from ifmixup.cli.config import as_words, expand_config
from ifmixup.errors import InputError


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('epochs = 5\nmodels = ["gcn", "gin"]\nuse_edge_attr = true\nresume = false\n')
    return path


def test_options_of_a_file_stand_before_those_typed(study):
    assert expand_config(["MUTAG", "--folds", "7", "--config", str(study)]) == [
        "MUTAG", "--epochs", "5", "--models", "gcn", "gin", "--use-edge-attr", "--no-resume",
        "--folds", "7",
    ]  # fmt: skip
    assert expand_config([f"--config={study}"])[:2] == ["--epochs", "5"]


@pytest.mark.parametrize("typed", [["--epochs", "7"], ["--epochs=7"], ["--no-use-edge-attr"]])
def test_typed_options_override_a_file(study, typed):
    words = expand_config(["MUTAG", *typed, "--config", str(study)])
    name = typed[0].partition("=")[0].replace("--no-", "--")
    assert [word for word in words if name[2:] in word] == typed[:1]
    assert words[-len(typed) :] == typed


def test_underscores_are_dashes(study):
    words = expand_config(["--use_edge_attr", "--config", str(study)])
    assert "--use-edge-attr" not in words


def test_a_later_file_overrides_an_earlier_one(study, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("epochs: 9\nworkers: null\n")
    words = expand_config(["--config", str(study), "--config", str(other)])
    assert words.count("--epochs") == 1
    assert words[words.index("--epochs") + 1] == "9"
    assert "--workers" not in words


def test_without_a_file_nothing_changes():
    assert expand_config(["MUTAG", "--pairs", "3"]) == ["MUTAG", "--pairs", "3"]
    assert expand_config([]) == []


def test_values_as_they_would_be_typed():
    assert as_words({"scale": -0.5, "name": "--x", "widths": [16, 32], "none": None}) == [
        "--scale=-0.5", "--name=--x", "--widths", "16", "32",
    ]  # fmt: skip


def test_tables_and_missing_names(tmp_path):
    with pytest.raises(InputError, match=r"'gin' is a table.*gin3=gin"):
        as_words({"gin": {"num_layers": 3}})
    for words in (["--config"], ["--config="]):
        with pytest.raises(InputError, match="--config needs the name"):
            expand_config(words)
    with pytest.raises(InputError, match="cannot be read"):
        expand_config(["--config", str(tmp_path / "no.toml")])


def test_metrics_are_typed_one_by_one():
    assert as_words({"metric": ["roc_auc", "mcc"]}) == ["--metric", "roc_auc", "--metric", "mcc"]


def test_an_error_says_that_the_option_may_be_one_of_the_file(tmp_path, capsys):
    path = tmp_path / "c.yaml"
    path.write_text("learning_rate: 0w01\n")
    with pytest.raises(SystemExit):
        main(["compare", "MUTAG", "--config", str(path)])
    error = capsys.readouterr().err
    assert "Error parsing --learning-rate" in error
    assert error.endswith("ifmixup: the option may be one of the file after --config.\n")
