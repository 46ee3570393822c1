"""Pages that are made when the site is built: the commands, and what was measured.

They go to ``_generated``, which is not kept: the help of the commands and the files of ``results``
are the only source.
"""

from __future__ import annotations

import io
import os
import re
import textwrap
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest import mock

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

WIDTH = 80  # columns of the help, as on a terminal
FOLDER = "_generated"
NOTHING = "No table has been measured yet: `results/` holds none."


def help_of(*words: str) -> str:
    """What ``ifmixup … --help`` prints, in plain text of a fixed width."""
    from ifmixup.cli import main

    out = io.StringIO()
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, plain), redirect_stdout(out), suppress(SystemExit):
        main([*words, "--help"])
    lines: list[str] = []
    for line in out.getvalue().strip().splitlines():
        # The usage and the description come in one line each where there is no terminal.
        indent = " " * 8 if line.startswith("usage:") else ""
        whole = line.startswith(" ") or not line.strip()
        lines += (
            [line.rstrip()]
            if whole
            else textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        )
    return "\n".join(lines)


def commands_page() -> str:
    """The reference of all commands."""
    from ifmixup.cli import COMMANDS

    parts = [
        "# Commands",
        "Every command tells what it takes: `ifmixup COMMAND --help`. This page is what they say. "
        "`--config FILE` reads options of `train` and `compare` from TOML or YAML, and options "
        "that are typed override it.",
    ]
    for name, command in COMMANDS.items():
        first = (command.__doc__ or "").strip().partition("\n")[0]
        parts += [f"## ifmixup {name}", first, f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def measured_part(results: Path, page_folder: Path) -> str:
    """The tables in ``results``, one under the other, or a line that says that there are none.

    Args:
        results: The folder of measured results.
        page_folder: The folder of the page that includes this.
    """
    found = (path for path in results.rglob("*.md") if path.name != "README.md")
    # What was found comes first, and the table to read first after it.
    tables = sorted(found, key=lambda p: (p.name != "findings.md", p.name != "main.md", p))
    if not tables:
        return f"{NOTHING}\n"
    return "\n".join(embedded(table, page_folder) for table in tables)


def embedded(table: Path, page_folder: Path) -> str:
    """The text of a file, to stand on a page elsewhere.

    Its first heading is of the third level (one is made of its name where it has none), and links
    to files are those of the page.
    """
    text = table.read_text(encoding="utf-8").strip()
    heading = re.search(r"^#+", text, re.MULTILINE)
    if heading is None:
        text = f"### {table.stem.replace('-', ' ')}\n\n{text}"
    else:
        deeper = "#" * max(0, 3 - len(heading[0]))
        text = re.sub(r"^(?=#)", deeper, text, flags=re.MULTILINE)

    def from_the_page(link: re.Match[str]) -> str:
        target = os.path.relpath(table.parent / link[1], page_folder)
        return f"]({Path(target).as_posix()}"

    # Links to somewhere else (a scheme, an anchor) stay as they are.
    return re.sub(r"\]\((?![a-z]+:|#)([^)#\s]+)", from_the_page, text) + "\n"


def published_part() -> str:
    """The paper's two tables of all methods, as it printed them."""
    from ifmixup.paper.experiments import METHODS
    from ifmixup.paper.published import published

    parts = []
    for model in ("gcn", "gin"):
        cells = published(model)
        datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
        lines = [("dataset", *(f"`{method}`" for method in METHODS)), ("---", *["--:"] * 6)]
        for dataset in datasets:
            row = [cells.get((dataset, method)) for method in METHODS]
            best = max(each.mean for each in row if each is not None)
            texts = ["–" if each is None else f"{each.mean:.3f}" for each in row]
            texts = [f"**{text}**" if text == f"{best:.3f}" else text for text in texts]
            lines.append((dataset.replace("_", "\\_"), *texts))
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"**{model.upper()}**\n\n{table}\n")
    return "\n".join(parts)


def write(folder: Path, results: Path) -> None:
    """Write all generated pages into ``folder``; a file that is up to date is left alone."""
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    pages = {
        folder / "commands.md": commands_page(),
        parts / "measured.md": measured_part(results, folder.parent),
        parts / "published.md": published_part(),
    }
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            unfinished.write_text(text, encoding="utf-8")
            os.replace(unfinished, path)


def _write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    write(source / FOLDER, source.parent / "results")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before Sphinx looks which there are."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
