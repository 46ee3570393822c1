"""The printed table, the data frame, the saved tables and the report's page say the same."""

import csv
import json
import math
import random
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ifmixup.paper.tables import effects
from ifmixup.report.charts import paired_dots
from ifmixup.report.report import page, report, save_tables
from ifmixup.report.studies import gather
from ifmixup.report.tables import study_section, summary
from ifmixup.study.comparison import Comparison
from ifmixup.study.statistics import HELPS, HURTS, INCONCLUSIVE
from ifmixup.study.store import Store
from ifmixup.study.study import save_studies
from ifmixup.study.table import metric_text
from ifmixup.training.task import is_fraction
from stored_runs import records_of, result, study_of

pytest.importorskip("plotly")
METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")
RATES = (0.01, 0.0005, 0.1)


class Reader(HTMLParser):
    """The cells of all tables of a page, row by row, and the sentences of its lists of verdicts."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.verdicts, self.text, self.inside = [], [], None, False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag == "ul":
            self.inside = ("class", "verdicts") in attrs
        if tag in ("td", "th", "li"):
            self.text = ""

    def handle_data(self, data):
        if self.text is not None:
            self.text += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.text)
        if tag == "li" and self.inside:
            self.verdicts.append(self.text)
        if tag in ("td", "th", "li"):
            self.text = None

    def studies(self):
        """The cells of study tables by (study, dataset and protocol, model, method), and column."""
        found, number, head, group = {}, -1, None, None
        for row in self.rows:
            if row[:2] == ["model", "method"]:
                number, head = number + 1, row
            elif head is not None and len(row) == 1:
                group = row[0]
            elif head is not None and len(row) == len(head):
                found[number, group, row[0], row[1]] = dict(zip(head, row, strict=True))
        return found


@st.composite
def stores(draw):
    """A study and its runs: ties, missing and failed runs, metrics that are not defined."""
    metric = draw(st.sampled_from(["accuracy", "roc_auc", "mae"]))
    folds = draw(st.integers(2, 10))
    study = study_of(
        draw(st.lists(st.sampled_from(["gcn", "gin", "gat"]), min_size=1, max_size=3, unique=True)),
        draw(st.lists(st.sampled_from(METHODS), min_size=1, max_size=5, unique=True)),
        datasets=draw(st.sampled_from([("MUTAG",), ("A, b", "C")])),
        protocols=draw(st.permutations(["holdout", "paper", "last"]))[: draw(st.integers(1, 3))],
        folds=folds,
        repeats=draw(st.integers(1, 2)),
        grid={"learning_rate": RATES[: draw(st.integers(1, 3))]},
        metric=metric,
        notes=("A note.",),
    )
    chance = random.Random(draw(st.integers(0, 2**32)))
    steps = draw(st.sampled_from([2, 20, 10**6]))  # few different values tie
    missing, undefined = draw(st.sampled_from([0, 0.1, 0.6])), draw(st.sampled_from([0, 0.05]))
    effect = draw(st.sampled_from([0.0, 0.2]))  # of a method, by its index

    def value(spec):
        if chance.random() < undefined:
            return math.nan
        shift = effect * METHODS.index(spec.method.name) / 5
        return min(1.0, shift + chance.randrange(steps + 1) / steps * (0.3 if effect else 1))

    def measure(spec, validated):
        if chance.random() < missing:
            return None if chance.random() < 0.5 else "out of memory"
        test = [value(spec) for _ in range(2)]
        if chance.random() < undefined:
            test = [math.nan, math.nan]
        validation = [value(spec) for _ in range(2)] if validated else None
        return result(test, validation=validation, metric=metric)

    return study, records_of(study, measure)


def texts(figures):
    """What a table must say of the figures of a trial."""
    metric, mean = figures["metric"], figures["mean"]

    def text(name, *, sign=False):
        number = math.nan if figures[name] is None else figures[name]
        return metric_text(metric, number, math.nan if mean is None else mean, sign=sign)

    spread = "" if figures["std_folds"] is None else f" ± {text('std_folds')}"
    found = {
        "ours": f"{text('mean')}{spread}{'*' if figures['optimistic'] else ''}",
        "last epoch": text("last"),
        "runs x epochs": f"{figures['runs']} × {figures['epochs']}",
        "to baseline [95 %]": "",
        "verdict": figures["verdict"] or "",
    }
    if figures["verdict"] is not None:
        low, high = text("low", sign=True), text("high", sign=True)
        ends = "[–]" if figures["low"] is None else f"[{low}, {high}]"
        found["to baseline [95 %]"] = f"{text('difference', sign=True)} {ends}"
    return found


def cells(markdown):
    """The cells of a table in Markdown, without what makes them bold and escapes them."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    plain = [line.replace("**", "").replace("\\", "").strip("| ") for line in lines]
    head, _, *rows = [[cell.strip() for cell in line.split(" | ")] for line in plain]
    return [dict(zip(head, row, strict=False)) for row in rows]


def check(study, records, folder):
    """All that is said of a study agrees with the figures of the one comparison."""
    with Store(folder) as store:
        store.merge(records.values())
    save_studies(folder, [study])
    printed = Comparison(study, list(records.values()), folder)
    figures = json.loads(printed.table("json"))
    (shown,) = gather([folder]).shown
    assert json.loads(shown.comparison.table("json")) == figures

    frame = printed.to_dataframe()
    for name in ("mean", "difference", "adjusted_p", "verdict"):
        values = [] if frame.empty else frame[name].tolist()
        plain = [None if isinstance(v, float) and math.isnan(v) else v for v in values]
        assert plain == [each[name] for each in figures]

    saved = {path.suffix: path.read_text() for path in printed.save()}
    assert json.loads(saved[".json"]) == figures
    rows = list(csv.DictReader(saved[".csv"].splitlines()))
    assert [row["verdict"] for row in rows] == [each["verdict"] or "" for each in figures]
    assert [float(row["mean"] or "nan") for row in rows] == pytest.approx(
        [math.nan if each["mean"] is None else each["mean"] for each in figures], nan_ok=True, abs=0
    )
    written = save_tables(gather([folder]), folder)
    (report_table,) = [path for path in written if path.suffix == ".md"]

    made = gather([folder])
    sections = [study_section(each) for each in made.shown]
    whole = [summary(made)] if summary(made) is not None else []
    read = Reader(page("t", "", whole + sections))
    on_page = read.studies()
    by_name = {}
    for each in figures:
        group = f"{each['dataset']}, {each['protocol']}"
        by_name[each["dataset"], each["protocol"], each["name"]] = each
        cell = on_page.pop((0, group, each["model"], each["method"]))
        expected = texts(each)
        (ours,) = [text for name, text in cell.items() if name.startswith("ours")]
        assert ours == expected["ours"]
        for name in ("last epoch", "runs x epochs", "to baseline [95 %]", "verdict"):
            assert cell.get(name, "") == expected[name]
    assert all(
        "not run" in cell.values() for cell in on_page.values()
    )  # trials without a finished run, and no others
    compared = [each for each in figures if each["verdict"] is not None]
    said = [line for line in printed.verdict().splitlines() if line != "A note."]
    hidden = str(folder), folder.name  # a page does not tell where a folder is
    told = [line.replace(*hidden) for line in said]
    assert read.verdicts == (told if compared or printed.failed else [])

    for in_report, in_print in zip(
        [row for row in cells(report_table.read_text()) if row["ours"] != "not run"],
        cells(saved[".md"]),
        strict=True,
    ):
        title = next(name for name in in_print if name.endswith("± folds"))
        assert in_report["ours"] == in_print[title]
        assert in_report["last epoch"] == in_print["last epoch"]
        assert in_report.get("verdict", "") == in_print["verdict"]
        assert in_report.get("to baseline [95 %]", "") == in_print["difference [95 %]"]

    for effect in effects(shown.comparison.rows):
        mine = [
            each
            for each in compared
            if (each["name"], each["protocol"]) == (effect.name, effect.protocol)
        ]
        for what in (HELPS, HURTS):
            assert effect.count(what) == sum(each["verdict"] == what for each in mine)

    dots = paired_dots(shown)
    for panel in () if dots is None else dots.grids[0].panels:
        dataset, protocol = panel.title.rsplit(", ", 1)
        for series in (each for each in panel.series if each.kind == "mean"):
            (trial,) = [
                t
                for t in study.trials
                if (t.dataset, t.protocol, shown.label(t)) == (dataset, protocol, series.name)
            ]
            each = by_name[dataset, protocol, trial.name]
            by = 100 if is_fraction(each["metric"]) else 1
            assert series.x == [by * each["difference"]]
            assert series.low == (None if each["low"] is None else [by * each["low"]])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(stores())
def test_the_table_and_the_report_agree(store):
    study, records = store
    with tempfile.TemporaryDirectory() as folder:
        check(study, records, Path(folder) / "runs")


def test_holms_correction_is_over_all_models_and_methods(tmp_path):
    """One family: what one model alone would show is not shown among six comparisons."""
    study = study_of(("gcn", "gin"), METHODS[:4], folds=10)

    def measure(spec, validated):
        gains = (spec.model.name, spec.method.name) == ("gcn", "ifmixup")
        value = 0.7 + gains * (0.03 + 0.02 * (-1) ** spec.fold)
        return result((0.1, value), validation=(0.1, 0.5))

    records = records_of(study, measure)
    check(study, records, tmp_path)
    row = Comparison(study, list(records.values())).rows[1]
    assert row.difference.p_value * 3 < 0.05 < row.difference.p_value * 6 == row.adjusted_p
    assert row.verdict == INCONCLUSIVE


def two_studies(folder):
    """The same comparison with two learning rates, in one folder."""
    means = {0.01: 0.744, 0.0005: 0.762}
    studies = [study_of(methods=["none", "ifmixup"], learning_rate=rate) for rate in means]
    with Store(folder) as store:
        for study in studies:
            records = records_of(
                study,
                lambda spec, validated: result(
                    (0.1, means[spec.settings.learning_rate]), validation=(0.1, 0.5)
                ),
            )
            store.merge(records.values())
            save_studies(folder, [study])
    return folder


def test_two_studies_in_one_folder_stay_two(tmp_path):
    made = gather([two_studies(tmp_path)])
    assert [each.name for each in made.shown] == ["mutag", "mutag-2"]
    assert [each.title for each in made.shown] == [
        "MUTAG: a study (learning_rate 0.01)",
        "MUTAG: a study (learning_rate 0.0005)",
    ]
    (path,) = report([tmp_path], tmp_path / "r.html")
    found = Reader(path.read_text(encoding="utf-8")).studies()
    ours = {
        key: next(text for name, text in cell.items() if name.startswith("ours"))
        for key, cell in found.items()
    }
    assert ours == {
        (number, "MUTAG, holdout", "gcn", method): f"{mean} ± 0.0"
        for number, mean in enumerate(("74.4", "76.2"))
        for method in ("none", "ifmixup")
    }
