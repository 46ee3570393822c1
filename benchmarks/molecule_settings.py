"""Which settings of GIN do well on molecules that ``benchmarks/molecules.py`` never tests on.

    IFMIXUP_MOLECULES=folder python benchmarks/molecule_settings.py

Molecules that are in the test part of any split of that benchmark are left out. What is left is
split anew by scaffolds, three times; each candidate is trained on ``train``, its epoch is chosen on
``val``, and it is judged on ``test`` of these inner splits. What is measured already, in the output
file, is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from ifmixup.components import resolve
from ifmixup.safe_io import atomically
from ifmixup.training.recommended import starting_point
from molecules import DATASETS, SPLITS, judge, packed, scaffold_parts, split_table, write

OUTPUT = Path(__file__).parent.parent / "results" / "benchmark-molecule-settings.json"
BASE = {
    "epochs": 100, "learning_rate": 0.001, "halve_every": 30, "batch_size": 64, "num_layers": 4,
    "hidden_channels": 128, "dropout": 0.2, "readout": "mean", "jk": "last", "norm": "batch",
}  # fmt: skip
SUM = {"readout": "sum", "norm": "none"}
SMALL = {**SUM, "num_layers": 3, "dropout": 0.0, "batch_size": 16, "epochs": 50}
CANDIDATES: dict[str, dict[str, Any]] = {
    "base": {},
    "sum": {"readout": "sum"},
    "sum, no norm": SUM,
    "wide": {**SUM, "num_layers": 3, "hidden_channels": 256},
    "small batches": SMALL,
    "small batches, fast decay": {**SMALL, "halve_every": 8},
    "small batches, fast decay, mean": {**SMALL, "halve_every": 8, "readout": "mean"},
    "small batches, fast decay, wide": {**SMALL, "halve_every": 8, "hidden_channels": 256},
}


def inner_table(source: Path, name: str, folder: Path) -> Path:
    """The molecules that no test part has, with the parts of the inner splits."""
    whole, target = folder / f"{name}-whole.csv", folder / f"{name}.csv"
    if not target.exists():
        split_table(source / DATASETS[name][0], DATASETS[name][1], whole)
        with whole.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        outer = [f"split{split}" for split in range(SPLITS)]
        rows = [row for row in rows if "test" not in (row[each] for each in outer)]
        for split, column in enumerate(outer):
            for row, part in zip(rows, scaffold_parts(rows, 100 + split), strict=True):
                row[column] = part
        write(rows, target)
    return target


def main() -> None:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=os.environ.get("IFMIXUP_MOLECULES"))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--datasets", nargs="+", default=["ESOL", "BBBP"], choices=DATASETS)
    parser.add_argument("--candidates", nargs="+", default=list(CANDIDATES), choices=CANDIDATES)
    options = parser.parse_args()
    if options.data is None:
        parser.error("Name the folder of the tables: --data or IFMIXUP_MOLECULES.")
    found: dict[str, Any] = {"runs": []}
    if options.output.exists():
        found = json.loads(options.output.read_text())
    done = {(each["dataset"], each["candidate"], each["split"]) for each in found["runs"]}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.datasets:
            table = inner_table(Path(options.data), name, Path(folder))
            for candidate in options.candidates:
                changes = {**BASE, **CANDIDATES[candidate]}
                for split in range(SPLITS):
                    if (name, candidate, split) in done:
                        continue
                    data, parts = packed(table, name, f"split{split}")
                    arms = resolve("model", "gin"), resolve("method", "none")
                    began = time.process_time()
                    measured = judge(data, parts, starting_point(data, *arms, changes), split)
                    found["runs"].append(
                        {
                            "dataset": name,
                            "candidate": candidate,
                            "split": split,
                            **measured,
                            "cpu_seconds": time.process_time() - began,
                        }
                    )
                    with atomically(options.output) as unfinished:
                        unfinished.write_text(json.dumps(found, indent=1) + "\n")
                    print(found["runs"][-1], flush=True)


if __name__ == "__main__":
    main()
