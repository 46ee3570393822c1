import subprocess

import pytest

from ifmixup.cli import COMMANDS, main


@pytest.fixture
def script(capsys, monkeypatch):
    few = {name: COMMANDS[name] for name in ("audit", "compare", "completion")}
    monkeypatch.setattr("ifmixup.cli.COMMANDS", few)
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


def complete(script: str, *words: str) -> list[str]:
    """What bash proposes for the last of ``words``."""
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _ifmixup; echo ${{COMPREPLY[*]}}"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_commands_options_and_names(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").touch()
    assert complete(script, "ifmixup", "com") == ["compare", "completion"]
    assert complete(script, "ifmixup", "audit", "--pa") == ["--pairs"]
    assert complete(script, "ifmixup", "compare", "MUTAG", "--num-l") == ["--num-layers"]
    assert complete(script, "ifmixup", "compare", "MUTAG", "--conf") == ["--config"]
    assert complete(script, "ifmixup", "compare", "MUTAG", "--models", "gcn", "ga") == [
        "gat", "gatv2",
    ]  # fmt: skip
    assert complete(script, "ifmixup", "compare", "--methods", "if") == ["ifmixup"]
    assert complete(script, "ifmixup", "compare", "--models", "ne") == ["nets.py"]


def test_zsh_and_others(capsys, monkeypatch):
    monkeypatch.setattr("ifmixup.cli.COMMANDS", {"audit": COMMANDS["audit"]})
    from ifmixup.cli.completion import completion

    assert completion("zsh") == 0
    assert capsys.readouterr().out.startswith("autoload -U +X bashcompinit && bashcompinit\n")
    monkeypatch.undo()
    assert main(["completion", "fish"]) == 2
    assert "Unknown shell 'fish'" in capsys.readouterr().err
