"""Run the paper's experiments again, part by part: ``python results/run.py A``.

Each part is a list of ``ifmixup reproduce`` commands, smallest datasets first. Held-out runs come
before others, because the default reading of ``ifmixup`` is chosen on their validation graphs. Runs
that are committed in ``results/runs`` are not repeated. After each command its runs are published
there with the tables made of them, so a machine that goes away loses one command at most, and the
next one continues.

==== ==============================================================================================
A    ``none`` and ``ifmixup`` in both readings, GCN and GIN, eight datasets, under the paper's
     protocol and held out. Three repeats on MUTAG and PTC_MR, where seeds differ most.
B    The other four methods, GAT and GATv2.
5    What choosing on the test folds is worth: the paper's 48 settings for ``none``, three seeds.
6    Few labels, wrong labels and calibration on NCI1, held out.
C    Second and third repeats of the others, and the paper's figures.
==== ==============================================================================================
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from publish import RESULTS

TABLES = "gcn gin --scale paper"
READINGS = "--variants none ifmixup 'ifmixup, whole nodes'"
OTHERS = "--variants mixup_graph drop_edge drop_node attribute_masking"
SEEDED, SMALL, LARGE = (
    "--datasets MUTAG PTC_MR",
    "--datasets ENZYMES IMDB-BINARY IMDB-MULTI PROTEINS",
    "--datasets NCI1 NCI109",
)
NAMES = ("MUTAG", "PTC_MR", "ENZYMES", "IMDB-BINARY", "PROTEINS", "IMDB-MULTI")
BOTH, PAPER, HELD_OUT = (
    f"--protocols {names}" for names in ("paper last holdout", "paper last", "holdout")
)

PARTS = {
    "A": [
        *(f"{TABLES} {READINGS} --datasets {name} {HELD_OUT} --repeats 1" for name in NAMES),
        f"{TABLES} {READINGS} {LARGE} {HELD_OUT} --repeats 1 --folds 5",
        *(f"{TABLES} {READINGS} --datasets {name} {PAPER} --repeats 1" for name in NAMES),
        f"{TABLES} {READINGS} {LARGE} {PAPER} --repeats 1",
        f"{TABLES} {READINGS} {SEEDED} {BOTH} --repeats 3",
    ],
    "B": [
        f"{TABLES} {OTHERS} {SEEDED} {PAPER} --repeats 1",
        f"gat --scale paper {SEEDED} {PAPER} --repeats 1",
        f"{TABLES} {OTHERS} {SMALL} {PAPER} --repeats 1",
        f"gat --scale paper {SMALL} {PAPER} --repeats 1",
        f"{TABLES} {OTHERS} {LARGE} {PAPER} --repeats 1 --folds 4",
        f"gat --scale paper {LARGE} {PAPER} --repeats 1 --folds 4",
    ],
    "5": ["selection --scale paper --repeats 1 --epochs 100"],
    "6": [
        f"{name} --scale paper --repeats 1 --folds 5"
        for name in ("calibration", "few-labels", "label-noise")
    ],
    "C": [
        f"{TABLES} {READINGS} {SMALL} {BOTH} --repeats 3",
        *(
            f"{name} --scale paper --repeats 1 --datasets MUTAG PTC_MR ENZYMES PROTEINS"
            for name in ("beta", "depth")
        ),
        "shuffling shuffling-depth pairing beta depth --scale paper --repeats 1 --folds 3 "
        "--datasets NCI1 NCI109",
    ],
}


def main() -> None:
    """Run the parts that are named, in their order."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/paper"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true", help="print what is left, and stop")
    given = parser.parse_args()
    publish = [sys.executable, str(RESULTS / "publish.py")]
    _call([*publish, "--restore", str(given.folder)])
    for part in given.parts:
        for line in PARTS[part]:
            command = [sys.executable, "-m", "ifmixup", "reproduce", *shlex.split(line)]
            command += ["--folder", str(given.folder), "--workers", str(given.workers)]
            print(f"{part}: ifmixup reproduce {line}", flush=True)
            _call([*command, "--dry-run"] if given.dry_run else command)
            if not given.dry_run:
                _call([*publish, str(given.folder)])


def _call(command: list[str]) -> None:
    """Run a command and stop with its exit code if it fails."""
    code = subprocess.run(command).returncode
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
