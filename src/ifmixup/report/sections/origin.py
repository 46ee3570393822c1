"""What made the numbers: settings, versions and the command. Machines are not named."""

from __future__ import annotations

from typing import Any

from ifmixup.paper.cell import relevant
from ifmixup.report.html import Entry, Html, Section, element, notes, table
from ifmixup.report.studies import Studies


def origin(studies: Studies) -> Section | None:
    """Settings that all runs share, those that differ, versions, and the command."""
    records = studies.records
    settings = [relevant(each) for each in dict.fromkeys(r.spec.settings for r in records)]
    names = list(dict.fromkeys(name for each in settings for name in each))
    shared = {
        name: settings[0][name]
        for name in names
        if all(name in each and each[name] == settings[0].get(name) for each in settings)
    }
    differ = [n for n in names if n not in shared and n not in ("model", "method")]
    versions: dict[str, set[str]] = {}
    for record in records:
        for name, version in record.versions.items():
            versions.setdefault(name, set()).add(version)
    parts: list[Html] = [
        element("h3", "Settings of all runs"),
        _pairs({name: _text(value) for name, value in shared.items()}, "Settings of all runs"),
    ]
    if differ:
        parts += [element("h3", "Settings that differ"), _differing(studies, differ)]
    parts += [
        element("h3", "Versions"),
        _pairs({name: ", ".join(sorted(found)) for name, found in versions.items()}, "Versions"),
        notes(studies.notes),
    ]
    lines = [*studies.commands, *([studies.command] if studies.command else [])]
    if lines:
        parts += [element("h3", "Made with"), element("pre", element("code", "\n".join(lines)))]
    return Section("origin", "What made these numbers", parts)


def _pairs(values: dict[str, str], caption: str) -> Html:
    rows = [[Entry(name, "name"), Entry(value, "number")] for name, value in values.items()]
    return table([[Entry("name"), Entry("value", "number")]], [rows], caption)


def _differing(studies: Studies, names: list[str]) -> Html:
    """A line for each setting that occurs; those of one experiment stand together."""
    head = [Entry("experiment"), Entry("dataset"), Entry("variant")]
    head += [Entry(name, "number") for name in names]
    groups = []
    for experiment in studies.experiments:
        rows = []
        for cell in studies.of(experiment):
            found = {
                tuple(_text(relevant(settings).get(name, "")) for name in names)
                for settings in {record.spec.settings for record in cell.records}
            }
            for values in sorted(found):
                row = [Entry(experiment.name, "name"), Entry(cell.dataset), Entry(cell.variant)]
                row += [Entry(value, "number") for value in values]
                if row not in rows:  # the protocols share settings
                    rows.append(row)
        groups.append(rows)
    inner = table([head], groups, "Settings that differ")
    return element("details", element("summary", "By experiment, dataset and variant"), inner)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
