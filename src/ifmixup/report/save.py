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


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format of the file's ending; text in svg and pdf stays text."""
    check_output(path)
    matplotlib = import_extra("matplotlib", "plot")
    suffix = path.suffix.lower()
    options: dict[str, Any] = {"pil_kwargs": {"optimize": True}} if suffix == ".png" else {}
    reproducible = {"svg.fonttype": "none", "svg.hashsalt": "ifmixup", "pdf.fonttype": 42}
    with atomically(path) as unfinished, matplotlib.rc_context(reproducible):
        figure.savefig(
            unfinished, format=suffix[1:], dpi=120, metadata=_METADATA[suffix], **options
        )


def save_text(text: str, path: Path) -> None:
    """Write ``text`` to ``path``; an existing file is replaced, or unchanged if that fails."""
    try:
        with atomically(path) as unfinished:
            # Text from a file may hold half of a surrogate pair, which UTF-8 cannot encode.
            unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}.") from error
