"""The command line: one file per command, which is imported when the command runs.

``ifmixup --version``, ``ifmixup --help`` and a mistyped command are answered here, without
importing torch or the commands.
"""

from __future__ import annotations

import io
import os
import platform
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from ifmixup.errors import IfmixupError, unknown_name

COMMANDS: dict[str, tuple[str, str]] = {
    "datasets": ("ifmixup.cli.datasets", "Describe a dataset or a file of graphs."),
    "audit": ("ifmixup.cli.audit", "Check whether mixing is lossless on a dataset."),
    "show": ("ifmixup.cli.show", "Draw two graphs and the mixed graph."),
    "train": ("ifmixup.cli.train", "Train one model and save it."),
    "predict": ("ifmixup.cli.predict", "Predict the labels of graphs with a saved model."),
    "compare": ("ifmixup.cli.compare", "Compare models and methods on the same folds."),
    "reproduce": ("ifmixup.cli.reproduce", "Run the paper's experiments."),
    "runs": ("ifmixup.cli.runs", "List, export and import the runs of a study."),
    "report": ("ifmixup.cli.report", "Write the results of studies as one HTML file."),
    "completion": ("ifmixup.cli.completion", "Print a completion script for bash or zsh."),
}
"""By name: the module that has a function of this name, and what the command does."""

_HELP = """\
usage: ifmixup [-h] [--version] COMMAND ...

Augment graphs by mixing pairs of them, and find out whether it helps.

commands:
{commands}

ifmixup COMMAND --help lists the options of a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default that of ``sys.argv``; return its exit code.

    An error of ours is a line on stderr and exit code 2, without a traceback. Ctrl-C is one, too,
    and 130, at any moment: also while torch is imported. A command that has more to say of it, such
    as how to continue, says it itself.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name may have characters that the terminal's encoding does not have.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _answer(words)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _reader_has_left():
            raise
        return 1
    except KeyboardInterrupt:
        print("ifmixup: stopped.", file=sys.stderr)
        return 130
    except MemoryError as error:
        print(f"ifmixup: there is not enough memory for that. {error}".strip(), file=sys.stderr)
        return 2


def _answer(words: list[str]) -> int:
    if not words:
        print(_help(), file=sys.stderr)
        return 2
    name, *rest = words
    if name in ("-h", "--help"):
        print(_help())
        return 0
    if name in ("-V", "--version"):
        found = [f"{each} {version(each)}" for each in ("ifmixup", "torch", "torch_geometric")]
        print(", ".join([*found, f"python {platform.python_version()}"]))
        return 0
    try:
        if name not in COMMANDS:
            raise unknown_name("command", name, COMMANDS)
        return _run(name, rest)
    except IfmixupError as error:
        from ifmixup.safe_io import printable_lines

        print(f"ifmixup: {printable_lines(error)}", file=sys.stderr)
        return 2


def _run(name: str, words: list[str]) -> int:
    """Run a command.

    A command is a function whose parameters are its options. One that takes the options of models
    and methods is ``command(options: Options, class_options: Sequence[str])``: what is typed that
    is not a field of ``Options`` goes into ``class_options``.
    """
    import gc
    import inspect
    from typing import get_type_hints

    import tyro

    from ifmixup.cli.config import expand_config

    # What is imported and read stays. By default the garbage collector looks at all of it again and
    # again, which takes a tenth of the time of a command that trains nothing.
    gc.set_threshold(100_000)
    function: Any = getattr(import_module(COMMANDS[name][0]), name)
    shared: dict[str, Any] = {
        "prog": f"ifmixup {name}",
        "args": expand_config(words),
        # --workers INT instead of {None}|INT, SOURCE instead of STR
        "config": (tyro.conf.DisallowNone, tyro.conf.PositionalMetavarFromFieldName),
    }
    if "class_options" not in inspect.signature(function).parameters:
        return tyro.cli(function, **shared)
    shared["description"] = inspect.getdoc(function)
    try:
        options, others = tyro.cli(
            get_type_hints(function)["options"], return_unknown_args=True, **shared
        )
    except SystemExit as error:
        if {"-h", "--help"} & set(words):
            from ifmixup.cli.class_options import options_help

            print(options_help())
        elif error.code and any(word.partition("=")[0] == "--config" for word in words):
            print("ifmixup: the option may be one of the file after --config.", file=sys.stderr)
        raise
    return function(options, others)


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {does}" for name, (_, does) in COMMANDS.items())
    return _HELP.format(commands=commands)


def _reader_has_left() -> bool:
    """Whether the reader of our output is gone, as after ``ifmixup runs | head``."""
    try:
        print(flush=True)
    except BrokenPipeError:
        # Python flushes once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False
