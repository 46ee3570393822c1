"""The quick version of ``make torture``: 12 kills, 200 hostile files, 50 flips, six bad folders."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not (BENCHMARKS / "torture.py").exists():
    pytest.skip("benchmarks/ comes with the repository only", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))
from torture import PARTS, torture  # noqa: E402

sys.path.remove(str(BENCHMARKS))


@pytest.mark.filterwarnings("ignore")  # a full disk is also one for the cache, which warns
@pytest.mark.parametrize("part", PARTS)
def test_no_promise_is_broken(part, monkeypatch):
    if part == "kills on Ray":
        pytest.importorskip("ray", reason="ray is not installed (pip install 'ifmixup[ray]')")
    monkeypatch.setenv("IFMIXUP_CACHE", "")  # the script sets it; it is put back at the end
    (found,) = torture(0, quick=True, only=part, quiet=True)
    problems = [each for each in found["problems"] if "not tried" not in each]
    assert problems == []
    assert found["trials"] == PARTS[part][2]
