from dataclasses import replace

from ifmixup.paper.effects import Effect
from ifmixup.report.sections.summary import _difference, _short, summary
from ifmixup.study.statistics import Difference


def test_a_line_for_each_variant_and_protocol(studies):
    html = "".join(summary(studies).parts)
    assert "GCN with every method" in html
    gcn = next(each for each in studies.experiments if each.name == "gcn")
    html = "".join(summary(replace(studies, experiments=[gcn])).parts)
    assert html.count(">holdout<") == 5  # five methods against none
    assert "points" in html
    assert "<img" not in html


def test_what_a_variant_is_compared_with_is_said_in_short():
    def short(variant, against):
        return _short(Effect(variant, against, "paper", {}, {}))

    assert short("ifmixup", "none") == "none"
    assert short("ifmixup, 3 layers", "none, 3 layers") == "none"
    assert short("ifmixup, Beta(1, 1)", "none, settings by hand") == "none, settings by hand"
    assert short("8 layers, every 1 epoch", "8 layers, never") == "8 layers, never"


def test_nothing_to_compare(studies):
    alone = [cell for cell in studies.cells if cell.variant.startswith("none")]
    assert summary(replace(studies, cells=alone)) is None


def test_less_of_an_error_helps(error_studies):
    html = "".join(summary(error_studies).parts)
    assert "−0.100 MAE" in html
    row = html[html.index("−0.100 MAE") :].split("</td>")
    assert [text.rsplit(">", 1)[-1] for text in row[1:3]] == ["1", "0"]  # helps, hurts


def test_errors_of_different_datasets_have_no_mean():
    one = Difference(-0.1, -0.2, 0.0, 0.05, 5)
    two = Effect("ifmixup", "none", "paper", {"A": one, "B": one}, {})
    assert _difference(two, "mae") == "–"
    assert _difference(two, "roc_auc") == "−10.0 points of ROC-AUC"
