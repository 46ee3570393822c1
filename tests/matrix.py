"""The core tests with the oldest versions that we allow, and on every Python: `make test-matrix`.

Needs uv, and the Pythons that are to be tested (uv finds those of pyenv and of the system). A
Python that is not there is named and left out. Environments go to `.matrix/` and stay there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CASES = [
    ("3.10", "lowest-direct"),
    *((each, "highest") for each in ("3.10", "3.11", "3.12", "3.13")),
]
TOOLS = ("pytest>=8", "hypothesis>=6.100", "psutil>=5.9", "packaging>=23")
CORE = (
    "tests/test_graphs.py", "tests/test_mixing.py", "tests/test_recovery.py", "tests/test_batch.py",
    "tests/test_edges.py", "tests/test_values.py", "tests/nn", "tests/augment/test_ifmixup.py",
    "tests/augment/test_method.py", "tests/data/test_tu.py", "tests/data/test_pyg.py",
    "tests/training/test_packed.py", "tests/training/test_trainer.py",
    "tests/training/test_run_spec.py", "tests/training/test_mapped.py",
    "tests/study/test_splits.py", "tests/study/test_store.py", "tests/study/test_statistics.py",
)  # fmt: skip


def main() -> int:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        sys.exit("uv is needed: pip install uv, or name it in the environment variable UV.")
    results = {}
    for python, resolution in CASES:
        folder = ROOT / ".matrix" / f"{python}-{resolution}"
        name = f"Python {python}, {resolution} versions"
        interpreter = folder / "bin" / "python"
        made = interpreter.exists() or not subprocess.call(
            [uv, "venv", "-q", "--python", python, "--no-python-downloads", str(folder)]
        )
        if not made:
            results[name] = "left out: there is no such Python here"
            continue
        install = [uv, "pip", "install", "-q", "--python", str(interpreter), *TOOLS]
        if subprocess.call([*install, "--resolution", resolution, "-e", str(ROOT)]):
            results[name] = "cannot be installed"
            continue
        test = [str(interpreter), "-m", "pytest", "-q", "-p", "no:cacheprovider", *CORE]
        failed = subprocess.call(test, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})
        results[name] = "failed" if failed else "passed"
    for name, result in results.items():
        print(f"{name}: {result}")
    return int(any(each in ("failed", "cannot be installed") for each in results.values()))


if __name__ == "__main__":
    sys.exit(main())
