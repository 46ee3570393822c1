"""What is imported, and how long a first answer takes."""

import json
import resource
import subprocess
import sys

import pytest

import ifmixup

HEAVY = {"torch", "torch_geometric", "numpy", "scipy", "sklearn", "ray", "matplotlib", "plotly"}
LIMIT = 0.5  # seconds of processor time, user and system


def imported(code: str) -> set[str]:
    """The packages that are imported after ``code`` has run in a new process."""
    report = "import json, sys; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    command = [sys.executable, "-c", f"{code}\n{report}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def processor_time(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "ifmixup", *words], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["comprae"]])
def test_the_first_answer_is_quick(words):
    # A busy machine makes any program slower: the best of a few counts.
    assert any(processor_time(*words) <= LIMIT for _ in range(5))


def test_importing_the_package_imports_nothing_heavy():
    assert not imported("import ifmixup; dir(ifmixup); ifmixup.__version__") & HEAVY


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["comprae"], ["audit", "--help"]])
def test_an_answer_without_work_imports_nothing_heavy(words):
    code = f"""if True:
        import contextlib
        from ifmixup.cli import main
        with contextlib.suppress(SystemExit):
            main({words!r})
    """
    assert not imported(code) & HEAVY


@pytest.mark.parametrize("name", ["compare", "runs", "datasets"])
def test_the_module_of_a_command_imports_nothing_heavy(name):
    assert not imported(f"import ifmixup.cli.{name}") & HEAVY


def test_mixing_needs_neither_the_study_nor_the_plots():
    light = HEAVY - {"torch", "torch_geometric", "numpy"}
    assert not imported("from ifmixup import IfMixup, mix, recover") & light


def test_every_public_name_can_be_imported():
    for name in ifmixup.__all__:
        assert getattr(ifmixup, name) is not None
        assert name in dir(ifmixup)
    assert ifmixup.nn.GIN.__name__ == "GIN"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ifmixup.nothing
