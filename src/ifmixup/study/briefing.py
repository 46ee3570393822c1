"""What is said before the first run: the settings and their origin, how many runs, how long."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ifmixup.study.engines.engine import Task
from ifmixup.study.estimate import longest, together
from ifmixup.study.progress import duration
from ifmixup.study.study import Study
from ifmixup.values import listed

_SHOWN = 4  # values of a grid for one name


def briefing(
    study: Study,
    tasks: Sequence[Task],
    seconds: Mapping[str, float],
    *,
    workers: int | None,
    halving: bool = False,
) -> list[str]:
    """Lines to read before the runs ``tasks`` begin.

    Args:
        seconds: About how long each takes, by its key.
        workers: How many run at the same time; None where that is not known.
        halving: Whether a search leaves most of them out.
    """
    lines = [*settings_lines(study), *study.notes]
    total = len(study.keys)
    kept = f" ({total - len(tasks)} of {total} are stored)" if len(tasks) < total else ""
    if not tasks:
        return [*lines, f"Nothing to do: all {total} runs are stored."]
    parts = [f"{len(tasks)} run{'s' * (len(tasks) > 1)} to do{kept}"]
    whole = together((seconds.get(spec.key, math.nan) for spec, _ in tasks), workers or 1)
    if math.isnan(whole):
        return [*lines, f"{parts[0]}; the time they take is unknown."]
    number = "one after the other" if workers is None else f"with {workers} worker"
    parts.append(f"about {duration(whole)} {number}{'s' * ((workers or 1) > 1)}")
    slowest = longest(seconds, [spec for spec, _ in tasks])
    if slowest is not None:
        parts.append(f"the longest, {slowest[0]}, take {duration(slowest[1])} each")
    at_most = " This is an upper bound: halving skips most of the grid." if halving else ""
    return [*lines, f"{'; '.join(parts)}.{at_most}"]


def settings_lines(study: Study) -> list[str]:
    """The settings and options of each model, and the options of each method, with their origin."""
    lines = []
    for model in dict.fromkeys(trial.model for trial in study.trials):
        mine = [trial for trial in study.trials if trial.model == model]
        first = mine[0].candidates
        text = _values([{**c.settings.to_dict(), **dict(c.model.options)} for c in first])
        origin = study.origins.get(mine[0].name, "")
        lines.append(f"Settings of {model}{f' ({origin})' * bool(origin)}: {text}.")
        methods = {trial.method: trial.candidates for trial in mine}
        for method, candidates in methods.items():
            text = _values([dict(each.method.options) for each in candidates])
            if text:
                lines.append(f"  {method}: {text}.")
    return lines


def _values(several: Sequence[Mapping[str, Any]]) -> str:
    """Values by name; of a grid those that there are to choose from."""
    parts = []
    for name in several[0]:
        there = list(dict.fromkeys(str(values[name]) for values in several if name in values))
        if there != ["None"]:
            parts.append(f"{name} {listed(there, _SHOWN, ' or ') if len(there) > 1 else there[0]}")
    return ", ".join(parts)
