"""An experiment's table as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ifmixup.paper.experiments import Experiment
from ifmixup.paper.table import HEAD, Line, notes
from ifmixup.study.markdown_table import markdown_table
from ifmixup.study.table import LATEX_SIGNS

_LATEX = {**LATEX_SIGNS, "λ": r"$\lambda$", "×": r"$\times$"}


def to_markdown(experiment: Experiment, found: Sequence[Line]) -> str:
    """A table for a README; the best of a dataset is bold."""
    rows = [
        [f"**{text}**" if bold else text for text, bold in _texts(line, _markdown)]
        for line in found
    ]
    title = f"## {_markdown(f'{experiment.name}: {experiment.title}')}\n"
    small_print = [f"{_markdown(note)}\n" for note in notes(found)]
    return "\n".join([title, markdown_table(HEAD, rows, names=3), *small_print])


def to_latex(experiment: Experiment, found: Sequence[Line]) -> str:
    """A ``tabular`` that needs the package ``booktabs``, with its notes as comments."""
    lines = [f"% {_one_line(f'{experiment.name}: {experiment.title}')}"]
    lines += [f"% {_one_line(note)}" for note in notes(found)]
    lines += [rf"\begin{{tabular}}{{lll{'r' * (len(HEAD) - 3)}}}", r"\toprule"]
    lines += [" & ".join(map(_latex, HEAD)) + r" \\", r"\midrule"]
    dataset = found[0].cell.dataset if found else ""
    for line in found:
        if line.cell.dataset != dataset:
            lines.append(r"\midrule")
            dataset = line.cell.dataset
        texts = [rf"\textbf{{{text}}}" if bold else text for text, bold in _texts(line, _latex)]
        lines.append(" & ".join(texts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _texts(line: Line, write: Callable[[str], str]) -> list[tuple[str, bool]]:
    """The entries of a line, and whether each is bold."""
    named = zip(HEAD, line.texts(), strict=True)
    return [(write(text), line.best and name in ("variant", "ours")) for name, text in named]


def _markdown(text: str) -> str:
    for sign in "\\|*_<`":
        text = text.replace(sign, f"\\{sign}")
    return _one_line(text)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())
