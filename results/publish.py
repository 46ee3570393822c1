"""Puts measured runs into the repository: ``python results/publish.py ifmixup-runs/paper``.

The runs of its experiments become ``paper/DATASET.jsonl``, and the tables are made of these.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from ifmixup.atomically import atomically
from ifmixup.paper.main_table import main_table
from ifmixup.paper.manifest import FILE_NAME, load_cells
from ifmixup.report.report import save_tables
from ifmixup.report.studies import Studies, gather
from ifmixup.study.commands import FILE_NAME as COMMANDS
from ifmixup.study.exchange import import_runs
from ifmixup.study.export import export, thinned
from ifmixup.study.store import Store

RESULTS = Path(__file__).parent
README = RESULTS.parent / "README.md"
BEGIN, END = "<!-- made by results/publish.py -->\n", "<!-- end -->\n"


def main() -> None:
    """Publish the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    save_runs(folder, RESULTS / "paper")
    studies = read(RESULTS / "paper")
    shutil.rmtree(RESULTS / "tables", ignore_errors=True)
    (RESULTS / "tables").mkdir()
    save_tables(studies, RESULTS / "tables")
    with atomically(README) as unfinished:
        unfinished.write_text(with_table(README.read_text(encoding="utf-8"), studies))


def save_runs(folder: Path, target: Path) -> None:
    """Write the runs that belong to an experiment, a file a dataset, and which they belong to."""
    for name in (FILE_NAME, COMMANDS):
        shutil.copy(folder / name, target / name)
    for old in target.glob("*.jsonl"):
        old.unlink()
    records = {r.key: r for cell in load_cells(folder) for r in cell.records}.values()
    for dataset in sorted({record.spec.dataset for record in records}):
        mine = [thinned(record) for record in records if record.spec.dataset == dataset]
        export(sorted(mine, key=lambda record: record.key), target / f"{dataset}.jsonl")


def read(folder: Path) -> Studies:
    """What was published: the runs of all files, by experiment."""
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) / folder.name
        with Store(target) as store:
            for path in sorted(folder.glob("*.jsonl")):
                import_runs(store, path)
        shutil.copy(folder / FILE_NAME, target / FILE_NAME)
        return gather([target])


def with_table(text: str, studies: Studies) -> str:
    """The README with the main table in its place."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{main_table(studies.cells)}\n{END}{after}"


if __name__ == "__main__":
    main()
