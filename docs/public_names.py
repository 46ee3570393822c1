"""Names in docstrings and annotations: where they lead, and what they may be.

``ifmixup.augment.method.Method`` is documented as ``ifmixup.augment.Method``: people import it from
there, but annotations and docstrings may name the file it lies in. A name of ours that is nowhere
documented is plain text; a name that does not exist is a warning.
"""

from __future__ import annotations

import importlib
import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode
from sphinx.util.typing import ExtensionMetadata


def public_name(target: str, documented: list[str]) -> str | None:
    """The documented name that ``target`` means; None where none or several could be meant.

    The last word is the same, or for a member of a class the last two; of several the one whose
    path holds no other word than the target's.
    """
    words = target.split(".")
    for ending in (".".join(words[-2:]), words[-1]):
        found = [name for name in documented if name.endswith(f".{ending}")]
        if len(found) > 1:
            found = [name for name in found if set(name.split(".")) <= set(words)] or found
        if len(found) == 1:
            return found[0]
    return None


def exists(target: str) -> bool:
    """Whether ``target`` is a name of our code, such as ``ifmixup.nn.gat.GATConv``."""
    words = target.split(".")
    if words[0] != "ifmixup":
        return False
    found = importlib.import_module("ifmixup")
    for count, word in enumerate(words[1:], 2):
        if not hasattr(found, word):
            try:
                importlib.import_module(".".join(words[:count]))
            except ImportError:
                return False
        found = getattr(found, word)
    return True


def without_substitutions(text: str) -> str:
    """Bars around a magnitude, |λ|, are not the name of something to be put there."""
    return re.sub(r"(?<![`|\w\\])\|([^|`\n]+)\|(?![`|\w])", r"\\|\1\\|", text)


def _escape(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    if "math::" not in "".join(lines):
        lines[:] = [without_substitutions(line) for line in lines]


def is_of_others(name: str) -> bool:
    """Whether a method is scikit-learn's, which makes it and writes its docstring."""
    return re.fullmatch(r"set_\w+_request", name) is not None


def _skip(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    return skip or is_of_others(name.rpartition(".")[2])


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Element | None:
    if node.get("refdomain") != "py":
        return None
    objects = env.domains.python_domain.objects
    name = public_name(node["reftarget"], list(objects))
    if name is None:
        return content if exists(node["reftarget"]) else None
    found = objects[name]
    return make_refnode(
        app.builder, node["refdoc"], found.docname, found.node_id, content, node["reftarget"]
    )


def setup(app: Sphinx) -> ExtensionMetadata:
    """Answer for names that Sphinx does not find."""
    package = importlib.import_module("ifmixup")
    for (
        name
    ) in package.__all__:  # some are imported when first used; autodoc looks at what is there
        setattr(package, name, getattr(package, name))
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-process-docstring", _escape)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
