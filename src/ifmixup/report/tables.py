"""The tables of the report: what studies found, and what made the numbers.

Texts are those of :mod:`ifmixup.paper.tables`. Machines are not named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ifmixup.data import NAMES
from ifmixup.paper.dataset_table import HEAD, NOTE, dataset_rows
from ifmixup.paper.tables import Effect, effects, lines, study_table
from ifmixup.report.chart import Grid
from ifmixup.report.charts import means
from ifmixup.report.html import Entry, Html, Section, element, notes, table
from ifmixup.report.studies import ShownStudy, Studies
from ifmixup.study.comparison import BASELINES
from ifmixup.study.numbers import metric_text
from ifmixup.study.statistics import HELPS, HURTS
from ifmixup.training.task import difference_unit

_FULL_TINT = 0.05  # the difference in accuracy that has the full colour
_MOST_SENTENCES = 12  # more are folded up
_KINDS = {
    "variant": "name",
    "model": "name",
    "method": "",
    "runs x epochs": "number faint",
    "verdict": "words",
    "chosen": "words",
}
_SUMMARY = ("protocol", "datasets", "mean difference", "helps", "hurts", "against")
_ABOUT = (
    "Helps and hurts count the datasets where a paired t-test, corrected for folds that share "
    "training graphs and for the number of tests in the study, shows a difference. Points are "
    "percentage points."
)


def summary(studies: Studies) -> Section | None:
    """A row for each comparison of each study; None if nothing is compared."""
    groups = []
    for shown in studies.shown:
        found = effects(shown.comparison.rows)
        if found:
            title = Entry(shown.title, "name", columns=len(_SUMMARY) + 1)
            groups.append([[title], *(_summary_row(effect) for effect in found)])
    if not groups:
        return None
    head = [Entry("variant"), *(Entry(text, "number") for text in _SUMMARY)]
    parts: list[Html] = [element("p", _ABOUT, class_="about"), table(head, groups, "Summary")]
    return Section("summary", "Summary", parts)


def answer(shown: ShownStudy, title: str = "") -> Html:
    """What a study found and what to do: a paragraph, and the command in a box of its own."""
    said, _, command = shown.comparison.answer().partition("\n")
    name = element("strong", f"{title}: ") if title else ""
    return Html(element("p", name, said, class_="answer") + _command(command.strip()))


def study_section(shown: ShownStudy, *, answered: bool = True) -> Section:
    """The answer of a study unless it is given above, its table, the verdicts in words, and the
    means as marks.
    """
    comparison = shown.comparison
    parts: list[Html | Grid] = [] if answered else [answer(shown)]
    progress = shown.progress()
    if progress is not None:
        parts.append(element("p", progress, class_="about"))
    parts.append(_study_table(shown))
    compared = [row for row in comparison.rows if row.difference is not None]
    if compared or comparison.models or comparison.failed:
        said = [s for s in comparison.verdict().splitlines() if s not in shown.study.notes]
        items = element("ul", *(element("li", text) for text in said), class_="verdicts")
        if len(said) > _MOST_SENTENCES:
            title = element("summary", f"{len(said)} verdicts in words")
            items = element("details", title, items)
        parts.append(items)
    small = list(study_table(comparison).notes)
    if any(row.trial.protocol == "holdout" for row in comparison.rows):
        small.append("holdout: validation graphs choose the epoch, never test graphs.")
    if any(line.published for line in lines(comparison)):
        small.append("Blue: ours is higher than published; orange: lower.")
    parts.append(notes(small))
    drawn = None if shown.is_figure else means(shown)
    return Section(shown.name, shown.title, [*parts, *([drawn] if drawn is not None else [])])


def unknown_section(studies: Studies) -> Section | None:
    """Folders whose runs belong to no known study; None if there are none."""
    if not studies.unknown:
        return None
    said = [element("p", text) for text in studies.unknown]
    return Section("unknown", "Runs of unknown studies", said)


def statistics(studies: Studies) -> Section | None:
    """The paper's table of its datasets, of those that are shown; None if none is."""
    asked = {name for each in studies.shown if each.experiment for name in each.study.datasets}
    rows, missing = dataset_rows(names=[name for name in NAMES if name in asked])
    if not rows:
        return None
    said = [NOTE]
    if missing:
        said.append(f"Not on this machine, or damaged, and not counted: {', '.join(missing)}.")
    kinds = ["name", *["number"] * (len(HEAD) - 1)]
    head, *body = (
        [Entry(text, kind) for text, kind in zip(row, kinds, strict=True)] for row in (HEAD, *rows)
    )
    title = "statistics: The datasets"
    return Section("statistics", title, [table(head, [body], title), notes(said)])


def origin(studies: Studies) -> Section:
    """Settings that all trials share, those that differ, versions, and the commands."""
    values = [
        candidate.values()
        for shown in studies.shown
        for trial in shown.study.trials
        for candidate in trial.candidates
    ]
    names = list(dict.fromkeys(name for each in values for name in each))
    shared = {
        name: _text(values[0][name])
        for name in names
        if all(name in each and each[name] == values[0].get(name) for each in values)
    }
    differ = [name for name in names if name not in shared]
    versions: dict[str, set[str]] = {}
    for record in studies.records:
        for name, version in record.versions.items():
            versions.setdefault(name, set()).add(version)
    told: list[tuple[str, Mapping[str, Any]]] = [
        ("Settings of all runs", shared),
        ("Versions", {name: sorted(found) for name, found in versions.items()}),
        *((f"Options of {shown.title}", shown.study.config) for shown in studies.shown),
    ]
    parts: list[Html] = []
    for title, pairs in told:
        known = [(name, _text(value)) for name, value in pairs.items() if value is not None]
        if known:
            rows = [[Entry(name, "name"), Entry(value, "number")] for name, value in known]
            head = [Entry("name"), Entry("value", "number")]
            parts += [element("h3", title), table(head, [rows], title)]
    if differ:
        title = "Settings and options that differ"
        groups = [_differing(shown, differ) for shown in studies.shown]
        head = [Entry("study"), Entry("dataset"), Entry("trial")]
        inner = table([*head, *(Entry(name, "number") for name in differ)], groups, title)
        summary = element("summary", "By study, dataset and trial")
        parts += [element("h3", title), element("details", summary, inner)]
    parts.append(notes(studies.notes))
    if studies.command:
        parts += [element("h3", "Made with"), _command(studies.command)]
    return Section("origin", "Origin of these numbers", parts)


def _study_table(shown: ShownStudy) -> Html:
    """The rows of a study under the names of their dataset and protocol."""
    made, found = study_table(shown.comparison), lines(shown.comparison)
    columns = [i for i, name in enumerate(made.head) if name not in ("dataset", "protocol")]
    names = [made.head[i] for i in columns]
    head = [Entry(name, _KINDS.get(name, "number")) for name in names]
    groups: dict[str, list[list[Entry]]] = {}
    for i, guess in enumerate(shown.comparison.baselines):
        group = f"{guess.baseline.dataset}, {BASELINES}"
        title = Entry(group, "name dataset", columns=len(columns))
        row = [Entry(made.rows[i][j], _KINDS.get(made.head[j], "number")) for j in columns]
        if names[:2] == ["model", "method"]:  # its name is long, and it has no method
            row[:2] = [replace(row[0], columns=2)]
        groups.setdefault(group, [[title]]).append(row)
    for i, line in enumerate(found, start=len(shown.comparison.baselines)):
        group = f"{line.trial.dataset}, {line.trial.protocol}"
        title = Entry(group, "name dataset", columns=len(columns))
        row = []
        for j, name in zip(columns, names, strict=True):
            classes, tint = _KINDS.get(name, "number"), None
            if (i, j) in made.bold:
                classes += " best"
            if name in ("ours", "difference") and line.to_published is not None:
                classes += " higher" if line.to_published > 0 else " lower"
                tint = min(1.0, abs(line.to_published) / _FULL_TINT)
            row.append(Entry(made.rows[i][j].replace(" x ", " × "), classes, tint))
        groups.setdefault(group, [[title]]).append(row)
    return table(head, groups.values(), shown.title)


def _command(text: str) -> Html:
    """A command in a box of its own, whose lines break between words and not in ``--epochs``."""
    words = Html(" ".join(element("span", word) for word in text.split(" ")))
    return element("pre", element("code", words)) if text else Html("")


def _summary_row(effect: Effect) -> list[Entry]:
    metric = effect.rows[0].metric
    values = (
        effect.protocol,
        str(len(effect.rows)),
        f"{metric_text(metric, effect.mean, effect.mean, sign=True)} {difference_unit(metric)}",
        str(effect.count(HELPS)),
        str(effect.count(HURTS)),
        effect.against,
    )
    return [Entry(effect.name, "name"), *(Entry(value, "number") for value in values)]


def _differing(shown: ShownStudy, names: list[str]) -> list[list[Entry]]:
    """One row for each candidate of each trial."""
    rows: list[list[Entry]] = []
    for trial in shown.study.trials:
        for candidate in trial.candidates:
            values = candidate.values()
            row = [Entry(shown.name, "name"), Entry(trial.dataset), Entry(trial.name)]
            row += [Entry(_text(values.get(name, "")), "number") for name in names]
            if row not in rows:  # protocols share settings
                rows.append(row)
    return rows


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)
