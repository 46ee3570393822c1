"""Which runs of a store belong to which experiment: written beside the runs, read by the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ifmixup.atomically import atomically
from ifmixup.errors import StoreError
from ifmixup.paper.cell import Cell, cell_from
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.plan import DatasetPlan
from ifmixup.study.store import Store

FILE_NAME = "experiments.json"


def save_manifest(folder: Path, plans: Iterable[DatasetPlan]) -> None:
    """Add the trials of ``plans`` to the folder's manifest; what was there of them is replaced."""
    entries = {_place(entry): entry for entry in _read(folder)}
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
            entries[_place(entry)] = entry
    path = folder / FILE_NAME
    lines = ",\n".join(f" {json.dumps(entry)}" for entry in entries.values())
    try:
        with atomically(path) as unfinished:
            unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}.") from error


def load_cells(folder: Path) -> list[Cell]:
    """The cells of all experiments that were run into a folder; none where there is no manifest."""
    cells = []
    entries = _read(folder)
    if not entries:
        return []
    with Store(folder, read_only=True) as store:
        for entry in entries:
            found = (store.record(key) for key in entry["keys"])
            cell = cell_from(
                [record for record in found if record is not None],
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
