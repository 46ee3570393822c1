"""What a report is about: the cells of the studies' folders, and the experiments they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ifmixup.augment import names as method_names
from ifmixup.errors import InputError
from ifmixup.paper.cell import Cell, cell_from
from ifmixup.paper.experiments import EXPERIMENTS, Experiment, Variant
from ifmixup.paper.manifest import load_cells
from ifmixup.study.commands import noted_commands
from ifmixup.study.record import Record
from ifmixup.study.store import Store
from ifmixup.training.task import TITLES

_WHAT_TO_DO = "Run ifmixup compare or ifmixup reproduce with this --folder first."


@dataclass(frozen=True)
class Studies:
    """What was read of the folders.

    Attributes:
        experiments: The experiments that have cells, those of the paper in its order first.
        cells: Their cells.
        notes: What was left out, and why.
        names: The names of the folders, without where they lie.
        commands: The commands that the studies were run with, as far as they are known.
        command: What the report was asked for with.
    """

    experiments: Sequence[Experiment]
    cells: Sequence[Cell]
    notes: Sequence[str] = ()
    names: Sequence[str] = ()
    commands: Sequence[str] = ()
    command: str = ""

    def of(self, experiment: Experiment) -> list[Cell]:
        """The cells of an experiment."""
        return [cell for cell in self.cells if cell.experiment == experiment.name]

    def metric(self, experiment: Experiment) -> str:
        """What the numbers of an experiment are of: one metric, the same for all its cells."""
        return next((cell.reading.metric for cell in self.of(experiment)), "accuracy")

    def groups(self, experiment: Experiment) -> dict[tuple[str, str], dict[str, Cell]]:
        """The cells of an experiment by dataset and protocol, and by variant, in its order."""
        mine = {(c.dataset, c.protocol, c.variant): c for c in self.of(experiment)}
        found: dict[tuple[str, str], dict[str, Cell]] = {}
        for dataset in experiment.datasets:
            for protocol in ("holdout", "paper"):
                cells = {
                    variant.name: mine[dataset, protocol, variant.name]
                    for variant in experiment.variants
                    if (dataset, protocol, variant.name) in mine
                }
                if cells:
                    found[dataset, protocol] = cells
        return found

    @cached_property
    def records(self) -> list[Record]:
        """Every run once: experiments share runs."""
        return list({r.key: r for cell in self.cells for r in cell.records}.values())


def gather(folders: Sequence[Path], command: str = "") -> Studies:
    """Read the folders of studies.

    Args:
        folders: What ``ifmixup reproduce`` or ``ifmixup compare`` was given as ``--folder``.
        command: What the report was asked for with.

    Raises:
        InputError: If there is nothing to report.
    """
    if not folders:
        raise InputError(f"A report needs the folder of a study. {_WHAT_TO_DO}")
    paper: dict[tuple[str, str, str, str], Cell] = {}
    own: list[Experiment] = []
    cells: list[Cell] = []
    notes: list[str] = []
    for folder in folders:
        found = load_cells(folder)
        for cell in found:
            place = cell.experiment, cell.dataset, cell.variant, cell.protocol
            if not _is_of(EXPERIMENTS[cell.experiment], cell):
                notes.append(f"{' '.join(place)}: not in the paper, and left out.")
            elif place in paper:
                notes.append(f"{' '.join(place)} is in several folders; the larger one is shown.")
                paper[place] = max(paper[place], cell, key=lambda each: each.reading.runs)
            else:
                paper[place] = cell
        if not found:
            with Store(folder, read_only=True) as store:
                records = list(store.records())
            mine = list(_compared(records, folder.resolve().name, len(own), notes))
            own += [experiment for experiment, _ in mine]
            cells += [cell for _, each in mine for cell in each]
    experiments = [
        each for each in EXPERIMENTS.values() if any(place[0] == each.name for place in paper)
    ]
    if not paper and not cells:
        given = ", ".join(str(folder) for folder in folders)
        left_out = "".join(f" {note}" for note in notes)
        raise InputError(f"{given} holds no finished runs to show.{left_out} {_WHAT_TO_DO}")
    names = [folder.resolve().name for folder in folders]
    commands = [line for folder in folders for line in noted_commands(folder)]
    return Studies([*experiments, *own], [*paper.values(), *cells], notes, names, commands, command)


def _is_of(experiment: Experiment, cell: Cell) -> bool:
    known = {variant.name for variant in experiment.variants}
    return cell.dataset in experiment.datasets and cell.variant in known


def _compared(
    records: Sequence[Record], folder: str, place: int, notes: list[str]
) -> Iterator[tuple[Experiment, list[Cell]]]:
    """An experiment a model and metric, of runs that no manifest tells about."""
    done = [record for record in records if record.result is not None]
    failed = len(records) - len(done)
    if failed:
        notes.append(f"{folder}: {failed} runs failed and are not in these numbers.")
    kinds: dict[tuple[str, str], list[Record]] = {}
    for record in done:
        kinds.setdefault((record.spec.settings.model, _metric(record)), []).append(record)
    for (model, metric), own in kinds.items():
        name = f"compare-{place + 1}-{model}"
        groups: dict[tuple[str, str, str], list[Record]] = {}
        for r in own:
            key = r.spec.dataset, r.spec.protocol, r.spec.settings.method
            groups.setdefault(key, []).append(r)
        cells = []
        for (dataset, protocol, method), mine in groups.items():
            try:
                cells.append(_cell(mine, name, dataset, protocol, method))
            except InputError as error:
                notes.append(f"{folder}, {dataset} {protocol} {model} {method}: left out. {error}")
        methods = sorted({cell.variant for cell in cells}, key=_order)
        if cells:
            place += 1
            several = len({metric for _, metric in kinds}) > 1
            experiment = Experiment(
                name,
                f"{model.upper()} in the study {folder}{f', {TITLES[metric]}' if several else ''}",
                tuple(dict.fromkeys(cell.dataset for cell in cells)),
                tuple(
                    Variant(method, model, method, against=None if method == "none" else "none")
                    for method in methods
                ),
            )
            yield experiment, cells


def _cell(records: Sequence[Record], name: str, dataset: str, protocol: str, method: str) -> Cell:
    # A search by halving has shorter runs too, which are not for reading.
    epochs = max(record.spec.settings.epochs for record in records)
    kept = [record for record in records if record.spec.settings.epochs == epochs]
    # The store does not know the sizes of the folds: this is a cross-validation's ratio. Repeats of
    # a dataset's own split get a wider interval by it than in the comparison's own table.
    folds = max(2, 1 + max(record.spec.fold for record in kept))
    cell = cell_from(
        kept,
        experiment=name,
        dataset=dataset,
        variant=method,
        protocol=protocol,
        pairs=sorted({(record.spec.repeat, record.spec.fold) for record in kept}),
        test_ratio=1 / (folds - 1),
    )
    assert cell is not None  # all of the runs are done
    return cell


def _metric(record: Record) -> str:
    assert record.result is not None  # of a run that is done
    return record.result.metric


def _order(method: str) -> tuple[bool, bool, str]:
    known = method_names()
    return method != "none", method not in known, method
