"""The first thing to read: what helped, on how many datasets."""

from __future__ import annotations

from ifmixup.paper.effects import Effect, effects
from ifmixup.report.html import Entry, Html, Section, element, table
from ifmixup.report.studies import Studies
from ifmixup.study.statistics import HELPS, HURTS
from ifmixup.study.table_row import UNKNOWN, metric_text
from ifmixup.training.task import difference_unit, is_fraction

_HEAD = ("protocol", "datasets", "mean difference", "helps", "hurts", "against")
_ABOUT = (
    "Helps and hurts count the datasets where a paired t-test, corrected for folds that share "
    "training graphs and for the number of tests, shows a difference. Points are percentage points."
)


def summary(studies: Studies) -> Section | None:
    """A line for each variant of each experiment and protocol; None where nothing is compared."""
    groups = []
    for experiment in studies.experiments:
        found = effects(experiment, studies.of(experiment))
        if found:
            title = Entry(experiment.title, "name", columns=len(_HEAD) + 1)
            metric = studies.metric(experiment)
            groups.append([[title], *(_row(effect, metric) for effect in found)])
    if not groups:
        return None
    head = [Entry("variant"), *(Entry(text, "number") for text in _HEAD)]
    parts: list[Html] = [element("p", _ABOUT, class_="about"), table([head], groups, "Summary")]
    return Section("summary", "What was found", parts)


def _row(effect: Effect, metric: str) -> list[Entry]:
    values = (
        effect.protocol,
        str(len(effect.differences)),
        _difference(effect, metric),
        str(effect.count(HELPS)),
        str(effect.count(HURTS)),
        _short(effect),
    )
    return [Entry(effect.variant, "name"), *(Entry(value, "number") for value in values)]


def _difference(effect: Effect, metric: str) -> str:
    if not is_fraction(metric) and len(effect.differences) > 1:
        return UNKNOWN  # errors of different datasets are in different units
    text = metric_text(metric, effect.mean, effect.mean, sign=True)
    return f"{text} {difference_unit(metric)}"


def _short(effect: Effect) -> str:
    """What a variant is compared with, without what the two have in common."""
    (own, *rest), (other, *others) = effect.variant.split(", "), effect.against.split(", ")
    return other if own != other and rest == others else effect.against
