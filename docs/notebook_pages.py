"""Notebooks as pages of the site: cells and stored outputs as Markdown, without another package."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

# Colours and cursor movements of a terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name."""
    pictures: dict[str, bytes] = {}
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(_fenced("ipython3" if _is_magic(source) else "python", source))
            parts += _outputs(cell.get("outputs", []), path.stem, pictures)
    note = f"*This page is the notebook `examples/notebooks/{path.name}` with its stored output.*"
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\n{note}\n{rest}\n", pictures


def _outputs(outputs: list[dict[str, Any]], stem: str, pictures: dict[str, bytes]) -> list[str]:
    """What a cell printed and showed."""
    parts: list[str] = []
    printed = ""
    for output in outputs:
        if output["output_type"] == "stream":
            printed += "".join(output["text"])
            continue
        data = output.get("data", {})
        if "image/png" in data:
            name = f"{stem}-{len(pictures)}.png"
            pictures[name] = base64.b64decode("".join(data["image/png"]))
            parts.append(f"![Output of the cell above]({name})")
        elif "text/html" in data:
            html = "".join(data["text/html"])
            parts.append(_fenced("{raw} html", f'<div class="table-wrapper">{html}</div>'))
        elif "text/plain" in data:
            printed += "".join(data["text/plain"]) + "\n"
    printed = _ESCAPES.sub("", printed).strip("\n")
    return ([_fenced("text", printed)] if printed.strip() else []) + parts


def _is_magic(source: str) -> bool:
    return re.search(r"^[!%]", source, re.MULTILINE) is not None


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text}\n````"
