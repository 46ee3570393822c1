import subprocess
import sys

import pytest

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
