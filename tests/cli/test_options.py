from dataclasses import dataclass, fields
from inspect import signature
from pathlib import Path
from typing import Annotated

import pytest
import tyro

from ifmixup.cli.options import (
    EngineOptions,
    SettingsOptions,
    SourceOptions,
    resolved,
    shareable,
    typed,
)
from ifmixup.data import load
from ifmixup.errors import DatasetError, InputError
from ifmixup.study.engines.local import LocalEngine
from ifmixup.training.settings import Settings


def parse(*words: str) -> dict:
    return typed(tyro.cli(SettingsOptions, args=words, config=(tyro.conf.DisallowNone,)))


def test_only_settings_that_were_typed_count():
    assert parse() == {}
    assert parse("--epochs", "350") == {"epochs": 350}  # also where it is the default
    assert parse("--no-recompute-bn") == {"recompute_bn": False}
    words = ["--learning-rate", "1e-3", "--use-edge-attr", "--steps-per-epoch", "10"]
    expected = {"learning_rate": 0.001, "use_edge_attr": True, "steps_per_epoch": 10}
    assert parse(*words) == expected


def test_every_setting_is_an_option_with_its_help(capsys):
    with pytest.raises(SystemExit):
        parse("--help")
    output = " ".join(capsys.readouterr().out.split())
    for field in fields(Settings):
        assert f"--{field.name.replace('_', '-')}" in output
    assert "--epochs INT" in output
    assert "(default: 350)" in output


def test_each_option_of_a_source_is_one_of_load_with_the_same_default():
    of_load = signature(load).parameters
    for field in fields(SourceOptions):
        # Several metrics may be typed, which training understands; limits are of the process.
        if field.name not in ("metric", "max_bytes"):
            assert of_load[field.name].default == field.default


def test_they_reach_load(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("key,s,a,b\nx,C,1,0\ny,CC,,1\nz,XX,0,0\n")
    words = ["--smiles", "s", "--label", "a,b", "--identifier", "key", "--task", "values"]

    def command(options: Annotated[SourceOptions, tyro.conf.arg(name="")]) -> SourceOptions:
        return options

    options = tyro.cli(command, args=words)
    dataset = options.load(str(path))
    assert (dataset.ids, dataset.task, dataset.metric) == (["x", "y"], "values", "mae")
    assert len(dataset.skipped) == 1
    assert options.load(str(path), labelled=False)[0].y is None
    with pytest.raises(DatasetError, match="line 4: 'XX'"):
        tyro.cli(command, args=[*words, "--strict"]).load(str(path))


def test_the_root_of_names(tmp_path):
    with pytest.raises(DatasetError, match=str(tmp_path)):
        SourceOptions().load("ogb:ogbg-molhiv", tmp_path)


def test_the_local_engine_takes_workers_and_device():
    engine = EngineOptions(workers=3).make()
    assert isinstance(engine, LocalEngine)
    assert (engine.workers, engine.device) == (3, "cpu")


def test_an_unknown_engine():
    with pytest.raises(InputError, match=r"'rey'.*ray"):
        EngineOptions(engine="rey").make()


@dataclass
class Options:
    source: str
    settings: object
    reading: SourceOptions
    models: tuple[str, ...]
    splits: Path | None
    folder: Path | None
    print_config: bool = True


def test_resolved_options_are_plain_and_name_nothing_of_the_machine():
    options = Options(
        "/home/me/m.csv:smiles:label",
        SettingsOptions(epochs=3),
        SourceOptions(task="values"),
        ("gin", "/home/me/nets.py:Net", "w=../nets.py:Net(width=3)"),
        Path("/home/me/splits.json"),
        Path("/home/me/out"),
    )
    values = resolved(options, {"num_layers": 3})
    assert values == {
        "source": "/home/me/m.csv:smiles:label",
        "epochs": 3,
        "task": "values",
        "strict": False,
        "models": ["gin", "/home/me/nets.py:Net", "w=../nets.py:Net(width=3)"],
        "splits": "/home/me/splits.json",
        "folder": "/home/me/out",
        "num_layers": 3,
    }
    assert shareable(values) == {
        "source": "m.csv:smiles:label",
        "epochs": 3,
        "task": "values",
        "strict": False,
        "models": ["gin", "nets.py:Net", "w=nets.py:Net(width=3)"],
        "splits": "splits.json",
        "num_layers": 3,
    }
