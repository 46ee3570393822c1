import dataclasses

import pytest

from ifmixup.data.catalog import VARIABLE
from ifmixup.report.studies import Studies, gather
from ifmixup.report.tables import origin, statistics, study_section, summary, unknown_section
from ifmixup.study.study import save_studies
from stored_runs import records_of, result, stored, study_of


@pytest.fixture
def only_mutag(monkeypatch, tmp_path):
    """A machine that has only the bundled dataset."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_ours_beside_the_published_under_both_protocols(shown):
    section = study_section(shown("gcn"))
    assert section.title == "gcn: GCN with every method"
    table, said, small, grid = section.parts
    assert table.index("MUTAG, holdout") < table.index("MUTAG, paper")
    assert table.count("85.0 ± 1.1") == 2
    assert "2 × 2" in table
    assert "best" in table
    assert 'lower" style="--tint:' in table
    assert said.count("Holm-adjusted") == 12
    assert "on the test folds themselves" in small
    assert "never test graphs" in small
    (panel,) = grid.panels
    assert [series.name for series in panel.series] == ["published", "holdout", "paper"]


def test_a_figure_has_no_published_numbers(shown):
    section = study_section(shown("depth"))
    assert "published" not in section.parts[0]
    assert "<summary>" not in section.parts[1]
    assert not section.grids


def test_many_verdicts_are_folded_up(tmp_path):
    methods = ["none", "ifmixup", "drop_edge", "drop_node", "mixup_graph"]
    study = study_of(["gcn", "gin"], methods, protocols=["paper", "last"], folds=2)
    records = records_of(study, lambda spec, validated: result())
    (shown,) = gather([stored(tmp_path, study, records)]).shown
    assert "<summary>18 verdicts in words" in study_section(shown).parts[1]


def test_text_of_a_file_is_escaped(studies):
    html = "".join(part for part in study_section(studies.shown[2]).parts if isinstance(part, str))
    assert "&lt;img" in html
    assert "<img" not in html


def test_of_an_error_less_is_best(error_studies):
    table, said, small, grid = study_section(error_studies.shown[0]).parts
    assert "MAE ± folds" in table
    (best,) = [row for row in table.split("<tr") if "best" in row]
    assert "0.420 ± 0.020" in best
    assert "−0.100 [−0.113, −0.087]" in best
    assert "helps" in best
    assert "lower is better" in said
    assert "lower is better" in small
    assert grid.name.endswith("-mae")
    assert grid.panels[0].x_label == "MAE"


def test_a_stopped_study_says_so(tmp_path):
    study = study_of(folds=2, methods=["none", "ifmixup"])
    records = records_of(
        study,
        lambda spec, validated: (
            result(validation=(0.1, 0.5)) if spec.method.name == "none" else None
        ),
    )
    (shown,) = gather([stored(tmp_path, study, records)]).shown
    progress, table, small, grid = study_section(shown).parts
    assert "2 of its 4 runs are done" in progress
    assert "not run" in table
    assert "1 of 2 trials are not run yet." in small
    assert grid.panels[0].rows == ["none"]
    nothing = study_section(gather([stored(tmp_path / "n", study, {})]).shown[0])
    assert not nothing.grids


def test_runs_of_unknown_studies():
    html = "".join(unknown_section(Studies([], ["<b> has 3 runs"])).parts)
    assert "&lt;b&gt; has 3 runs" in html
    assert unknown_section(Studies([])) is None


def test_a_row_for_each_comparison(studies, shown):
    html = "".join(summary(Studies([shown("gcn")])).parts)
    assert "GCN with every method" in html
    assert html.count(">holdout<") == 6  # five methods, one in two readings, against none
    assert "points" in html
    assert "<img" not in "".join(summary(studies).parts)
    assert summary(Studies([])) is None


def test_less_of_an_error_helps(error_studies):
    html = "".join(summary(error_studies).parts)
    row = html[html.index("−0.100 MAE") :].split("</td>")
    assert [text.rsplit(">", 1)[-1] for text in row[1:3]] == ["1", "0"]  # helps, hurts


def test_the_datasets_that_are_here(studies, only_mutag):
    table, said = statistics(studies).parts
    assert all(text in table for text in ("MUTAG", "188", "17.9", "39.6"))
    assert "PTC_MR" not in table + said  # nothing about datasets that were not asked for
    assert statistics(Studies(studies.shown[2:])) is None


def test_settings_versions_and_command_but_no_machines(studies):
    html = "".join(origin(studies).parts)
    assert "batch_size" in html
    assert "that differ" in html
    assert "torch" in html
    assert "<span>report</span> <span>&lt;b&gt;reproduced&lt;/b&gt;</span>" in html
    assert "<img" not in html
    assert not any(record.host and f">{record.host}<" in html for record in studies.records)


def test_the_options_of_a_study(tmp_path):
    study = dataclasses.replace(study_of(), config={"folds": 5, "models": ["gcn"], "name": None})
    save_studies(tmp_path, [study])
    html = "".join(origin(gather([tmp_path])).parts)
    assert "Options of MUTAG: a study" in html
    assert ">models<" in html
    assert ">name<" in html  # the head of the table
    assert html.count(">gcn<") == 1
    assert "None" not in html.split("Options of")[1].split("</table>")[0]


def test_without_studies_there_are_notes_only():
    assert "two" in "".join(origin(Studies([], notes=["two"])).parts)
