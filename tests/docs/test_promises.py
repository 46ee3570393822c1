"""Every promise names a test that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "docs" / "promises.md").exists():
    pytest.skip("docs/ comes with the repository only", allow_module_level=True)
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_every_promise_has_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "promise |" not in line]
    assert len(rows) > 10
    for row in rows:
        ((path, name),) = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^(def {name}\(|{name} = )", text, re.MULTILINE), name


def test_options_and_variables_on_the_page_are_there():
    source = "".join(path.read_text() for path in (ROOT / "src" / "ifmixup").rglob("*.py"))
    for name in re.findall(r"`(IFMIXUP_\w+)`", PAGE):
        assert name in source
    for option in re.findall(r"`--([\w-]+)", PAGE):
        assert option.replace("-", "_") in source


def test_how_to_report():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Report a vulnerability" in text
    assert "promises.md" in text
