"""Run a script with MKL's AVX-512 kernels on AMD: ``python results/avx512.py results/run.py A``.

On processors that are not Intel's, the MKL inside PyTorch takes its AVX2 kernels, whatever they can
do. A library of two functions, loaded first, tells MKL that the processor is Intel's. An epoch on
NCI1 at batch 128 then takes about a fifth (GCN) to a quarter (GIN) less time on AMD's Zen 5.
Results differ from those of the other kernels in the last digit, as they do between processors.
It needs a C compiler and Linux; nothing of ifmixup depends on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("mkl_serv_intel_cpu_true", "mkl_serv_intel_cpu")
SOURCE = "\n".join(f"int {name}(void) {{ return 1; }}" for name in NAMES)


def main() -> None:
    """Compile the library, and become the script that is named."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    library = Path(tempfile.mkdtemp(prefix="ifmixup-avx512-")) / "kernels.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    environment = os.environ | {"LD_PRELOAD": str(library)}
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
