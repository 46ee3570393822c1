from ifmixup.paper.table import lines
from ifmixup.report.table_files import to_latex, to_markdown


def test_markdown(studies, experiment):
    gcn = experiment("gcn")
    text = to_markdown(gcn, lines(gcn, studies.of(gcn)))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 12
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1
    assert "attribute\\_masking" in text
    assert "85.0 ± 1.1" in text
    assert "**" in text
    assert "optimistic" in text


def test_latex(studies, experiment):
    gcn = experiment("gcn")
    text = to_latex(gcn, lines(gcn, studies.of(gcn)))
    assert r"attribute\_masking" in text
    assert r"85.0 $\pm$ 1.1" in text
    assert r"\textbf{" in text
    assert text.count(r"\\") == 1 + 12


def test_a_hostile_name_stays_in_its_entry(studies):
    own = studies.experiments[-1]
    assert "\\<img" in to_markdown(own, lines(own, studies.of(own)))
