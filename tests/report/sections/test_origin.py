from dataclasses import replace

from ifmixup.report.sections.origin import origin


def test_settings_versions_and_command_but_no_machines(studies):
    html = "".join(origin(studies).parts)
    assert "batch_size" in html
    assert "Settings that differ" in html
    assert "torch" in html
    assert "ifmixup report &lt;b&gt;reproduced" in html
    assert "<img" not in html
    assert not any(record.host and f">{record.host}<" in html for record in studies.records)


def test_the_commands_that_the_runs_were_made_with(studies):
    known = replace(studies, commands=["ifmixup reproduce gcn --scale <small>"])
    html = "".join(origin(known).parts)
    assert "ifmixup reproduce gcn --scale &lt;small&gt;\nifmixup report" in html
