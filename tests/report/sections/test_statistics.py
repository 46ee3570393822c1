import dataclasses

import pytest

from ifmixup.data.catalog import VARIABLE
from ifmixup.report.sections.statistics import statistics


@pytest.fixture
def only_mutag(monkeypatch, tmp_path):
    """A machine that has only the bundled dataset."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_is_here_is_counted_and_what_is_not_is_said(studies, only_mutag):
    table, said = statistics(studies).parts
    assert all(text in table for text in ("MUTAG", "188", "17.9", "39.6"))
    assert "PTC_MR, NCI109" in said


def test_studies_of_ones_own_have_none(studies):
    assert statistics(dataclasses.replace(studies, experiments=[])) is None
