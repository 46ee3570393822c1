"""The digest of a user's class, and its way to another process."""

import importlib
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ifmixup.components import resolve
from ifmixup.errors import ComponentError
from ifmixup.source_code import pickle_classes, source_digest

NET = '''
"""A module."""
from torch import nn
from helper import width

class Net(nn.Module):
    """A network."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, width(out_channels))  # a comment

    def forward(self, x, edge_index, edge_weight, batch):
        return self.linear(x)
'''
HELPER = "def width(n):\n    return n + 0\n"


def digest_of(folder: Path, name: str = "nets.py:Net") -> str | None:
    """As another process computes it, which has not loaded the files yet."""
    forget(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        return resolve("model", name).spec.source


def forget(folder: Path) -> None:
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(folder)):
            del sys.modules[name]
    importlib.invalidate_caches()


def python(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "nets.py").write_text(NET)
    (tmp_path / "helper.py").write_text(HELPER)
    monkeypatch.chdir(tmp_path)
    for name in ("nets", "helper", "pkg", "pkg.nets", "pkg.helper"):
        sys.modules.pop(name, None)  # of another test that had a file of this name
    yield tmp_path
    forget(tmp_path)


def load(folder: Path, name: str = "Net") -> type:
    return resolve("model", f"{folder / 'nets.py'}:{name}").cls


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_comments_docstrings_and_formatting_do_not_change_it(folder):
    before = source_digest(load(folder))
    edit(folder / "nets.py", "# a comment", "# another one")
    edit(folder / "nets.py", '"""A network."""', '"""Another text,\n\n    longer."""')
    edit(folder / "nets.py", '"""A module."""', "")
    edit(
        folder / "nets.py",
        "(self, in_channels, out_channels)",
        "(self,in_channels,\n  out_channels)",
    )
    edit(folder / "helper.py", "def", "# why\n\ndef")
    assert source_digest(load(folder)) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("nets.py", "self.linear(x)", "self.linear(x).relu()"),
        ("nets.py", "in_channels, out_channels):", "in_channels, out_channels, depth=1):"),
        ("helper.py", "n + 0", "n + 1"),
    ],
)
def test_code_and_helpers_in_the_same_folder_change_it(folder, file, old, new):
    before = load(folder)
    digest = source_digest(before)
    edit(folder / file, old, new)
    after = load(folder)
    assert after is not before  # the edited code is what is loaded
    assert source_digest(after) != digest


def test_helpers_are_followed_through_packages_and_relative_imports(folder):
    layers = folder / "layers"
    layers.mkdir()
    (layers / "__init__.py").write_text("from .conv import width\n")
    (layers / "conv.py").write_text("from . import deep\n\ndef width(n):\n    return deep.N + n\n")
    (layers / "deep.py").write_text("N = 0\n")
    edit(folder / "nets.py", "from helper import", "from layers import")
    found = {digest_of(folder)}
    for name, old, new in (
        ("deep.py", "N = 0", "N = 1"),
        ("conv.py", "+ n", "- n"),
        ("__init__.py", "from .conv", "X = 1\nfrom .conv"),
    ):
        edit(layers / name, old, new)
        found.add(digest_of(folder))
    assert len(found) == 4
    (folder / "unrelated.py").write_text("A = 1\n")
    assert digest_of(folder) in found


def test_neither_folder_nor_file_name_nor_way_of_import_is_in_it(folder, tmp_path):
    before = digest_of(folder)
    assert digest_of(folder, "nets:Net") == before
    forget(folder)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "model.py").write_text(NET)
    (other / "helper.py").write_text(HELPER)
    assert digest_of(other, "model.py:Net") == before
    package = other / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "nets.py").write_text(NET.replace("from helper", "from pkg.helper"))
    (package / "helper.py").write_text(HELPER)
    first = digest_of(other, "pkg.nets:Net")
    edit(package / "helper.py", "n + 0", "n + 1")
    assert digest_of(other, "pkg.nets:Net") != first


def test_an_edited_file_whose_old_code_is_still_loaded_is_refused(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    nets = importlib.import_module("nets")
    before = source_digest(nets.Net)
    edit(folder / "helper.py", "n + 0", "n + 12345")
    with pytest.raises(
        ComponentError, match=r"helper.py was edited after Net was imported.*reload"
    ):
        source_digest(nets.Net)
    importlib.reload(importlib.import_module("helper"))
    old = nets.Net
    importlib.reload(nets)
    assert source_digest(nets.Net) != before
    with pytest.raises(ComponentError, match=r"nets was loaded again after Net was imported"):
        source_digest(old)


def test_a_file_that_is_not_python(folder):
    source_digest(load(folder))
    (folder / "helper.py").write_text("def width(:\n")
    with pytest.raises(ComponentError, match=r"helper.py, line 1, is not valid Python"):
        load(folder)


SCRIPT = '''
from torch import nn
from helper import width
from ifmixup.source_code import source_digest, pickle_classes

WIDTH = 3

def extra(n):
    return n + WIDTH

def norm(x):
    return x

class Base(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, width(out_channels))

class Net(Base):
    """A network."""

    def forward(self, x, edge_index, edge_weight, batch):
        return norm(self.linear(x)) + extra(0) * 0

class Unused(nn.Module):
    def norm(self):
        return 1

DIGEST = source_digest(Net)
'''


def test_a_class_of_a_script_and_what_it_uses(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    script = folder / "script.py"

    def digest(old: str = "", new: str = "") -> str:
        assert old in SCRIPT
        forget(folder)
        script.write_text(SCRIPT.replace(old, new))
        return runpy.run_path(str(script), run_name="__main__")["DIGEST"]

    before = digest()
    assert digest("class Unused(", "class Other(") == before
    assert digest("        return 1", "        return 2") == before
    assert digest('"""A network."""', '"""Another text."""') == before
    changed = [
        digest("WIDTH = 3", "WIDTH = 4"),
        digest("return n + WIDTH", "return n - WIDTH"),
        digest("    return x", "    return -x"),
        digest("nn.Linear(", "nn.LazyLinear("),
        digest("* 0", "* 1"),
    ]
    assert len({before, *changed}) == 6
    edit(folder / "helper.py", "n + 0", "n + 1")
    assert digest() not in {before, *changed}


@pytest.mark.parametrize("module", ["__main__", "nowhere"])
def test_code_that_is_nowhere(module):
    names = {"__name__": module}
    exec("class Net:\n    def forward(self):\n        pass", names)
    with pytest.raises(ComponentError, match=r"source code of Net.*cannot be found"):
        source_digest(names["Net"])


RECEIVE = """
import sys, torch
from torch_geometric.data import Batch, Data
from ifmixup.source_code import unpickle_classes
cls, *methods = unpickle_classes(open(sys.argv[1], 'rb').read())
net = cls(in_channels=2, out_channels=3)
print(tuple(net(torch.ones(1, 2), None, None, None).shape))
batch = Batch.from_data_list([Data(x=torch.ones(1, 2), y=torch.tensor([0]))])
for method in methods:
    found = method(3).fit([batch[0]])
    print(found.fitted, found.per_graph, found.loss(net, batch, lambda out, y: y.sum()))
"""
METHOD = """

from ifmixup.augment import Method

class Own(Method):
    def fit(self, graphs):
        self.fitted = width(graphs.num_graphs)

    def draw(self, graphs):
        return None

    def loss(self, model, graphs, criterion):
        return 2 * super().loss(model, graphs, criterion)
"""


def test_classes_reach_a_process_that_does_not_have_their_files(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "nets.py").write_text(NET + METHOD)
    classes = [load(folder), resolve("method", f"{folder / 'nets.py'}:Own").cls]
    (elsewhere / "classes.bin").write_bytes(pickle_classes(classes))
    found = python(elsewhere, "-c", RECEIVE, "classes.bin")
    assert found.splitlines() == ["(1, 3)", "1 False tensor(2.)"]


def test_a_class_of_a_script_reaches_it_too(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    send = f"open({str(elsewhere / 'classes.bin')!r}, 'wb').write(pickle_classes([Net]))"
    (folder / "script.py").write_text(f"{SCRIPT}\n{send}\nprint(DIGEST)\n")
    digest = python(folder, "script.py")
    assert len(digest) == 24
    assert python(elsewhere, "-c", RECEIVE, "classes.bin") == "(1, 3)"


def test_a_class_that_cannot_be_sent_says_why(folder):
    edit(folder / "nets.py", "class Net", "LOCK = __import__('threading').Lock()\n\nclass Net")
    edit(folder / "nets.py", "return self.linear(x)", "return self.linear(x) if LOCK else x")
    with pytest.raises(ComponentError, match=r"Net cannot be sent to a worker: TypeError.*lock"):
        pickle_classes([load(folder)])
