from dataclasses import fields

import pytest
import tyro

from ifmixup.cli.settings_options import SettingsOptions, typed
from ifmixup.training import Settings


def parse(*words: str) -> dict:
    return typed(tyro.cli(SettingsOptions, args=words))


def test_only_what_was_typed_counts():
    assert parse() == {}
    assert parse("--layers", "5") == {"layers": 5}  # also where it is the default
    words = ["--learning-rate", "1e-3", "--use-edge-attr", "--shuffle-every", "10"]
    expected = {"learning_rate": 0.001, "use_edge_attr": True, "shuffle_every": 10}
    assert parse(*words) == expected


def test_every_setting_is_an_option_with_its_help(capsys):
    with pytest.raises(SystemExit):
        parse("--help")
    output = " ".join(capsys.readouterr().out.split())
    for field in fields(Settings):
        assert f"--{field.name.replace('_', '-')}" in output
    assert "(default: 350)" in output
    assert "None}|" not in output
