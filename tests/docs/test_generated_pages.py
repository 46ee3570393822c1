import os

from generated_pages import (
    MEASURED,
    NOTHING,
    command_pages,
    embedded,
    findings_part,
    help_of,
    measured_part,
    methods_page,
    published_part,
    write,
)

from ifmixup.cli import COMMANDS
from ifmixup.components import METHODS


def test_the_reference_has_every_command_and_its_options():
    pages = command_pages()
    for name in COMMANDS:
        assert f"\n{name}\n" in pages["index"]
        assert f"usage: ifmixup {name}" in pages[name]
    assert "--shuffle-every" in pages["compare"]
    assert "--gpus-per-run" in pages["compare"]


def test_the_table_of_methods_is_that_of_the_registry():
    page = methods_page()
    for name in METHODS.names():
        assert f"`{name}" in page
    assert "[DropEdge](https://arxiv.org/abs/1907.10903)" in page
    assert "`drop_ratio` (0.2)" in page
    assert "W = \\lambda W_a" in page  # of the docstring of g_mixup


def test_help_is_plain_text_of_a_fixed_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = help_of("show")
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert os.environ["COLUMNS"] == "200"


def test_findings_come_without_their_title(tmp_path):
    assert findings_part(tmp_path, tmp_path / "docs") == f"{NOTHING}\n"
    (tmp_path / "findings.md").write_text("# What we found\n\n**It helps.**\n\n## Why\n")
    assert findings_part(tmp_path, tmp_path / "docs") == "\n**It helps.**\n\n## Why\n"


def test_tables_stand_on_the_page_where_there_are_some(tmp_path):
    (tmp_path / "torture.md").write_text("# Torture\n")  # not what was found
    assert measured_part(tmp_path, tmp_path / "docs") == f"{MEASURED}\n"
    (tmp_path / "datasets.md").write_text("# Sizes\n")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "counts.md").write_text("## counts\n")  # in findings.md
    (tables / "gcn.md").write_text("## gcn: every method\n\n### more\n")
    (tables / "main.md").write_text("## main\n")  # comes first
    (tables / "my-table.md").write_text("| a |\n")
    assert measured_part(tmp_path, tmp_path / "docs") == (
        f"{MEASURED}\n\n### main\n\n### gcn: every method\n\n#### more\n\n"
        "### my table\n\n| a |\n\n### Sizes\n"
    )


def test_links_of_a_table_are_those_of_the_page(tmp_path):
    table = tmp_path / "results" / "a.md"
    table.parent.mkdir()
    table.write_text(
        "# A\n![b](b.png) [c](../docs/c.md#d) [e](https://example.org/f) [g](#g) [h](x/h.json)\n"
    )
    assert embedded(table, tmp_path / "docs") == (
        "## A\n![b](../results/b.png) [c](c.md#d) [e](https://example.org/f) [g](#g) "
        "[h](../results/x/h.json)\n"
    )


def test_the_published_tables_are_those_of_the_paper():
    page = published_part()
    assert "| MUTAG | 0.850 | **0.879** | 0.860 | 0.855 | 0.829 | 0.806 |" in page
    assert "| PTC\\_MR | 0.644 | **0.672** | 0.631 | 0.669 | 0.663 | 0.657 |" in page


def test_a_page_that_is_up_to_date_is_left_alone(tmp_path):
    write(tmp_path, tmp_path / "results")
    page = tmp_path / "commands" / "compare.md"
    os.utime(page, (1, 1))
    write(tmp_path, tmp_path / "results")
    assert page.stat().st_mtime == 1
