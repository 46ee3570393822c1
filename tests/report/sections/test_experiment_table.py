from ifmixup.report.sections.experiment_table import experiment_table
from ifmixup.report.studies import Studies


def test_ours_beside_the_published_under_both_protocols(studies, experiment):
    section = experiment_table(studies, experiment("gcn"))
    assert section.title == "gcn: GCN with every method"
    table, said, grid = section.parts
    heads = [text.split("<")[0] for text in table.split("<th")[1:]]
    texts = [text.rsplit(">", 1)[-1] for text in heads]
    assert texts.count("holdout") == texts.count("paper*") == 5
    assert "honest" in said
    assert "85.0 ± 1.1" in table
    assert "2 × 2" in table
    assert "best" in table
    assert 'lower" style="--tint:' in table
    assert "on the test folds themselves" in said
    (panel,) = grid.panels
    assert [series.name for series in panel.series] == ["published", "holdout", "paper"]


def test_a_figure_has_no_published_numbers(studies, experiment):
    section = experiment_table(studies, experiment("depth"))
    assert "published" not in section.parts[0]
    assert not section.grids


def test_a_study_of_ones_own_has_its_own_title(studies, experiment):
    section = experiment_table(studies, experiment("compare-1-gcn"))
    assert section.title == "GCN in the study own"
    assert "<img" not in section.parts[0]


def test_nothing_to_show(experiment):
    assert experiment_table(Studies([], []), experiment("gcn")) is None


def test_of_an_error_less_is_best(error_studies):
    table, said, grid = experiment_table(error_studies, error_studies.experiments[0]).parts
    assert "ours, MAE" in table
    (best,) = [row for row in table.split("<tr") if "best" in row]
    assert "0.420 ± 0.020" in best
    assert "−0.100 [−0.113, −0.087]" in best
    assert "Less MAE is better." in said
    assert "%, ± over" not in said
    assert grid.name.endswith("-mae")
    assert grid.panels[0].x_label == "MAE"
