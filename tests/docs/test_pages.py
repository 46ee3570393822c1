"""Every code block of every page and of the README runs, and prints what the page says.

See docs/code_blocks.py for how a page says so. What cannot run here is named below, with the
reason; nothing else is left out.
"""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
import torch
from code_blocks import FILES, SHELLS, commands, file_of, find_blocks, matches

from engine_here import Here
from ifmixup.cli import main
from ifmixup.components import METHODS
from ifmixup.config_files import read_config

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/api").glob("*.md"))]
NAMES = [*(path.relative_to(ROOT).as_posix() for path in PAGES), "README.md", "CONTRIBUTING.md"]

# Commands that do not run here, by how they begin, and why.
NOT_RUN = {
    "pip install": "installs packages",
    "make ": "has a test, or takes minutes, of its own",
    "ray start": "starts a cluster",
    "IFMIXUP_DATA=folder/of/TU/zips make bench": "takes 25 minutes",
    ".venv/bin/python benchmarks/": "takes minutes",
}
# What is added to a command to make it fast; the last of two options counts.
SMALL_MODEL = ["--epochs", "1", "--batch-size", "128"]
SMALLER = {
    "audit": ["--pairs", "50"],
    "compare": [*SMALL_MODEL, "--folds", "2", "--repeats", "1"],
    "reproduce": ["--scale", "smoke", "--epochs", "1", "--repeats", "1", "--folds", "2"],
    "train": SMALL_MODEL,
}
# Directives whose text is not code; others are written with colons, and blocks in them are found.
DIRECTIVES = {"{toctree}", "{literalinclude}", "{include}", "{eval-rst}", "{automodule}"}
# What the README leaves to its reader: names, and files of molecules.
README = """
import ifmixup
import torch.nn.functional as F
from torch_geometric.loader import DataLoader
dataset = ifmixup.data.load("MUTAG")
model = ifmixup.nn.GIN(dataset.num_features, 8, 2, dataset.num_classes)
"""
MOLECULES = {
    "esol.csv": "smiles,logS\nCCO,1.1\nc1ccccc1,-1.6\nCC(=O)O,1.2\nOc1ccccc1,0.0\nc1ccoc1,-0.8\n"
    "Cc1ccco1,-1.0\nOC1CCCCC1,-0.4\nO=C1CCCCC1,-0.1\nc1ccncc1,0.8\nCc1ccncc1,0.2\n",
}
SHOWN = ROOT / "results" / "examples"  # whole outputs of commands of which the README shows parts


class HereWhatever(Here):
    """Runs in this process, whatever engine is asked for: workers need seconds to start."""

    def __init__(self, *_, **__):
        super().__init__()


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder, only the bundled dataset, and no other processes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IFMIXUP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    for engine in (
        "ifmixup.study.compare.LocalEngine",
        "ifmixup.study.engines.local.LocalEngine",
        "ifmixup.study.engines.ray.RayEngine",
    ):
        monkeypatch.setattr(engine, HereWhatever)
    # A page may register a method, which no other page should know.
    monkeypatch.setattr(METHODS, "_classes", dict(METHODS._classes))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_every_block_of_a_page_runs(name, workplace):
    namespace = {"__name__": "__main__"}
    torch.manual_seed(0)
    if name == "README.md":
        exec(README, namespace)
        for file, text in MOLECULES.items():
            Path(file).write_text(text)
    for block in find_blocks((ROOT / name).read_text(encoding="utf-8")):
        where = f"{name}, line {block.line}"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            if block.language == "python":
                file = write(block)
                code = "\n" * (block.line - 1) + block.text  # errors then name the line
                if file is not None:
                    code = file.read_text(encoding="utf-8")
                exec(compile(code, str(file or ROOT / name), "exec"), namespace)
            elif block.language in SHELLS:
                for command in commands(block):
                    run(command, where)
            elif block.language in FILES:
                write(block)
        if block.output is not None and name == "README.md" and block.language in SHELLS:
            assert any(is_part(block.output, path) for path in SHOWN.glob("*.txt")), where
        elif block.output is not None:
            said = f"{where} prints:\n{out.getvalue()}\nbut the page says:\n{block.output}"
            assert matches(block.output, out.getvalue()), said
    for test in [each for key, each in namespace.items() if key.startswith("test_")]:
        test()


def is_part(shown, path):
    """Whether all lines of ``shown`` are lines of a file, in their order; ``...`` is a gap."""
    rest = iter(path.read_text(encoding="utf-8").splitlines())
    return all(line in rest for line in shown.splitlines() if line != "...")


def run(command, where):
    """Run a command of ours; any other must be one that is known not to run here."""
    if is_left_out(command):
        return
    program, *words = shlex.split(command)
    assert program == "ifmixup", f"{where}: {command!r} is not run here; name it in NOT_RUN"
    if not {"--help", "--print-config"} & set(words):
        words += SMALLER.get(words[0], [])
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code or 0
    assert code == 0, f"{where}: {command!r} ends with {code}\n{errors.getvalue()}"


def write(block):
    """Write the file that a page shows, and return its path; None for any other block."""
    found = file_of(block)
    if found is None:
        return None
    path = Path(found[0]).absolute()
    path.write_text(found[1], encoding="utf-8")
    if block.language == "toml":
        read_config(path)
    return path


def is_left_out(command):
    return any(command.startswith(beginning) for beginning in NOT_RUN)


def test_what_is_not_run_is_little_and_is_there():
    everything = [
        (name, block)
        for name in NAMES
        for block in find_blocks((ROOT / name).read_text(encoding="utf-8"))
    ]
    lines = [
        line for _, block in everything if block.language in SHELLS for line in commands(block)
    ]
    for beginning in NOT_RUN:
        assert any(line.startswith(beginning) for line in lines), f"{beginning!r} is on no page"
    assert len(NOT_RUN) <= 8
    ours = [line for line in lines if line.startswith("ifmixup ")]
    assert sum(map(is_left_out, ours)) <= 0.1 * len(ours)


def test_every_block_is_of_a_kind_that_is_understood():
    understood = {"python", "text", *SHELLS, *FILES, *DIRECTIVES}
    for name in NAMES:
        for block in find_blocks((ROOT / name).read_text(encoding="utf-8")):
            assert block.language in understood, f"{name}, line {block.line}: {block.language!r}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "results/README.md"])
def test_links_to_files_lead_somewhere(name):
    page = ROOT / name
    links = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short(page):
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
