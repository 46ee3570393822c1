"""Pages that are made when the site is built: the commands, and what was measured.

They are written to ``_generated``, which is not committed: the help of the commands and the files
of ``results`` are the only source.
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
NOTHING = (
    "The tables are being measured again, with interpolated node existence "
    "(`node_weight`) and the paper's optimiser. "
    "`results/README.md` tells how far they are."
)
NO_COMPARISON = (
    "The comparison is being measured: `python results/methods.py` runs it, and "
    "`results/README.md` tells how far it is."
)
MEASURED = (
    "These are the files of `results/` when the site was built. Each says which protocol its "
    "numbers are read with: `holdout` is [the honest number](how-we-measure.md), and a star "
    "marks the optimistic one."
)


def help_of(*words: str) -> str:
    """What ``ifmixup … --help`` prints, in plain text of a fixed width."""
    from ifmixup.cli import main

    out = io.StringIO()
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, plain), redirect_stdout(out), suppress(SystemExit):
        main([*words, "--help"])
    lines: list[str] = []
    for line in out.getvalue().strip().splitlines():
        # The usage and the description are one line each where there is no terminal.
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
        "This is what `ifmixup COMMAND --help` prints. `--config FILE` reads options of `train` "
        "and `compare` from TOML or YAML; options that are typed override it.",
    ]
    for name, (_, does) in COMMANDS.items():
        parts += [f"## ifmixup {name}", does, f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def measured_part(results: Path, page_folder: Path) -> str:
    """The tables in ``results``, one under the other; while none is measured, a text that says so.

    Args:
        results: The folder of measured results.
        page_folder: The folder of the page that includes this.
    """
    first = {"findings.md": 0, "main.md": 1, "datasets.md": 3}  # the others have 2
    found = (path for path in results.rglob("*.md") if path.name != "README.md")
    tables = sorted(found, key=lambda path: (first.get(path.name, 2), path))
    measured = any(table.name != "datasets.md" for table in tables)
    lead = f"{MEASURED if measured else NOTHING}\n"
    return "\n".join([lead, *(embedded(table, page_folder) for table in tables)])


def embedded(table: Path, page_folder: Path) -> str:
    """The text of a file, for a page in another folder.

    Its first heading becomes one of the third level (the file's name where it has none), and links
    to files are rewritten.
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

    # Links with a scheme, and anchors, stay as they are.
    return re.sub(r"\]\((?![a-z]+:|#)([^)#\s]+)", from_the_page, text) + "\n"


def methods_part(results: Path) -> str:
    """The comparison of all methods; while it is not measured, a text that says so."""
    page = results / "methods" / "README.md"
    if not page.exists():
        return f"{NO_COMPARISON}\n"
    return page.read_text(encoding="utf-8").split("\n", 2)[2]  # without its title


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
        parts / "methods.md": methods_part(results),
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
