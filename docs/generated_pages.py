"""Pages that are made when the site is built: commands, methods, notebooks, and what was measured.

They are written to ``_generated``, which is not committed: the help of the commands, the docstrings
of the methods, the notebooks and the files of ``results`` are the only source.
"""

from __future__ import annotations

import inspect
import io
import os
import re
import textwrap
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest import mock

from notebook_pages import notebook_page
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

WIDTH = 80  # columns of the help, as on a terminal
FOLDER = "_generated"
NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"
# Of methods whose docstrings have them in words.
_PAIR = r"\tilde{y} = \lambda y_A + (1 - \lambda) y_B"
_FORMULAS = {
    "ifmixup": [
        r"\tilde{v} = \lambda v_A + (1 - \lambda) v_B, \quad "
        r"\tilde{e} = \lambda e_A + (1 - \lambda) e_B, \quad "
        r"\tilde{w} = \lambda w_A + (1 - \lambda) w_B, \quad " + _PAIR
    ],
    "mixup_graph": [r"\tilde{h} = \lambda h_A + (1 - \lambda) h_B, \quad " + _PAIR],
}
NOTHING = (
    "**Our results are being measured.** `results/README.md` lists what is there and the commands "
    "that measure the rest."
)
NO_COMPARISON = "**The comparison is being measured.** `python results/methods.py` runs it."
IN_FINDINGS = ("counts", "readings")  # tables that findings.md has
MEASURED = (
    "These tables are made from the runs in `results/` when the site is built. Each names its "
    "protocol: `holdout` is [the honest number](how-we-measure.md), and a star marks the "
    "optimistic one."
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


def command_pages() -> dict[str, str]:
    """The reference of all commands: a page per command, and one that lists them."""
    from ifmixup.cli import COMMANDS

    rows = [f"| [`ifmixup {name}`]({name}.md) | {does} |" for name, (_, does) in COMMANDS.items()]
    listed = "\n".join(COMMANDS)
    pages = {
        "index": "\n\n".join(
            [
                "# Commands",
                "\n".join(["| command | what it does |", "|---|---|", *rows]),
                "`ifmixup COMMAND --help` prints the options of a command. `--config FILE` reads "
                "options of `train` and `compare` from TOML or YAML; options that are typed "
                "override it.",
                f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
            ]
        )
    }
    for name, (_, does) in COMMANDS.items():
        pages[name] = f"# ifmixup {name}\n\n{does}\n\n```text\n{help_of(name)}\n```\n"
    return pages


def methods_page() -> str:
    """All methods of the registry: what each does, its paper, options and formulas."""
    import ifmixup
    from ifmixup import augment
    from ifmixup.components import METHODS

    rows, formulas = [], []
    for name in METHODS.names():
        cls = METHODS.get(name)
        text = inspect.getdoc(cls) or ""
        link = re.search(r"`([^`<]+?)\s*<(https?://[^>]+)>`_", text)
        paper = f"[{' '.join(link[1].split())}]({link[2]})" if link else ""
        options = ", ".join(
            f"`{option.name}` ({option.default})"
            for option in METHODS.options(cls).values()
            if option.name != "drop"
        )
        does = _one_line(text)
        home = next((each for each in (ifmixup, augment) if cls.__name__ in each.__all__), None)
        shown = f"`{name}`"
        if home is not None:
            shown = f"{{class}}`{name} <{home.__name__}.{cls.__name__}>`"
        rows.append(f"| {shown} {paper} | {does} | {options or '–'} |")
        found = _FORMULAS.get(name) or [
            textwrap.dedent(each).strip()
            for each in re.findall(r"\.\. math::\n((?:\n|[ ]+.*\n)+)", f"{text}\n")
        ]
        if found:
            blocks = "\n\n".join(f"```{{math}}\n{each}\n```" for each in found)
            formulas.append(f"### {name}\n\n{blocks}")
    head = ["| method, paper | what it does | options (default) |", "|---|---|---|"]
    return "\n\n".join(
        [
            "# Methods",
            "Every method works in a PyG loop (`augment.create(name, num_classes)`), in "
            "`ifmixup compare` and in `ifmixup train`. The links of the first column lead to "
            "what each does in detail, and where it differs from its paper.",
            "\n".join([*head, *rows]),
            "## Formulas",
            "A is the first graph of a pair and B its partner; λ is the weight of A.",
            *formulas,
            "",
        ]
    )


def _one_line(docstring: str) -> str:
    """The first paragraph of a docstring, for a cell of a table in Markdown."""
    line = " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")
    return line.replace("``", "`")


def findings_part(results: Path, page_folder: Path) -> str:
    """What was found, without its title; while nothing is measured, a text that says so."""
    page = results / "findings.md"
    if not page.exists():
        return f"{NOTHING}\n"
    return embedded(page, page_folder, 1).partition("\n")[2]


def measured_part(results: Path, page_folder: Path) -> str:
    """The tables in ``results``, one under the other, the main one first.

    Args:
        results: The folder of measured results.
        page_folder: The folder of the page that includes this.
    """
    found = sorted((results / "tables").glob("*.md"), key=lambda path: (path.stem != "main", path))
    tables = [path for path in found if path.stem not in IN_FINDINGS]
    if (results / "datasets.md").exists():
        tables.append(results / "datasets.md")
    return "\n".join([f"{MEASURED}\n", *(embedded(table, page_folder, 3) for table in tables)])


def embedded(table: Path, page_folder: Path, level: int = 2) -> str:
    """The text of a file, for a page in another folder.

    Its first heading becomes one of the given level (the file's name where it has none), and links
    to files are rewritten.
    """
    text = table.read_text(encoding="utf-8").strip()
    heading = re.search(r"^#+", text, re.MULTILINE)
    if heading is None:
        text = f"{'#' * level} {table.stem.replace('-', ' ')}\n\n{text}"
    else:
        deeper = "#" * max(0, level - len(heading[0]))
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
    (folder / "commands").mkdir(exist_ok=True)
    (folder / "notebooks").mkdir(exist_ok=True)
    pages: dict[Path, str | bytes] = {
        **{folder / "commands" / f"{name}.md": text for name, text in command_pages().items()},
        folder / "methods.md": methods_page(),
        parts / "findings.md": findings_part(results, folder.parent),
        parts / "measured.md": measured_part(results, folder.parent),
        parts / "methods.md": methods_part(results),
        parts / "published.md": published_part(),
    }
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        text, pictures = notebook_page(notebook)
        pages[folder / "notebooks" / f"{notebook.stem}.md"] = text
        pages |= {folder / "notebooks" / name: picture for name, picture in pictures.items()}
    for path, content in pages.items():
        raw = content.encode() if isinstance(content, str) else content
        if not path.exists() or path.read_bytes() != raw:
            unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            unfinished.write_bytes(raw)
            os.replace(unfinished, path)


def _write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    write(source / FOLDER, source.parent / "results")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before Sphinx looks which there are."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
