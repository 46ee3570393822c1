"""How long the command and the import take before they do anything: `make bench`.

Processor seconds (user and system) of new processes: wall-clock seconds depend on the disk and on
what else runs. A first round fills the caches of Python and of the disk. Prints a table and writes
results/benchmark-startup.json.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from measure import REPEATS, Figure, Time, save, show


def command() -> list[str]:
    """``ifmixup``, as it is installed beside this Python."""
    found = shutil.which("ifmixup", path=str(Path(sys.executable).parent))
    return [found] if found else [sys.executable, "-m", "ifmixup"]


WAYS = {
    "ifmixup --version": [*command(), "--version"],
    "ifmixup --help": [*command(), "--help"],
    "import ifmixup": [sys.executable, "-c", "import ifmixup"],
    "Python alone": [sys.executable, "-c", ""],
}
AT_MOST = {"ifmixup --version": 0.5, "ifmixup --help": 0.5}


def processor_seconds(words: list[str]) -> float:
    """What a new process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    measured: dict[str, list[float]] = {name: [] for name in WAYS}
    for repeat in range(1 + REPEATS):
        for name, words in WAYS.items():
            seconds = processor_seconds(words)
            if repeat > 0:
                measured[name].append(seconds)
    times = {name: Time.of([1e3 * each for each in values]) for name, values in measured.items()}
    figures = [
        Figure(f"{name}: processor seconds", time.median / 1e3, at_most=AT_MOST.get(name))
        for name, time in times.items()
    ]
    console = Console()
    show("Starting", figures, console)
    path = save("startup", milliseconds=times, figures=figures)
    console.print(f"Written to results/{path.name}")


if __name__ == "__main__":
    main()
