"""The core tests with the oldest versions that we allow, and on every Python: `make test-matrix`.

Needs uv, and the Pythons that are to be tested: those of pyenv, then what uv finds. A Python that
is not there is named and left out. Environments go to `.matrix/` and stay there. A package index
that has torch with CUDA only costs about 5 GB for each; UV_TORCH_BACKEND=cpu takes the small one
where the index of PyTorch can be reached. `python tests/matrix.py 3.10-highest` runs one case.
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
TOOLS = ("pytest>=8", "hypothesis>=6.100", "psutil>=5.9")
SHOWN = ("torch", "torch_geometric", "numpy", "scipy", "scikit-learn")
CORE = (
    "tests/test_graphs.py", "tests/test_mixing.py", "tests/test_recovery.py", "tests/test_batch.py",
    "tests/test_edges.py", "tests/test_values.py", "tests/test_tensor_files.py", "tests/nn",
    "tests/augment/test_ifmixup.py",
    "tests/augment/test_method.py", "tests/data/test_tu.py", "tests/data/test_pyg.py",
    "tests/data/test_saved_graphs.py", "tests/training/test_checkpoint.py",
    "tests/training/test_packed.py", "tests/training/test_trainer.py",
    "tests/training/test_run_spec.py", "tests/training/test_mapped.py",
    "tests/training/test_compact.py", "tests/study/test_splits.py", "tests/study/test_store.py",
    "tests/study/test_record.py", "tests/study/test_statistics.py", "tests/cli/test_main.py",
)  # fmt: skip


def main() -> int:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        sys.exit("uv is needed: pip install uv, or name it in the environment variable UV.")
    names = [f"{python}-{resolution}" for python, resolution in CASES]
    unknown = set(sys.argv[1:]) - set(names)
    if unknown:
        sys.exit(f"There is no case {', '.join(sorted(unknown))}; there are {', '.join(names)}.")
    results = {}
    for name, (python, resolution) in zip(names, CASES, strict=True):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        folder = ROOT / ".matrix" / name
        interpreter = folder / "bin" / "python"
        made = interpreter.exists() or not subprocess.call(
            [uv, "venv", "-q", "--python", find(python), "--no-python-downloads", str(folder)]
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
        results[name] = f"{'failed' if failed else 'passed'} ({versions(interpreter)})"
    for name, result in results.items():
        print(f"{name}: {result}")
    return int(any(each.startswith(("failed", "cannot")) for each in results.values()))


def find(python: str) -> str:
    """The newest such Python of pyenv, whose shims uv cannot ask, else the version for uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(pyenv.glob(f"versions/{python}.*/bin/python"))
    return str(found[-1]) if found else python


def versions(interpreter: Path) -> str:
    """Which Python it is, and the versions of what matters most."""
    code = (
        "import platform; from importlib.metadata import version; "
        f"print('Python', platform.python_version(), *(p + ' ' + version(p) for p in {SHOWN}))"
    )
    return subprocess.check_output([str(interpreter), "-c", code], text=True).strip()


if __name__ == "__main__":
    sys.exit(main())
