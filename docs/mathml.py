"""Formulas as MathML, which browsers draw by themselves: no script and no request to anywhere."""

from __future__ import annotations

import html
import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

# Sizes of delimiters are the browser's business.
_SIZES = re.compile(r"\\(?:big|Big|bigg|Bigg)[lr]?(?![A-Za-z])")
logger = logging.getLogger(__name__)


def to_mathml(formula: str, *, block: bool) -> str:
    """A formula in LaTeX as MathML.

    Raises:
        MathError: If it has a command that docutils does not know.
    """
    known = _SIZES.sub("", formula).replace(r"\dots", r"\ldots")
    # The tilde of the keyboard stands in the middle of a line; an accent stands above a letter.
    return tex2mathml(known, as_block=block).replace(">~</mo>", ">\u02dc</mo>")


def _write(self: HTML5Translator, node: nodes.math | nodes.math_block, *, block: bool) -> None:
    try:
        written = to_mathml(node.astext(), block=block)
    except MathError as error:  # with -W the build stops
        logger.warning("%s in the formula %s", error, node.astext(), location=node)
        written = f"<code>{html.escape(node.astext())}</code>"
    self.body.append(f'<div class="formula">{written}</div>' if block else written)
    raise nodes.SkipNode


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    _write(self, node, block=False)


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    _write(self, node, block=True)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the renderer known as ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
