"""Which runs of a store belong to which experiment: written beside the runs, read by the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ifmixup.errors import StoreError
from ifmixup.paper.cell import Cell, cell_from
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.plan import DatasetPlan
from ifmixup.safe_io import atomically
from ifmixup.study.store import Store
from ifmixup.training import RunSpec

FILE_NAME = "experiments.json"


def save_manifest(folder: Path, plans: Iterable[DatasetPlan]) -> list[str]:
    """Add the trials of ``plans`` to the folder's manifest; what was there of them is replaced.

    Not where that has more folds: a quick look must not take the place of a long computation.

    Returns:
        The names of the experiments of which something larger stays.
    """
    entries = {_place(entry): entry for entry in _read(folder)}
    kept: dict[str, None] = {}
    for plan in plans:
        for trial in plan.trials:
            entry = {
                "experiment": trial.experiment,
                "dataset": plan.data.name,
                "variant": trial.variant.name,
                "protocol": trial.protocol,
                "pairs": [list(pair) for pair in plan.splits.pairs],
                "test_ratio": plan.splits.test_ratio,
                "keys": [spec.key for spec in trial.specs()],
            }
            before = entries.get(_place(entry))
            if before is not None and len(before["pairs"]) > len(plan.splits.pairs):
                kept[trial.experiment] = None
            else:
                entries[_place(entry)] = entry
    path = folder / FILE_NAME
    lines = ",\n".join(f" {json.dumps(entry)}" for entry in entries.values())
    try:
        with atomically(path) as unfinished:
            unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}.") from error
    return list(kept)


def load_cells(folder: Path) -> list[Cell]:
    """The cells of all experiments that were run into a folder; none where there is no manifest."""
    cells = []
    entries = _read(folder)
    if not entries:
        return []
    with Store(folder, read_only=True) as store:
        for entry in entries:
            found = [r for key in entry["keys"] if (r := store.record(key)) is not None]
            if not all(_belongs(record.spec, entry) for record in found):
                raise StoreError(
                    f"{folder / FILE_NAME} names runs of something else under "
                    f"{' '.join(_place(entry))}. Run ifmixup reproduce again, which writes it anew."
                )
            cell = cell_from(
                found,
                experiment=entry["experiment"],
                dataset=entry["dataset"],
                variant=entry["variant"],
                protocol=entry["protocol"],
                pairs=[(repeat, fold) for repeat, fold in entry["pairs"]],
                test_ratio=entry["test_ratio"],
            )
            if cell is not None:
                cells.append(cell)
    return cells


def _place(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry[key] for key in ("experiment", "dataset", "variant", "protocol"))


def _belongs(spec: RunSpec, entry: dict[str, Any]) -> bool:
    """Whether a run is of the dataset, protocol, model and method that an entry says."""
    experiment = EXPERIMENTS[entry["experiment"]]
    variant = {each.name: each for each in experiment.variants}.get(entry["variant"])
    if variant is None or entry["dataset"] not in experiment.datasets:
        return True  # of another version, and left out where cells are shown
    said = (entry["dataset"], entry["protocol"], variant.model, variant.method)
    return said == (spec.dataset, spec.protocol, spec.settings.model, spec.settings.method)


def _read(folder: Path) -> list[dict[str, Any]]:
    """The entries of a folder's manifest, each looked at: the file may come from anyone."""
    path = folder / FILE_NAME
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error
    if not isinstance(values, list) or not all(map(_is_entry, values)):
        raise StoreError(f"{path} is damaged. Run ifmixup reproduce again, which writes it anew.")
    return values


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = [entry.get(key) for key in ("experiment", "dataset", "variant", "protocol")]
    pairs, keys = entry.get("pairs"), entry.get("keys")
    return (
        all(isinstance(text, str) for text in texts)
        and texts[0] in EXPERIMENTS
        and isinstance(entry.get("test_ratio"), float)
        and _is_list_of(keys, str)
        and isinstance(pairs, list)
        and all(_is_list_of(pair, int) and len(pair) == 2 for pair in pairs)
    )


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, Sequence) and all(type(each) is kind for each in value)
