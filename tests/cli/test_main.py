import os
import subprocess
import sys
from types import ModuleType

import pytest
import torch

import ifmixup
from ifmixup.cli import COMMANDS, main
from ifmixup.errors import InputError


@pytest.fixture
def command(monkeypatch):
    """Makes a command of a function that is called ``trial``."""

    def make(trial):
        module = ModuleType("trial_command")
        module.trial = trial
        monkeypatch.setitem(sys.modules, "trial_command", module)
        monkeypatch.setitem(COMMANDS, "trial", ("trial_command", "Try."))

    return make


def test_an_error_of_ours_is_one_line_and_exit_code_two(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["audit", "not a name"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("ifmixup: ")
    assert "Traceback" not in captured.err


def test_the_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, (_, does) in COMMANDS.items():
        assert any(line.split(maxsplit=1) == [name, does] for line in lines)
    assert main([]) == 2
    assert capsys.readouterr().err.splitlines() == lines


def test_a_mistyped_command_is_answered_with_the_nearest(capsys):
    assert main(["comprae", "MUTAG"]) == 2
    assert "Unknown command 'comprae'. Did you mean 'compare'?" in capsys.readouterr().err


def test_the_versions(capsys):
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"ifmixup {ifmixup.__version__}, ")
    assert f"torch {torch.__version__.partition('+')[0]}" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_in_plain_words(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"usage: ifmixup {name}" in out
    assert "{None}" not in out


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "ifmixup", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "audit" in done.stdout


def test_an_error_that_quotes_a_file(capsys, command):
    def fails() -> int:
        """Fail."""
        raise InputError("The file says a\x1b[2Jb.")

    command(fails)
    assert main(["trial"]) == 2
    assert capsys.readouterr().err == "ifmixup: The file says a?[2Jb.\n"


def test_what_the_encoding_does_not_have():
    code = """if True:
        import sys
        from types import ModuleType
        from ifmixup import cli
        module = sys.modules["trial_command"] = ModuleType("trial_command")
        def trial() -> int:
            print('\\\\udc80')
            return 0
        module.trial = trial
        cli.COMMANDS["trial"] = ("trial_command", "Try.")
        raise SystemExit(cli.main(["trial"]))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "\\udc80\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes break otherwise elsewhere")
@pytest.mark.parametrize("words", [["--help"], ["audit", "--help"]])
def test_a_reader_who_has_seen_enough(words):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "ifmixup", *words]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_another_broken_pipe_is_not_hidden(command):
    def fails() -> int:
        """Fail."""
        raise BrokenPipeError

    command(fails)
    with pytest.raises(BrokenPipeError):
        main(["trial"])


def test_ctrl_c_while_torch_is_imported():
    code = (
        "import os, signal, sys; from ifmixup.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Stop:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'torch.nn': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stop)\n"
        "sys.exit(main(['datasets', 'MUTAG']))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (130, "ifmixup: stopped.\n")


def test_too_little_memory_is_one_line(monkeypatch, capsys):
    """As for a file that is allowed to be larger than usual."""

    def fail(*_):
        raise MemoryError("Unable to allocate 1.49 GiB")

    monkeypatch.setattr("ifmixup.cli._run", fail)
    assert main(["datasets", "MUTAG"]) == 2
    error = capsys.readouterr().err
    assert error == "ifmixup: there is not enough memory for that. Unable to allocate 1.49 GiB\n"
