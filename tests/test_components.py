"""Models and methods by name, class, file and variant, and what is said about wrong ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from ifmixup import augment
from ifmixup.augment import IfMixup, Method
from ifmixup.components import (
    METHODS,
    MODELS,
    ClassSpec,
    Registry,
    build,
    check_complete,
    find_class,
    resolve,
    resolve_all,
    set_options,
    user_code,
    with_options,
)
from ifmixup.errors import ComponentError, InputError, InputTypeError


class Net(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        width: int = 8,
        dropout: float = 0,
        act: Callable = torch.relu,
        depths=(1, 2),
        *,
        norm: str | None = None,
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)
        self.width, self.norm = width, norm

    def forward(self, x, edge_index, edge_weight, batch):
        return self.linear(x)


class Anything(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.kwargs = kwargs


class Needy(nn.Module):
    def __init__(self, in_channels, out_channels, *, width):
        super().__init__()
        self.width = width


class Short(Method):
    """Leaves out what the library gives."""

    def __init__(self, std: float = 0.1):
        super().__init__()
        self.std = std


class Broken(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.layer = nn.Linear("wide", out_channels)


class TestWhatIsFound:
    def test_a_name(self):
        found = resolve("method", "ifmixup")
        assert found.cls is IfMixup
        assert found.spec.target == "ifmixup.augment:IfMixup"
        assert found.spec.source is None
        assert dict(found.spec.options)["alpha"] == 20.0
        assert "generator" not in found.option_names()
        assert "num_classes" not in found.option_names()

    def test_a_class(self):
        found = resolve("model", Net)
        assert found.name == "Net"
        assert found.spec.target == f"{__name__}:Net"
        assert len(found.spec.source) == 24
        assert resolve("method", IfMixup) == resolve("method", "ifmixup")

    def test_a_file_and_a_module(self, tmp_path, monkeypatch):
        (tmp_path / "own_nets.py").write_text(
            "from torch import nn\n\n"
            "class Net(nn.Module):\n"
            "    def __init__(self, in_channels, out_channels, depth: int = 2):\n"
            "        super().__init__()\n"
        )
        by_file = resolve("model", f"{tmp_path / 'own_nets.py'}:Net")
        assert by_file.spec.target == "own_nets.py:Net"
        assert by_file.spec.options == (("depth", 2),)
        monkeypatch.syspath_prepend(tmp_path)
        by_module = resolve("model", "own_nets:Net")
        assert by_module.spec.target == "own_nets:Net"
        assert by_module.spec.identity == by_file.spec.identity
        del sys.modules["own_nets"]

    def test_two_files_of_one_name(self, tmp_path):
        for name, width in (("one", 1), ("two", 2)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "same_name.py").write_text(
                f"from torch import nn\n\nWIDTH = {width}\n\n"
                "class Net(nn.Module):\n"
                "    def __init__(self, in_channels, out_channels, width=WIDTH):\n"
                "        super().__init__()\n"
            )
        one, two = (
            resolve("model", f"{tmp_path / name / 'same_name.py'}:Net") for name in ("one", "two")
        )
        assert (one.spec.options, two.spec.options) == ((("width", 1),), (("width", 2),))
        assert find_class("model", one.spec) is one.cls is not two.cls

    def test_a_variant(self):
        found = resolve("method", "wide = ifmixup(alpha=1, beta=1, drop=[pos,z], pairing=self)")
        assert found.name == "wide"
        options = dict(found.spec.options)
        assert (options["alpha"], options["beta"]) == (1.0, 1.0)
        assert type(options["alpha"]) is float
        assert options["drop"] == ("pos", "z")
        assert options["pairing"] == "self"
        other = with_options("ifmixup", name="wide", alpha=1, beta=1, drop=["pos", "z"])
        assert other.with_options(pairing="self") == found
        assert resolve("method", found) is found

    def test_a_registered_name_of_the_users_own(self):
        augment.register("short")(Short)
        try:
            assert resolve("method", "short").spec.source is not None
            made = augment.create("short", 3, std=1, generator=torch.Generator())
            assert (made.std, made.num_classes) == (1.0, 3)
        finally:
            del METHODS._classes["short"]


class TestOptions:
    def test_are_the_signature_less_what_the_library_gives(self):
        found = resolve("model", Net)
        assert dict(found.spec.options) == {
            "depths": (1, 2),
            "dropout": 0.0,  # 0 is a float there
            "norm": None,
            "width": 8,
        }  # act is not a plain value

    def test_are_checked_and_converted(self):
        found = resolve("model", Net).with_options(width=4, dropout=1, depths=[3], norm="batch")
        assert dict(found.spec.options) == {
            "depths": (3,),
            "dropout": 1.0,
            "norm": "batch",
            "width": 4,
        }
        with pytest.raises(InputError, match=r"The option width of Net must be int; got 2.5"):
            found.with_options(width=2.5)
        with pytest.raises(InputError, match=r"Unknown option of model 'Net' 'widht'.*'width'"):
            found.with_options(widht=2)
        with pytest.raises(InputError, match=r"Unknown option of model 'Net' 'act'"):
            found.with_options(act="relu")

    def test_of_any_name(self):
        found = resolve("model", Anything).with_options(depth=3)
        made = found.build(in_channels=2, out_channels=4, edge_dim=None)
        assert made.kwargs == {"in_channels": 2, "out_channels": 4, "depth": 3}

    def test_without_a_default_must_be_given(self):
        found = resolve("model", Needy)
        with pytest.raises(InputError, match=r"needs the option 'width'.*'Needy\(width=\.\.\.\)'"):
            check_complete(found)
        check_complete(found.with_options(width=3))

    def test_for_several_go_to_those_that_take_them(self):
        net, anything = resolve_all("model", [Net, Anything])
        (method,) = resolve_all("method", "ifmixup")
        net, anything, method = set_options(
            [net, anything, method], {"width": 2, "alpha": 3, "own": "x"}
        )
        assert dict(net.spec.options)["width"] == 2
        assert dict(method.spec.options)["alpha"] == 3.0
        assert dict(anything.spec.options) == {"own": "x"}

    def test_defaults_of_a_registration_hold_for_the_class_and_its_children(self):
        registry = Registry("model", "ifmixup", ("in_channels", "out_channels"))

        class Child(Needy):
            pass

        class Other(Needy):
            def __init__(self, in_channels, out_channels, *, width=5):
                super().__init__(in_channels, out_channels, width=width)

        registry.register("needy", width=64)(Needy)
        found = [registry.options(cls)["width"].default for cls in (Needy, Child, Other)]
        assert found == [64, 64, 5]

    def test_an_annotation_that_cannot_be_resolved(self):
        class Odd(Method):
            def __init__(self, num_classes=None, *, std: Missing = 0.5, generator=None):  # noqa: F821
                super().__init__(num_classes, generator=generator)

        assert METHODS.options(Odd)["std"].hint is float


class TestBuilding:
    def test_a_class_gets_what_its_signature_names(self):
        net = resolve("model", Net).with_options(width=3)
        made = build("model", net.spec, in_channels=2, out_channels=4, edge_dim=7)
        assert (made.linear.in_features, made.linear.out_features, made.width) == (2, 4, 3)

    def test_a_method_has_what_its_signature_leaves_out(self):
        generator = torch.Generator()
        made = resolve("method", Short).build(num_classes=5, generator=generator)
        assert made.num_classes == 5
        assert made.generator is generator

    def test_an_error_shows_the_users_own_line(self):
        with pytest.raises(
            ComponentError,
            match=r"Broken\(in_channels, out_channels\) failed: TypeError.*test_components.py, "
            r'line \d+: self.layer = nn.Linear\("wide", out_channels\)',
        ):
            resolve("model", Broken).build(in_channels=2, out_channels=3)

    def test_an_error_inside_the_standard_library_does_too(self):
        line = pytest.raises(ComponentError, match=r"JSONDecodeError.*test_components.py, line")
        with line, user_code("Net.forward", Net):
            json.loads("{")

    def test_errors_of_our_own_classes_pass(self):
        with pytest.raises(InputError, match=r"^Unknown pairing"):
            with_options("ifmixup", pairing="x").build()

    def test_code_that_is_not_loaded(self):
        spec = ClassSpec("Net", "nets.py:Net", (), "0" * 24)
        with pytest.raises(ComponentError, match=r"'Net' \(nets.py:Net\) is not loaded.*--model"):
            find_class("model", spec)

    def test_a_class_that_claims_to_be_ours(self):
        with pytest.raises(ComponentError, match="not a method of ifmixup"):
            find_class("method", ClassSpec("x", "os:system"))
        with pytest.raises(InputError, match="Unknown method 'Path'"):
            find_class("method", ClassSpec("x", "ifmixup.components:Path"))


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("method", "ifmixpu", r"Unknown method 'ifmixpu'. Did you mean 'ifmixup'"),
        ("method", Net, r"Net is not a method: derive it from ifmixup.augment.Method"),
        ("model", IfMixup, r"IfMixup is not a model: derive it from torch.nn.Module"),
        ("model", dict, r"dict is not a model"),
        ("model", Net(2, 2), r"A model is a name .*, a class, or text.*; got Net"),
        ("model", nn.ReLU, r"ReLU.__init__ takes no in_channels and no out_channels.*in_channels="),
        ("model", "no_file.py:Net", r"There is no file 'no_file.py' to load a model from"),
        ("model", "no_module:Net", r"module 'no_module' cannot be imported.*'no_module.py:Class'"),
        ("model", "torch.nn:", r"'torch.nn:' does not name a class"),
        ("method", "ifmixup.augment:IfMixpu", r"Unknown class in ifmixup.augment.*'IfMixup'"),
        ("method", "ifmixup(alpha)", r"written as name=value, separated by commas; got 'alpha'"),
        ("method", "ifmixup(alpha=x)", r"The option alpha of ifmixup must be float; got 'x'"),
        ("method", "ifmixup(alhpa=1)", r"Unknown option of method 'ifmixup' 'alhpa'.*'alpha'"),
        ("method", "a=b=ifmixup", r"is not a method. Write a name, 'nets.py:Net', or a variant"),
        ("method", "../x=ifmixup", r"'../x' is not a name for a method: use up to 60 letters"),
        ("method", f"{'x' * 61}=ifmixup", r"is not a name for a method"),
        ("method", "", r"'' is not a method"),
    ],
)
def test_what_is_not_found(kind, given, message):
    with pytest.raises((InputError, InputTypeError, ComponentError), match=message):
        resolve(kind, given)


def test_a_file_that_raises(tmp_path: Path):
    path = tmp_path / "raises.py"
    path.write_text("x = 1\ny = x.missing\n")
    with pytest.raises(
        ComponentError, match=r"raises.py cannot be imported: AttributeError.*line 2"
    ):
        resolve("model", f"{path}:Net")
    path.write_text("class Net(\n")
    with pytest.raises(ComponentError, match=r"raises.py.*SyntaxError|raises.py, line 1"):
        resolve("model", f"{path}:Net")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a/b", "a=b", "\u202eabc"])
def test_names_that_are_refused(name):
    with pytest.raises(InputError, match="is not a name for a method"):
        with_options("ifmixup", name=name)


def test_our_names_cannot_be_taken():
    with pytest.raises(InputError, match=r"'ifmixup' is a method of ifmixup. Register Short under"):
        augment.register("ifmixup")(Short)


def test_several_each_once():
    assert [each.name for each in resolve_all("method", ["none", "ifmixup", "none"])] == [
        "none",
        "ifmixup",
    ]
    assert [each.name for each in resolve_all("model", Net)] == ["Net"]
    with pytest.raises(InputError, match=r"Two methods are called 'ifmixup'. Give one of them"):
        resolve_all("method", ["ifmixup", "ifmixup(alpha=1)"])


def test_a_model_is_not_a_method():
    with pytest.raises(InputTypeError, match="'Net' is a model, but a method is needed"):
        resolve("method", with_options(Net, width=2))
    with pytest.raises(InputError, match="Unknown model or method 'ginn'"):
        with_options("ginn")


def test_a_spec_survives_json():
    spec = with_options(Net, name="deep", depths=[1, [2, 3]]).spec
    assert ClassSpec.of(spec.to_dict()) == spec
    assert spec.class_name == "Net"
    assert spec.identity == resolve("model", Net).with_options(depths=(1, (2, 3))).spec.identity


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "is not an object"),
        ({"name": "a", "target": "b", "options": {}}, "has no source"),
        ({"name": 3, "target": "b", "options": {}, "source": None}, "name must be str; got 3"),
        ({"name": "a", "target": "b", "options": [], "source": None}, "is not an object"),
        (
            {"name": "a", "target": "b", "options": {"x": {}}, "source": None},
            "x in options",
        ),
        ({"name": "a", "target": "b", "options": {}, "source": 1}, "source must be"),
    ],
)
def test_a_spec_from_an_untrusted_file(values, message):
    with pytest.raises(InputError, match=message):
        ClassSpec.of(values)


def test_the_options_of_a_variant_are_its_own():
    wide, plain = resolve("method", "wide=ifmixup(alpha=1)"), resolve("method", "ifmixup")
    changed = set_options([wide, plain], {"alpha": 5.0, "beta": 2.0})
    assert [dict(each.spec.options)["alpha"] for each in changed] == [1.0, 5.0]
    assert [dict(each.spec.options)["beta"] for each in changed] == [2.0, 2.0]
    assert not wide.takes("alpha")
    assert plain.takes("alpha")


def test_all_are_those_with_a_name():
    first, *others = [each.name for each in resolve_all("method", "all")]
    assert first == "none"  # what the others are compared with
    assert others == [name for name in METHODS.names() if name != "none"]
    wide = with_options("ifmixup", name="wide", alpha=1.0)
    found = [each.name for each in resolve_all("method", ["none", "all", wide])]
    assert found[0] == "none"
    assert sorted(found) == sorted([*METHODS.names(), "wide"])


def test_a_file_without_a_class():
    with pytest.raises(InputError, match=r"'nets.py' names a file. .* such as 'nets.py:Net'"):
        resolve("model", "nets.py")


def test_how_papers_write_names():
    def titles(registry):
        found = [resolve(registry.kind, name).spec for name in registry.names()]
        return [registry.title(spec) for spec in found if spec.source is None]

    assert titles(MODELS) == ["GAT", "GATv2", "GCN", "GIN"]
    expected = "Attribute Masking,DropEdge,DropNode,Edge Perturbation,G-Mixup,Graph Transplant,"
    expected += "ifMixup,Manifold Mixup,MixupGraph,NodeSam,none,S-Mixup,Subgraph,SubMix"
    assert titles(METHODS) == expected.split(",")
    assert METHODS.title(with_options("ifmixup", name="wide", alpha=1).spec) == "wide"
    assert METHODS.title(with_options("ifmixup", name="drop_edge").spec) == "drop_edge"


def test_a_class_of_the_users_is_called_by_its_name():
    class Noise(Method):
        pass

    assert METHODS.title(resolve("method", Noise).spec) == "Noise"
