"""Build the wheel and the sdist, and try the wheel where the repository is not: `make release`.

The wheel is installed into an empty environment, and the core tests run there with the tests of the
sdist, whose `src` is removed first. Both files go to `dist/`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from matrix import CORE, TOOLS

ROOT = Path(__file__).parent.parent
LARGEST = 1_000_000  # bytes of the wheel


def main() -> None:
    """Build, look at what is in it, install it and test it."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    _call(sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT))
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1000:,.0f} kB, {len(names)} files")
    if size >= LARGEST:
        sys.exit(f"The wheel has {size:,} bytes, and should have fewer than {LARGEST:,}.")
    for needed in ("ifmixup/py.typed", "ifmixup/data/MUTAG.zip"):
        if needed not in names:
            sys.exit(f"The wheel does not have {needed}.")
    with tempfile.TemporaryDirectory() as folder:
        _try(wheel, sdist, Path(folder))


def _try(wheel: Path, sdist: Path, folder: Path) -> None:
    """Install the wheel into an environment of its own and run the core tests of the sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.glob("ifmixup-*")
    shutil.rmtree(source / "src")
    _call(sys.executable, "-m", "venv", str(folder / "venv"))
    python = str(folder / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    _call(*install, "-c", str(source / "constraints.txt"), str(wheel), *TOOLS)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = {**clean, "OMP_NUM_THREADS": "1"}
    _call(str(folder / "venv" / "bin" / "ifmixup"), "datasets", cwd=folder, env=environment)
    there = [path for path in CORE if (source / path).exists()]
    test = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *there]
    _call(*test, cwd=source, env=environment)


def _call(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    code = subprocess.call(command, cwd=cwd, env=env)
    if code:
        sys.exit(f"{' '.join(command[:4])} ... ended with {code}.")


if __name__ == "__main__":
    main()
