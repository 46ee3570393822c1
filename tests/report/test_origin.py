import dataclasses

from ifmixup.report.origin import origin
from ifmixup.report.studies import Studies, gather
from ifmixup.study.study import save_studies
from stored_runs import study_of


def test_settings_versions_and_command_but_no_machines(studies):
    html = "".join(origin(studies).parts)
    assert "batch_size" in html
    assert "that differ" in html
    assert "torch" in html
    assert "ifmixup report &lt;b&gt;reproduced" in html
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
