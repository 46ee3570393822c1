"""The printed table, the data frame, the saved tables and the report's page say the same."""

import csv
import html
import json
import math
import random
import tempfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ifmixup.paper.tables import difference_title, effects, score_title
from ifmixup.report.charts import paired_dots
from ifmixup.report.report import page, report, save_tables
from ifmixup.report.studies import gather
from ifmixup.report.tables import study_section, summary
from ifmixup.study.baselines import Baseline
from ifmixup.study.comparison import Comparison
from ifmixup.study.numbers import INTERVAL
from ifmixup.study.protocols import mean
from ifmixup.study.statistics import HELPS, HURTS, INCONCLUSIVE
from ifmixup.study.store import Store
from ifmixup.study.study import save_studies
from ifmixup.training.task import is_fraction, signed, title_of
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
            elif head is not None and len(row) == len(head) - 1:  # a name without a method
                found[number, group, row[0], ""] = dict(
                    zip(head, [row[0], "", *row[1:]], strict=True)
                )
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
    guesses = draw(st.sampled_from([(), (0.1,), (0.3, 0.9)]))
    study = replace(
        study,
        baselines=tuple(
            Baseline(f"guess {i}", dataset, {metric: tuple((*p, value) for p in trial.pairs)})
            for trial in study.trials[:1]
            for dataset in study.datasets
            for i, value in enumerate(guesses)
        ),
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


def cells(markdown):
    """The cells of a table in Markdown, without what makes them bold and escapes them."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    plain = [line.replace("**", "").replace("\\", "").strip("| ") for line in lines]
    head, _, *rows = [[cell.strip() for cell in line.split(" | ")] for line in plain]
    return [dict(zip(head, row, strict=False)) for row in rows]


def texts(row, found):
    """What a table must say of a trial, by column."""
    return {
        score_title(found): row.score_text(),
        **{title_of(metric): row.other_text(metric) for metric in found.beside},
        "at last epoch": row.text(row.reading.last_mean),
        "runs x epochs": f"{row.reading.runs} × {row.trial.epochs}",
        difference_title(found): row.difference_text(),
        "verdict": row.verdict or "",
        "chosen": row.chosen_text(),
    }


def known(value):
    return None if value is None or not math.isfinite(value) else value


def check_answer(printed, read):
    """The answer says what the table says, and the report says the same answer."""
    said = printed.answer()
    assert read.answer() == said
    assert html.escape(said.partition("\n")[0]) in printed._repr_html_()
    protocols = printed.study.protocols
    protocol = "holdout" if "holdout" in protocols else protocols[0]
    rows = [row for row in printed.rows if row.trial.protocol == protocol]
    if not rows or len(printed.study.datasets) > 1:
        return
    best = max(rows, key=lambda row: row.rank)
    complete = [row for row in rows if math.isfinite(row.score) and not row.failed]
    assert not complete or best.score == max(row.score for row in complete)
    assert best.best or math.isinf(best.score)
    assert best.score_text().rstrip("*") in said or math.isinf(best.score)
    verdicts = {row.verdict for row in rows if row.verdict}
    assert ("Augmentation helps" in said) == (HELPS in verdicts)
    assert all(verdict in said for verdict in verdicts)
    for row in rows:
        if row.verdict in (HELPS, HURTS):
            assert f"{row.label} {row.difference_text()}" in said
    guesses = [guess.baseline.scores(best.metric) for guess in printed.baselines]
    if guesses and not math.isinf(best.score):
        higher = best.reading.higher
        guess = max(guesses, key=lambda scores: signed(mean(scores), higher))
        gains = [
            signed(
                mean({p: s - guess[p] for p, s in row.reading.scores.items() if p in guess}), higher
            )
            for row in rows
        ]
        assert said.startswith("No model beats the ") == all(gain <= 1e-12 for gain in gains)


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
    for guess, each in zip(printed.baselines, figures, strict=False):
        cell = on_page.pop((0, f"{each['dataset']}, baselines", each["name"], ""))
        assert cell[score_title(printed)] == guess.score_text()
        assert guess.baseline.mean(each["metric"]) == each["mean"]
    for row, each in zip(printed.rows, figures[len(printed.baselines) :], strict=True):
        group = f"{each['dataset']}, {each['protocol']}"
        by_name[each["dataset"], each["protocol"], each["name"]] = each
        cell = on_page.pop((0, group, each["model"], each["method"]))
        for name, text in texts(row, printed).items():
            assert cell.get(name, "") == text
        assert (each["verdict"], each["adjusted_p"]) == (row.verdict, known(row.adjusted_p))
        assert each["mean"] == known(row.reading.mean)
    assert all(
        "not run" in cell.values() for cell in on_page.values()
    )  # trials without a finished run, and no others
    compared = [each for each in figures if each["verdict"] is not None]
    said = [line for line in printed.verdict().splitlines() if line != "A note."]
    hidden = str(folder), folder.name  # a page does not tell where a folder is
    told = [line.replace(*hidden) for line in said]
    assert read.verdicts == (told if compared or printed.models or printed.failed else [])

    score = score_title(printed)
    for in_report, in_print in zip(
        [row for row in cells(report_table.read_text()) if row[score] != "not run"],
        cells(saved[".md"]),
        strict=True,
    ):
        for name in (score, "at last epoch", "verdict", "chosen"):
            assert in_report.get(name, "") == in_print.get(name, "")
        interval = in_report.get(difference_title(printed), "")
        assert interval == in_print.get(f"difference {INTERVAL}", "")
    check_answer(printed, shown.comparison)

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
        key: next(text for name, text in cell.items() if name.endswith("± folds"))
        for key, cell in found.items()
    }
    assert ours == {
        (number, "MUTAG, holdout", "gcn", method): f"{mean} ± 0.0"
        for number, mean in enumerate(("74.4", "76.2"))
        for method in ("none", "ifmixup")
    }
