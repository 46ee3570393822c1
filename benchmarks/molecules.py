"""GIN at its defaults against chemprop 2 at its defaults, on the same scaffold splits.

    IFMIXUP_MOLECULES=folder python benchmarks/molecules.py --chemprop chemprop

The folder holds ``BBBP.csv``, ``delaney-processed.csv`` (ESOL) and ``tox21.csv.gz`` of MoleculeNet.
Chemprop is a development extra (``pip install ifmixup[bench]``), or the command of another
environment. Both get the same table, with the parts in columns ``split0``, ``split1``, ``split2``;
both choose their epoch on ``val``, with one thread. What is measured already, in the output file,
is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import re
import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.safe_io import atomically
from ifmixup.training.packed import pack
from ifmixup.training.recommended import starting_point
from ifmixup.training.run import run
from ifmixup.training.run_spec import Fold, RunSpec

OUTPUT = Path(__file__).parent.parent / "results" / "benchmark-molecules.json"
TOX21 = (
    "NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma",
    "SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53",
)  # fmt: skip
DATASETS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "ESOL": ("delaney-processed.csv", ("measured log solubility in mols per litre",), "rmse"),
    "BBBP": ("BBBP.csv", ("BBBP",), "roc_auc"),
    "tox21": ("tox21.csv.gz", TOX21, "roc_auc"),
}
SPLITS = 3


def split_table(source: Path, columns: tuple[str, ...], target: Path) -> None:
    """Write SMILES, labels and parts: whole scaffolds, 80/10/10, large ones to train on."""
    with gzip.open(source, "rt") if source.suffix == ".gz" else source.open() as stream:
        rows = list(csv.DictReader(stream))
    kept: list[dict[str, str]] = []
    scaffolds: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        smiles = row["smiles"].strip()
        with rdBase.BlockLogs():
            molecule = Chem.MolFromSmiles(smiles)
        if molecule is not None and molecule.GetNumAtoms():
            scaffolds[MurckoScaffold.MurckoScaffoldSmiles(mol=molecule)].append(len(kept))
            kept.append({"smiles": smiles, **{name: row[name] for name in columns}})
    groups = [scaffolds[name] for name in sorted(scaffolds)]
    large = [group for group in groups if len(group) > 0.05 * len(kept)]
    small = [group for group in groups if len(group) <= 0.05 * len(kept)]
    for seed in range(SPLITS):
        shuffled = list(small)
        random.Random(seed).shuffle(shuffled)
        counts = {"train": 0, "val": 0, "test": 0}
        room = {"train": 0.8 * len(kept), "val": 0.1 * len(kept), "test": float(len(kept))}
        for group in [*large, *shuffled]:
            part = next(name for name in counts if counts[name] + len(group) <= room[name])
            counts[part] += len(group)
            for index in group:
                kept[index][f"split{seed}"] = part
    with target.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(kept[0]))
        writer.writeheader()
        writer.writerows(kept)


def train_gin(table: Path, name: str, split: int) -> dict[str, Any]:
    """GIN as ``ifmixup compare`` trains it by default, without augmentation."""
    _, columns, metric = DATASETS[name]
    column = f"split{split}"
    dataset = load(table, label=",".join(columns), metric=metric, columns=[column])
    data, parts = pack(dataset), dataset.rows.columns[column]
    index = [
        tuple(i for i, p in enumerate(parts) if p == part) for part in ("train", "val", "test")
    ]
    fold = Fold(0, 0, *index)
    start = starting_point(data, resolve("model", "gin"), resolve("method", "none"))
    components = start.settings, start.model.spec, start.method.spec
    spec = RunSpec(data.name, data.fingerprint, fold.fingerprint, 0, 0, split, *components)
    began, cpu = time.perf_counter(), time.process_time()
    found = run(spec, data, fold).metrics[f"chosen_{metric}"]
    return {
        metric: found,
        "cpu_seconds": time.process_time() - cpu,
        "seconds": time.perf_counter() - began,
    }


def train_chemprop(command: str, table: Path, name: str, split: int) -> dict[str, Any]:
    """Chemprop by its own command."""
    _, columns, metric = DATASETS[name]
    own = {"rmse": "rmse", "roc_auc": "roc"}[metric]
    words = [
        command, "train", "-i", str(table), "-s", "smiles", "--target-columns", *columns,
        "--splits-column", f"split{split}", "--metrics", own, "--num-workers", "0",
        "--accelerator", "cpu", "--pytorch-seed", str(split), "-o", f"{table}-{split}",
        "-t", "regression" if metric == "rmse" else "classification",
    ]  # fmt: skip
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    value = re.search(rf"test/{own}: ([\d.]+)", done.stdout + done.stderr)
    if value is None:
        raise SystemExit(f"chemprop told no test/{own}: {done.stderr[-500:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {metric: float(value[1]), "cpu_seconds": cpu, "seconds": time.perf_counter() - began}


def main() -> None:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=os.environ.get("IFMIXUP_MOLECULES"))
    parser.add_argument("--chemprop", default="chemprop", help="the command")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--splits", type=int, default=SPLITS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("Name the folder of the tables: --data or IFMIXUP_MOLECULES.")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found = json.loads(options.output.read_text()) if options.output.exists() else {"runs": []}
    done = {(each["dataset"], each["split"], each["who"]) for each in found["runs"]}
    with tempfile.TemporaryDirectory() as folder:
        for split in range(options.splits):
            for name, (source, columns, _) in DATASETS.items():
                table = Path(folder) / f"{name}.csv"
                if not table.exists():
                    split_table(Path(options.data) / source, columns, table)
                for who in ("gin", "chemprop"):
                    if (name, split, who) in done:
                        continue
                    measured = (
                        train_gin(table, name, split)
                        if who == "gin"
                        else train_chemprop(options.chemprop, table, name, split)
                    )
                    found["runs"].append({"dataset": name, "split": split, "who": who, **measured})
                    with atomically(options.output) as unfinished:
                        unfinished.write_text(json.dumps(found, indent=1) + "\n")
                    print(found["runs"][-1], flush=True)


if __name__ == "__main__":
    main()
