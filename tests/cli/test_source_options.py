from dataclasses import fields
from inspect import signature
from typing import Annotated

import pytest
import tyro

from ifmixup.cli.source_options import SourceOptions
from ifmixup.data import load
from ifmixup.errors import DatasetError


def test_each_is_an_option_of_load_with_the_same_default():
    of_load = signature(load).parameters
    for field in fields(SourceOptions):
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
