"""How the site is built: `make docs`. Nothing is fetched, neither here nor by the pages."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the extensions below lie beside this file
lexers["csv"] = TextLexer()  # a table has no colours
lexers["ipython3"] = PythonLexer()  # a cell with a line for the shell

project = "ifmixup"
author = "The ifmixup developers"
version = release = installed("ifmixup")
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "generated_pages",
    "mathml",
    "public_names",
]
exclude_patterns = ["_build", "_generated/parts"]
templates_path: list[str] = []

# Pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
highlight_options = {"python": {"stripnl": True}}  # what is included begins with an empty line
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

# The API, from the docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False
toc_object_entries_show_parents = "hide"
# Names of torch, PyG and Python have no page here, and no inventory is fetched: only names of our
# own must lead somewhere.
nitpick_ignore_regex = [(r"py:.*", r"(?!ifmixup\b).*")]

# How it looks
html_theme = "furo"
html_title = "ifmixup"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_math_renderer = "mathml"
pygments_style = "tango"
pygments_dark_style = "github-dark"
html_theme_options = {
    "sidebar_hide_name": False,
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "light_css_variables": {"color-brand-primary": "#0b6e8a", "color-brand-content": "#0b6e8a"},
    "dark_css_variables": {"color-brand-primary": "#5cc4e0", "color-brand-content": "#5cc4e0"},
}
