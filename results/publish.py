"""Puts measured runs into the repository, and makes the tables of them.

``python results/publish.py ifmixup-runs/paper --search ifmixup-runs/search``: the runs become
``paper/DATASET.jsonl`` and ``search/DATASET.jsonl``, the tables ``tables/*`` and one in the README.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.fewer_epochs import fewer_epochs_table, gaps_table
from ifmixup.paper.grid_effects import grid_effects, to_markdown
from ifmixup.paper.main_table import main_table
from ifmixup.paper.manifest import FILE_NAME, load_cells
from ifmixup.paper.search import FIRST
from ifmixup.paper.steadiness import steadiness_table
from ifmixup.report.matplotlib_chart import draw
from ifmixup.report.report import save_tables
from ifmixup.report.save import save_figure
from ifmixup.report.sections.learning_curves import learning_curves
from ifmixup.report.studies import Studies, gather
from ifmixup.safe_io import atomically
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
    parser.add_argument("--search", type=Path)
    given = parser.parse_args()
    save_runs(given.folder, RESULTS / "paper")
    if given.search is not None:
        save_searches(given.search, RESULTS / "search")
    studies = read(RESULTS / "paper")
    shutil.rmtree(RESULTS / "tables", ignore_errors=True)
    (RESULTS / "tables").mkdir()
    make_tables(studies, RESULTS / "search", RESULTS / "tables")
    curves = learning_curves(studies, EXPERIMENTS["suspects"])
    if curves is not None:
        save_figure(draw(curves.grids[0]), RESULTS / "suspects-curves.png", dpi=70)
    with atomically(README) as unfinished:
        text = with_table(README.read_text(encoding="utf-8"), studies)
        unfinished.write_text(text, encoding="utf-8")


def save_runs(folder: Path, target: Path) -> None:
    """Write the runs that belong to an experiment, a file a dataset, and which they belong to.

    Nothing is written where runs that are published would be lost.
    """
    records = {r.key: r for cell in load_cells(folder) for r in cell.records}.values()
    if (target / FILE_NAME).exists():
        lost = {r.key for r in read(target).records} - {r.key for r in records}
        if lost:
            raise SystemExit(
                f"{folder} lacks {len(lost)} runs that are published. results/README.md says how "
                f"to bring them back; or delete {target / FILE_NAME} if they are to go."
            )
    for name in (FILE_NAME, COMMANDS):
        shutil.copy(folder / name, target / name)
    for old in target.glob("*.jsonl"):
        old.unlink()
    for dataset in sorted({record.spec.dataset for record in records}):
        mine = [thinned(record) for record in records if record.spec.dataset == dataset]
        export(sorted(mine, key=lambda record: record.key), target / f"{dataset}.jsonl")


def save_searches(folder: Path, target: Path) -> None:
    """Write what the searches found, and their runs."""
    target.mkdir(exist_ok=True)
    with Store(folder, read_only=True) as store:
        for path in sorted(folder.glob("*.json")):
            shutil.copy(path, target / path.name)
            records = [thinned(record) for record in store.records(dataset=path.stem)]
            export(sorted(records, key=lambda r: r.key), target / f"{path.stem}.jsonl")


def make_tables(studies: Studies, searches: Path, target: Path) -> None:
    """Write the tables of the experiments, and what the settings of the searched grids do."""
    save_tables(studies, target)
    suspects = EXPERIMENTS["suspects"]
    if studies.of(suspects):
        write(
            target / "suspects-steadiness.md",
            "## suspects: where no epoch is chosen",
            "Mean test accuracy in % over folds and the second half of the epochs, without and "
            "with ifMixup, and by how many points it jumps from an epoch to the next.",
            steadiness_table(suspects, studies.of(suspects)),
        )
    main = [cell for cell in studies.cells if cell.experiment in ("gcn", "gin")]
    write(
        target / "fewer-epochs.md",
        "## Fewer epochs",
        "Accuracy in %, had the runs of the main table ended after so many epochs.",
        fewer_epochs_table(main, (50, 100, 150, 350)),
        "Accuracy with ifMixup minus without, held out, in points:",
        gaps_table(main, (50, 100, 150, 350)),
    )
    grids = [grid_table(path) for path in sorted(searches.glob("*.jsonl"))]
    if grids:
        write(
            target / "grid.md",
            "## The grid: every setting without and with ifMixup",
            f"Mean accuracy in % on the validation and test graphs of one fold over the second "
            f"half of {FIRST.epochs} epochs, nothing chosen: a line is a mean over all settings of "
            f"the grid that have the value. The larger datasets were searched on 300 of their "
            f"graphs, at one size. One fold and one seed say little of other graphs.",
            *grids,
        )


def grid_table(path: Path) -> str:
    """What each setting of a searched grid does: all runs of the first rung, by their settings."""
    with tempfile.TemporaryDirectory() as temporary, Store(Path(temporary)) as store:
        import_all(store, path)
        found = [
            (record.spec, record.result)
            for record in store.records()
            if record.result is not None and record.spec.settings.epochs == FIRST.epochs
        ]
    return to_markdown(path.stem, grid_effects(found))


def write(path: Path, *parts: str) -> None:
    """A heading, what it is about, and tables, an empty line between them."""
    path.write_text("\n\n".join(parts), encoding="utf-8")


def read(folder: Path) -> Studies:
    """What was published: the runs of all files, by experiment."""
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) / folder.name
        with Store(target) as store:
            for path in sorted(folder.glob("*.jsonl")):
                import_all(store, path)
        shutil.copy(folder / FILE_NAME, target / FILE_NAME)
        return gather([target])


def import_all(store: Store, path: Path) -> None:
    """Import the runs of a file, every single one."""
    failed = import_runs(store, path).failed_lines
    if failed:
        raise SystemExit(f"{path}: {len(failed)} runs cannot be read. The first: {failed[0]}")


def with_table(text: str, studies: Studies) -> str:
    """The README with the main table in its place."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{main_table(studies.cells)}\n{END}{after}"


if __name__ == "__main__":
    main()
