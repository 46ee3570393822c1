"""A table of molecules, the first time and the second: `make scale`.

The SMILES are made from fragments. Each load is a process of its own; the second finds the cache.
Writes results/benchmark-molecule-tables.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from measure import Figure, save, show

ENDS = ("C", "N", "O", "F", "Cl", "CC", "C#N", "C(=O)O", "S(=O)(=O)N", "c1ccccc1", "OC", "C(F)(F)F")
CORES = ("c1cc({})cc({})c1{}", "C1CC({})N({})C1{}", "c1nc({})c({})s1", "C({})(O)C({})C{}")
LOAD = """
import json, sys, time
start, cpu = time.perf_counter(), time.process_time()
from ifmixup.data import load
imported = time.perf_counter(), time.process_time()
data = load(sys.argv[1])
print(json.dumps({"graphs": len(data), "seconds": time.perf_counter() - imported[0],
                  "cpu_seconds": time.process_time() - imported[1]}))
"""


def write(path: Path, count: int) -> None:
    made = itertools.cycle(
        core.format(*ends) for ends in itertools.product(ENDS, repeat=3) for core in CORES
    )
    lines = (f"{smiles},{i % 2}" for i, smiles in enumerate(itertools.islice(made, count)))
    path.write_text("smiles,label\n" + "\n".join(lines) + "\n")


def timed(path: Path, cache: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-c", LOAD, str(path)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env={**os.environ, "IFMIXUP_CACHE": cache}
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[4_200, 100_000])
    found, figures = {}, []
    for count in parser.parse_args().counts:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "molecules.csv"
            write(path, count)
            first, second = (timed(path, f"{folder}/cache") for _ in range(2))
        found[str(count)] = {"first": first, "second": second}
        what = f"{count:,} molecules: the second load, processor seconds"
        most = 1.0 if count <= 10_000 else None
        figures.append(Figure(what, second["cpu_seconds"], at_most=most))
    show("Loading a table of molecules", figures, Console())
    save("molecule-tables", loads=found, figures=figures)


if __name__ == "__main__":
    main()
