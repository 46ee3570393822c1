import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")
from public_names import exists, is_of_others, public_name, without_substitutions

DOCUMENTED = ["ifmixup.augment.Method", "ifmixup.augment.Method.draw", "ifmixup.mix", "ifmixup.a.X"]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("ifmixup.augment.method.Method", "ifmixup.augment.Method"),
        ("Method", "ifmixup.augment.Method"),
        ("ifmixup.augment.method.Method.draw", "ifmixup.augment.Method.draw"),
        ("torch.Tensor", None),
    ],
)
def test_a_name_leads_to_where_it_is_documented(target, name):
    assert public_name(target, DOCUMENTED) == name


def test_of_several_the_one_on_the_path_of_the_target():
    both = [*DOCUMENTED, "ifmixup.b.X"]
    assert public_name("ifmixup.b.c.X", both) == "ifmixup.b.X"
    assert public_name("X", both) is None


def test_names_that_exist_and_names_that_do_not():
    assert exists("ifmixup.nn.gat.GATConv")
    assert exists("ifmixup.mix")
    assert not exists("ifmixup.nn.gat.Nothing")
    assert not exists("ifmixup.nothing.at.all")
    assert not exists("torch.Tensor")


def test_bars_around_a_magnitude_are_only_bars():
    assert without_substitutions("with |λ − 0.5| < 1") == r"with \|λ − 0.5\| < 1"
    assert without_substitutions("``str | None`` or ``a | b``") == "``str | None`` or ``a | b``"


def test_methods_that_scikit_learn_makes_are_left_out():
    assert is_of_others("set_score_request")
    assert not is_of_others("set_params")
