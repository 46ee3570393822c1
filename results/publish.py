"""Copy measured runs into the repository and back, and make the tables of them.

``python results/publish.py FOLDER`` writes the runs of a folder of ``ifmixup reproduce`` to
``results/runs``, one file per dataset, and remakes the tables, the figure and the findings.
``--restore FOLDER`` copies the committed runs into a folder, whose commands then continue from
them. Without a folder the tables are made again.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from findings import findings, save_readings

from ifmixup.paper.cells import held_out_table
from ifmixup.paper.reproduce import continued
from ifmixup.report.report import save_tables
from ifmixup.report.studies import Studies, gather
from ifmixup.safe_io import atomically, folder_name
from ifmixup.study.exchange import export, import_runs, thinned
from ifmixup.study.record import Record
from ifmixup.study.store import Store
from ifmixup.study.study import FILE_NAME as STUDY
from ifmixup.study.study import load_studies, save_studies

RESULTS = Path(__file__).parent
RUNS, TABLES, README = RESULTS / "runs", RESULTS / "tables", RESULTS.parent / "README.md"
FINDINGS, FIGURE = RESULTS / "findings.md", RESULTS / "readings.png"
BEGIN, END = "<!-- made by results/publish.py -->\n", "<!-- end -->\n"
MOST_BYTES = 15_000_000
NO_RUNS = (
    "Our results are being measured again, with the paper's optimiser and length. "
    "[results/](results/README.md) says what is there and how to run it."
)


def main() -> None:
    """Publish or restore the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="publish the runs of this folder")
    parser.add_argument("--restore", type=Path, metavar="FOLDER", help="copy published runs here")
    given = parser.parse_args()
    if given.restore is not None:
        added = restore(RUNS, given.restore)
        print(f"{added} runs are new in {given.restore}.")
        return
    if given.folder is not None:
        print(f"{save_runs(given.folder, RUNS)} runs are in {RUNS}.")
    studies = read(RUNS)
    make_tables(studies, TABLES)
    save_readings(studies, FIGURE)
    texts = {
        README: with_table(README.read_text(encoding="utf-8"), studies),
        FINDINGS: findings(studies),
    }
    for path, text in texts.items():
        with atomically(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def save_runs(folder: Path, target: Path) -> int:
    """Write the finished runs of a folder's studies, one file per dataset, and its studies.

    Curves have four digits and no training loss. Nothing is written if a published run would be
    lost, or if the files would be too large. Returns the number of runs.
    """
    studies = load_studies(folder)
    if not studies:
        raise SystemExit(f"{folder} has no {STUDY}: there is no study to publish.")
    wanted = sorted(key for study in studies for key in study.keys)
    with Store(folder, read_only=True) as store:
        records = {key: r for key, r in store.get(wanted).items() if r.result is not None}
    lost = published_keys(target) - records.keys()
    if lost:
        raise SystemExit(
            f"{folder} lacks {len(lost)} published runs. Bring them back with --restore {folder}, "
            f"or delete {target} if they are to go."
        )
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        made = Path(temporary)
        for dataset in sorted({record.spec.dataset for record in records.values()}):
            mine = (r for r in records.values() if r.spec.dataset == dataset)
            _write(mine, made / f"{folder_name(dataset)}.jsonl.gz")
        shutil.copy(folder / STUDY, made / STUDY)
        size = sum(path.stat().st_size for path in made.iterdir())
        if size > MOST_BYTES:
            raise SystemExit(f"The runs take {size} bytes; at most {MOST_BYTES} are published.")
        for path in made.iterdir():
            path.replace(target / path.name)
    return len(records)


def restore(source: Path, folder: Path) -> int:
    """Add published runs and studies to a folder; returns how many runs were new there."""
    with Store(folder) as store:
        added = sum(_read(path, store) for path in sorted(source.glob("*.jsonl.gz")))
    save_studies(folder, [continued(s, load_studies(folder)) for s in load_studies(source)])
    return added


def published_keys(source: Path) -> set[str]:
    """The keys of all published runs."""
    with tempfile.TemporaryDirectory() as temporary, Store(Path(temporary)) as store:
        for path in sorted(source.glob("*.jsonl.gz")):
            _read(path, store)
        return store.keys()


def read(source: Path) -> Studies | None:
    """The published studies with their runs; None if nothing is published."""
    if not (source / STUDY).exists():
        return None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "published"
        restore(source, folder)
        return gather([folder])


def make_tables(studies: Studies | None, target: Path) -> None:
    """Write the tables of the published studies; old ones go."""
    shutil.rmtree(target, ignore_errors=True)
    if studies is not None:
        target.mkdir()
        save_tables(studies, target)


def with_table(text: str, studies: Studies | None) -> str:
    """The README with the held-out table between its marks, or a sentence while there is none."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    table = held_out_table([each.comparison for each in studies.shown]) if studies else None
    shown = f"{NO_RUNS}\n"
    if table is not None:
        answer, *notes = table.notes
        shown = f"**{answer}**\n\n{replace(table, notes=notes).markdown()}"
    return f"{before}{BEGIN}{shown}{END}{after}"


def _write(records: Iterable[Record], path: Path) -> None:
    """Write runs as compressed JSONL; the same runs give the same bytes."""
    plain = path.with_suffix("")
    export(sorted(map(thinned, records), key=lambda record: record.key), plain)
    path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()


def _read(path: Path, store: Store) -> int:
    """Import all runs of a file; returns how many were new."""
    with tempfile.TemporaryDirectory() as temporary:
        plain = Path(temporary) / path.with_suffix("").name
        with gzip.open(path) as packed, plain.open("wb") as stream:
            shutil.copyfileobj(packed, stream)
        found = import_runs(store, plain)
    if found.failed_lines:
        raise SystemExit(
            f"{path}: {len(found.failed_lines)} runs cannot be read. The first: "
            f"{found.failed_lines[0]}"
        )
    return found.added


if __name__ == "__main__":
    main()
