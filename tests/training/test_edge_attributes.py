from dataclasses import replace

import pytest

from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.training.edge_attributes import unread_note, with_edge_attr
from ifmixup.training.known_data import is_papers, kind_of
from ifmixup.training.packed import pack
from ifmixup.training.recommended import starting_point
from ifmixup.training.run_spec import RunSpec
from ifmixup.training.settings import Settings


@pytest.fixture(scope="module")
def molecules():
    smiles = ["CCO", "CC", "c1ccccc1", "CCN", "CC=O", "C#N"]
    return pack(load(smiles, label=[0, 1, 0, 1, 0, 1]))


def decided(model, data, settings=None):
    spec = resolve("model", model).spec
    return with_edge_attr(settings or Settings(), spec, data).use_edge_attr


def test_gin_reads_bonds_where_there_are_some(molecules):
    assert decided("gin", molecules) is True
    assert decided("gcn", molecules) is False
    assert decided("gin", molecules.without_edge_attr()) is False
    assert decided("gin", molecules, Settings(use_edge_attr=False)) is False


def test_the_papers_datasets_stay_as_they_are(mutag):
    assert mutag.edge_dim == 4
    assert is_papers(mutag)
    assert decided("gin", mutag) is False
    assert decided("gin", pack(load("MUTAG", metric="roc_auc"))) is False
    assert unread_note(mutag, [resolve("model", "gcn")]) is None


def test_keys_of_runs_that_are_stored_stay_as_they_are(mutag):
    """The key that these runs had before models read edge attributes by default."""
    gin, ifmixup = resolve("model", "gin").spec, resolve("method", "ifmixup").spec
    for data in (mutag, mutag.without_edge_attr()):
        settings = with_edge_attr(Settings(), gin, data)
        spec = RunSpec("MUTAG", data.fingerprint, "fold", 0, 0, 0, settings, gin, ifmixup)
        assert spec.key == "d7918f9fd1223c1628432d7e"


def test_models_that_cannot_read_bonds_say_so(molecules):
    gcn, gin, gat = (resolve("model", name) for name in ("gcn", "gin", "gat"))
    assert unread_note(molecules, [gin]) is None
    note = unread_note(molecules, [gcn, gin])
    assert note.endswith("attributes (edge_attr), which gcn does not read; gin does.")
    assert "gcn, gat do not read" in unread_note(molecules, [gcn, gat])
    assert unread_note(molecules.without_edge_attr(), [gcn]) is None


def test_molecules_have_settings_of_their_own(molecules):
    assert kind_of(molecules) == "molecules"
    assert kind_of(replace(molecules, task="values")) == "regression on molecules"
    found = starting_point(molecules, resolve("model", "gin"), resolve("method", "ifmixup"))
    assert found.origin == "recommended for molecules and GIN"
    assert found.settings.epochs < Settings().epochs
    plain = pack(load(["CCO", "CC"], label=[0, 1], features="element"))
    assert kind_of(plain) is None
    start = starting_point(plain, resolve("model", "gin"), resolve("method", "none"))
    assert start.origin == "the defaults"
    assert (
        starting_point(
            molecules, resolve("model", "gin"), resolve("method", "none"), {"epochs": 3}
        ).settings.epochs
        == 3
    )
