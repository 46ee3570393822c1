import os
import subprocess
import sys

import pytest
import torch

import ifmixup
from ifmixup.cli import COMMANDS, main
from ifmixup.errors import InputError


def test_an_error_of_ours_is_one_line_and_exit_code_two(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["audit", "not a name"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("ifmixup: ")
    assert "Traceback" not in captured.err


def test_the_help_lists_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def test_the_version_and_those_that_it_stands_on(capsys):
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"ifmixup {ifmixup.__version__}, ")
    assert f"torch {torch.__version__}" in out


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "ifmixup", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "audit" in done.stdout


def test_an_error_that_quotes_a_file(capsys, monkeypatch):
    def fails() -> int:
        """Fail."""
        raise InputError("The file says a\x1b[2Jb.")

    monkeypatch.setitem(COMMANDS, "report", fails)
    assert main(["report"]) == 2
    assert capsys.readouterr().err == "ifmixup: The file says a?[2Jb.\n"


def test_what_the_encoding_cannot_say():
    code = """if True:
        from ifmixup import cli
        def report() -> int:
            print('\\\\udc80')
            return 0
        cli.COMMANDS["report"] = report
        raise SystemExit(cli.main(["report"]))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "\\udc80\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes break otherwise elsewhere")
def test_a_reader_who_has_seen_enough():
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "ifmixup", "--help"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_another_broken_pipe_is_not_hidden(monkeypatch):
    def fails() -> int:
        """Fail."""
        raise BrokenPipeError

    monkeypatch.setitem(COMMANDS, "report", fails)
    with pytest.raises(BrokenPipeError):
        main(["report"])
