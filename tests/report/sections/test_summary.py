from dataclasses import replace

from ifmixup.report.sections.summary import summary


def test_a_line_for_each_variant_and_protocol(studies):
    html = "".join(summary(studies).parts)
    assert "GCN with every method" in html
    gcn = next(each for each in studies.experiments if each.name == "gcn")
    html = "".join(summary(replace(studies, experiments=[gcn])).parts)
    assert html.count(">holdout<") == 5  # five methods against none
    assert "points" in html
    assert "<img" not in html


def test_nothing_to_compare(studies):
    alone = [cell for cell in studies.cells if cell.variant.startswith("none")]
    assert summary(replace(studies, cells=alone)) is None
