"""What made the numbers: settings, options, versions and commands. Machines are not named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ifmixup.report.html import Entry, Html, Section, element, notes, table
from ifmixup.report.studies import ShownStudy, Studies


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
        code = element("pre", element("code", studies.command))
        parts += [element("h3", "Made with"), code]
    return Section("origin", "What made these numbers", parts)


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
