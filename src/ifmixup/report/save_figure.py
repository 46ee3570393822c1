"""Saving a figure: whole or not at all, and the same bytes for the same figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifmixup.errors import InputError, import_extra
from ifmixup.safe_io import atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What would put the time of saving into the file.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def check_output(path: Path) -> None:
    """See that a figure can be saved as ``path``, before the work of drawing it."""
    if path.suffix.lower() not in _METADATA:
        kinds = ", ".join(_METADATA)
        raise InputError(
            f"A picture can be saved as {kinds}; got {path.name!r}. Change its ending."
        )
    if not path.parent.is_dir():
        raise InputError(f"The folder {str(path.parent)!r} does not exist. Make it first.")


def save_figure(figure: Figure, path: Path, *, dpi: int = 120) -> None:
    """Save a figure as png, svg or pdf, replacing what is there; text in svg and pdf stays text.

    Args:
        figure: The figure.
        path: Where to; its ending says which format.
        dpi: Pixels an inch, for png.
    """
    check_output(path)
    matplotlib = import_extra("matplotlib", "plot")
    suffix = path.suffix.lower()
    options: dict[str, Any] = {"pil_kwargs": {"optimize": True}} if suffix == ".png" else {}
    reproducible = {"svg.fonttype": "none", "svg.hashsalt": "ifmixup", "pdf.fonttype": 42}
    with atomically(path) as unfinished, matplotlib.rc_context(reproducible):
        figure.savefig(
            unfinished, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix], **options
        )
