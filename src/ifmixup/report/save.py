"""Saving figures and text: a file is written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifmixup.errors import InputError, import_extra
from ifmixup.safe_io import atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without the time of saving: the same figure gives the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def check_output(path: Path) -> None:
    """Check that a figure can be saved as ``path``, before the work of drawing it."""
    if path.suffix.lower() not in _METADATA:
        kinds = ", ".join(_METADATA)
        raise InputError(
            f"A picture can be saved as {kinds}; got {path.name!r}. Change its ending."
        )
    if not path.parent.is_dir():
        raise InputError(f"The folder {str(path.parent)!r} does not exist. Create it first.")


def save_figure(figure: Figure, path: Path, *, dpi: int = 120) -> None:
    """Save a figure as png, svg or pdf, replacing an existing file; text in svg and pdf stays text.

    Args:
        figure: The figure.
        path: The file; its ending is the format.
        dpi: Pixels per inch, for png.
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


def save_text(text: str, path: Path) -> None:
    """Write ``text`` to ``path``, replacing an existing file.

    Raises:
        InputError: If the file cannot be written; an existing one is then unchanged.
    """
    try:
        with atomically(path) as unfinished:
            # Text from a file may hold half of a surrogate pair, which UTF-8 cannot encode.
            unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}.") from error
