"""How the recommended settings are found: ``python -m ifmixup.paper.search MUTAG``.

For GCN and GIN, with ``none`` and with ``ifmixup``, the paper's grid is searched by successive
halving. A setting is judged by the graphs that are held out for validation, never by test graphs.
What is found is printed as JSON, to be put into ``recommended.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifmixup.data import load
from ifmixup.paper.recommended import recommended
from ifmixup.paper.scale import FOLDS
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.grid import PAPER_GRID, expand
from ifmixup.study.progress import Progress
from ifmixup.study.search import winners
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Study
from ifmixup.training import Packed, RunSpec, pack

MODELS, METHODS = ("gcn", "gin"), ("none", "ifmixup")


def search(
    data: Packed, store: Store, engine: Engine, *, epochs: int = 350
) -> dict[str, dict[str, dict[str, Any]]]:
    """The best settings by model and method, each with the score it was chosen for."""
    study = Study(
        data=data,
        splits=make_splits(data, folds=FOLDS),
        seed=0,
        settings={
            ("holdout", model, method): expand(
                recommended("", model, method).with_(epochs=epochs), PAPER_GRID
            )
            for model in MODELS
            for method in METHODS
        },
    )

    def execute(specs: Sequence[RunSpec]) -> None:
        tasks = study.pending(specs, store)
        with Progress(len(tasks), len(specs) - len(tasks)) as watcher:
            study.execute(tasks, store, engine, watcher)

    found: dict[str, dict[str, dict[str, Any]]] = {model: {} for model in MODELS}
    names = {name for entry in PAPER_GRID for name in entry.split(",")}
    for (_, model, method), (settings, score) in winners(study, store, execute).items():
        relevant = settings.relevant()
        chosen = {name: relevant[name] for name in sorted(names & relevant.keys())}
        found[model][method] = {"settings": chosen, "validation_accuracy": score}
    return found


def main() -> None:
    """Search on the datasets that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--folder", type=Path, default=Path("ifmixup-runs/search"))
    parser.add_argument("--epochs", type=int, default=350, help="of a full run; rungs have less")
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    for name in arguments.datasets:
        with Store(arguments.folder) as store:
            engine = LocalEngine(arguments.workers)
            found = search(pack(load(name), name), store, engine, epochs=arguments.epochs)
        text = json.dumps({name: found}, indent=1)
        (arguments.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
