"""``ifmixup completion``: what the Tab key completes."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout, suppress
from typing import Annotated

import tyro

from ifmixup.errors import unknown_name

SHELLS = ("bash", "zsh")

_BASH = """\
_ifmixup() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" option="" i
    for ((i = COMP_CWORD - 1; i > 1; i--)); do
        [[ "${{COMP_WORDS[i]}}" == -* ]] && option="${{COMP_WORDS[i]}}" && break
    done
    local words=""
    if ((COMP_CWORD == 1)); then
        words="{commands} --help --version"
    elif [[ "$word" == -* ]]; then
        case "$command" in
{options}
        esac
    else
        case "$option" in
            --models | --model) words="{models}" ;;
            --methods | --method) words="{methods}" ;;
        esac
        COMPREPLY=($(compgen -f -- "$word"))
    fi
    COMPREPLY+=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _ifmixup ifmixup
"""


def completion(shell: Annotated[str, tyro.conf.Positional] = "bash") -> int:
    """Print a script that completes commands, options, and the names of models and methods.

    For bash: ifmixup completion bash > ~/.local/share/bash-completion/completions/ifmixup. For zsh:
    ifmixup completion zsh > ~/.ifmixup-completion, and source that file in ~/.zshrc.

    Args:
        shell: bash or zsh.
    """
    from ifmixup.cli import COMMANDS
    from ifmixup.components import METHODS, MODELS

    if shell not in SHELLS:
        raise unknown_name("shell", shell, SHELLS)
    options = "\n".join(
        f'            {name}) words="{" ".join(_options(name))}" ;;' for name in COMMANDS
    )
    script = _BASH.format(
        commands=" ".join(COMMANDS),
        options=options,
        models=" ".join(MODELS.names()),
        methods=" ".join(METHODS.names()),
    )
    if shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(script, end="")
    return 0


def _options(name: str) -> list[str]:
    """The options that the help of a command lists."""
    from ifmixup.cli import main

    out = io.StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        main([name, "--help"])
    found = {"--config"}
    for line in out.getvalue().splitlines():
        head = line.strip("│ ").replace("[no-]", "").partition("  ")[0]
        if head.startswith("-"):
            found |= set(re.findall(r"--[a-z][\w-]*", head))
    return sorted(found)
