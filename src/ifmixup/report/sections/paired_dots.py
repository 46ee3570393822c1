"""Whether a method makes a difference: a dot a fold, their mean and its 95 % interval."""

from __future__ import annotations

import math

from ifmixup.paper.experiments import Experiment
from ifmixup.report.chart import Grid, Panel, Series, colours, difference_axis, factor
from ifmixup.report.html import Section
from ifmixup.report.studies import Studies
from ifmixup.study.statistics import paired_difference

_SPREAD = 0.32  # of the dots around their row


def paired_dots(studies: Studies, experiment: Experiment) -> Section | None:
    """The differences to the variant that each is compared with; None where there are none."""
    panels = []
    metric = studies.metric(experiment)
    by = factor(metric)
    for (dataset, protocol), cells in studies.groups(experiment).items():
        pairs = {
            variant.name: (cells[variant.name], cells[variant.against])
            for variant in experiment.variants
            if variant.name in cells and variant.against in cells
        }
        if not pairs:
            continue
        series = []
        for row, (name, (cell, base)) in enumerate(pairs.items()):
            mine, theirs = cell.reading.scores, base.reading.scores
            folds = sorted(mine.keys() & theirs.keys())
            dots = [by * (mine[fold] - theirs[fold]) for fold in folds]
            dots = [value for value in dots if math.isfinite(value)]
            if not dots:
                continue
            found = paired_difference(mine, theirs, cell.test_ratio)
            colour = colours(cells)[name]
            step = _SPREAD / max(1, len(dots) - 1)
            heights = [row + 0.05 + step * place for place in range(len(dots))]
            series.append(Series(name, "dots", dots, heights, colour))
            ends = (by * found.low, by * found.high)
            known = all(map(math.isfinite, ends))
            series.append(
                Series(
                    name,
                    "mean",
                    [by * found.mean],
                    [row - 0.18],
                    colour,
                    low=[ends[0]] if known else None,
                    high=[ends[1]] if known else None,
                )
            )
        title = f"{dataset}, {protocol}"
        bases = list(dict.fromkeys(base.variant for _, base in pairs.values()))
        other = bases[0] if len(bases) == 1 else "what each is compared with"
        label = difference_axis(metric, other)
        panels.append(Panel(title, series, label, rows=list(pairs), zero=True))
    if not panels:
        return None
    title = (
        "Each dot is a fold. The diamond is the mean, its line the 95 % interval of the corrected "
        "t-test: where it crosses zero, these folds show no difference."
    )
    grid = Grid(f"{experiment.name}-paired", title, panels)
    return Section(experiment.name, "Fold by fold", [grid])
