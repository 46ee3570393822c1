"""GIN at its defaults against chemprop 2 at its defaults, on the same scaffold splits.

    IFMIXUP_MOLECULES=folder python benchmarks/molecules.py --chemprop chemprop

The folder holds ``BBBP.csv``, ``delaney-processed.csv`` (ESOL) and ``tox21.csv.gz`` of MoleculeNet.
Chemprop is a development extra (``pip install ifmixup[bench]``), or the command of another
environment. Both get the same table, with the parts in columns ``split0``, ``split1``, ``split2``;
both choose their epoch on ``val``, with one thread. What is measured already, in the output file,
is not measured again; ``--who gin`` or ``--who chemprop`` measures one of the two. The settings of
GIN were set by hand, and test results of split 0 had been seen by then.
``benchmarks/molecule_settings.py`` compares settings on molecules that are in no test part.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import os
import random
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.safe_io import atomically
from ifmixup.training.metric import resolve_metrics, to_measure
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.recommended import Recommendation, starting_point
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
    """Write SMILES, labels and the parts of every split."""
    with gzip.open(source, "rt") if source.suffix == ".gz" else source.open() as stream:
        rows = list(csv.DictReader(stream))
    kept: list[dict[str, str]] = []
    for row in rows:
        smiles = row["smiles"].strip()
        with rdBase.BlockLogs():
            molecule = Chem.MolFromSmiles(smiles)
        if molecule is not None and molecule.GetNumAtoms():
            kept.append({"smiles": smiles, **{name: row[name] for name in columns}})
    for seed in range(SPLITS):
        for row, part in zip(kept, scaffold_parts(kept, seed), strict=True):
            row[f"split{seed}"] = part
    write(kept, target)


def scaffold_parts(rows: Sequence[dict[str, str]], seed: int) -> list[str]:
    """The part of each molecule: whole scaffolds, 80/10/10, large ones to train on."""
    scaffolds: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        scaffolds[MurckoScaffold.MurckoScaffoldSmiles(row["smiles"])].append(index)
    groups = [scaffolds[name] for name in sorted(scaffolds)]
    large = [group for group in groups if len(group) > 0.05 * len(rows)]
    small = [group for group in groups if len(group) <= 0.05 * len(rows)]
    random.Random(seed).shuffle(small)
    counts = {"train": 0, "val": 0, "test": 0}
    room = {"train": 0.8 * len(rows), "val": 0.1 * len(rows), "test": float(len(rows))}
    parts = [""] * len(rows)
    for group in [*large, *small]:
        part = next(name for name in counts if counts[name] + len(group) <= room[name])
        counts[part] += len(group)
        for index in group:
            parts[index] = part
    return parts


def write(rows: Sequence[dict[str, str]], target: Path) -> None:
    """Write a table."""
    with target.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def train_gin(table: Path, name: str, split: int) -> dict[str, Any]:
    """GIN as ``ifmixup compare`` trains it by default, without augmentation."""
    data, parts = packed(table, name, f"split{split}")
    start = starting_point(data, resolve("model", "gin"), resolve("method", "none"))
    began, cpu = time.perf_counter(), time.process_time()
    return {
        **judge(data, parts, start, split),
        "cpu_seconds": time.process_time() - cpu,
        "seconds": time.perf_counter() - began,
    }


def packed(table: Path, name: str, column: str) -> tuple[PackedDataset, Sequence[str]]:
    """The molecules of a table, and the part of each."""
    _, columns, metric = DATASETS[name]
    dataset = load(table, label=",".join(columns), metric=metric, columns=[column])
    return pack(dataset), dataset.rows.columns[column]


def judge(
    data: PackedDataset, parts: Sequence[str], start: Recommendation, seed: int
) -> dict[str, float]:
    """The metric on ``test`` at the epoch that it chose on ``val``, as in ``ifmixup compare``."""
    index = (
        tuple(i for i, p in enumerate(parts) if p == part) for part in ("train", "val", "test")
    )
    fold = Fold(0, 0, *index)
    components = start.settings, start.model.spec, start.method.spec
    metrics = to_measure(resolve_metrics(data.metric, data), data.task)
    spec = RunSpec(data.name, data.fingerprint, fold.fingerprint, seed, 0, 0, *components, metrics)
    return {data.metric: run(spec, data, fold).metrics[f"chosen_{data.metric}"]}


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
    return {
        metric: float(value[1]),
        "version": version_of(command),
        "cpu_seconds": cpu,
        "seconds": time.perf_counter() - began,
    }


def version_of(command: str) -> str:
    """The version of chemprop in the environment of its command."""
    python = Path(shutil.which(command) or command).parent / "python"
    words = [
        str(python),
        "-c",
        "from importlib.metadata import version; print(version('chemprop'))",
    ]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=os.environ.get("IFMIXUP_MOLECULES"))
    parser.add_argument("--chemprop", default="chemprop", help="the command")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(SPLITS)))
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--who", nargs="+", default=["gin", "chemprop"])
    options = parser.parse_args()
    if options.data is None:
        parser.error("Name the folder of the tables: --data or IFMIXUP_MOLECULES.")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cells = itertools.product(options.datasets, options.splits, options.who)
    with tempfile.TemporaryDirectory() as folder:
        for name, split, who in cells:
            key = {"dataset": name, "split": split, "who": who}
            if any(key.items() <= each.items() for each in stored(options.output)["runs"]):
                continue
            source, columns, _ = DATASETS[name]
            table = Path(folder) / f"{name}.csv"
            if not table.exists():
                split_table(Path(options.data) / source, columns, table)
            measured = (
                train_gin(table, name, split)
                if who == "gin"
                else train_chemprop(options.chemprop, table, name, split)
            )
            with FileLock(
                f"{options.output}.lock"
            ):  # GIN and chemprop may be measured side by side
                found = stored(options.output)
                found["runs"].append({**key, **measured})
                with atomically(options.output) as unfinished:
                    unfinished.write_text(json.dumps(found, indent=1) + "\n")
            print(found["runs"][-1], flush=True)


def stored(output: Path) -> dict[str, Any]:
    """What is measured already."""
    found: dict[str, Any] = json.loads(output.read_text()) if output.exists() else {"runs": []}
    return found


if __name__ == "__main__":
    main()
