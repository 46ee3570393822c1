"""A model card: what a model file tells about itself, for people and for machines."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ifmixup.components import ClassSpec
from ifmixup.prediction.model_file import ModelFile, count_of, read_model_file
from ifmixup.safe_io import printable
from ifmixup.training.task import title_of
from ifmixup.values import listed

TASKS = {
    "classes": "one class per graph",
    "labels": "yes or no, for each of several labels per graph",
    "values": "one or more numbers per graph",
}
LICENCE = (
    "ifmixup is MIT. The weights were learned from the data above: the licence of that data says "
    "whether they may be used or passed on."
)
_SHOWN = 20  # names in a list


def model_card(path: str | Path) -> dict[str, Any]:
    """What a model file tells about itself, as plain values.

    The file is not trusted: what the model depends on is checked, the rest is repeated as it is. A
    user's class is not needed.
    """
    path = Path(path)
    file = read_model_file(path)
    about, data = file.about, file.data
    saved, names, versions = about.get("saved"), data["class_names"], about.get("versions")
    if not isinstance(saved, str):
        changed = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
        saved = changed.isoformat(timespec="seconds")
    return {
        "file": path.name,
        "model": _class_card(file.model),
        "method": _class_card(file.method),
        "parameters": count_of(about.get("parameters")),
        "data": {
            "name": printable(data.get("name")),
            "graphs": count_of(data.get("graphs")),
            "trained_on": count_of(about.get("graphs")),
            "features": data["num_features"],
            "fingerprint": printable(about.get("fingerprint")),
        },
        "task": data["task"],
        "metric": data["metric"],
        "outputs": data["num_outputs"],
        "names": None if names is None else [printable(name) for name in names],
        "epochs": file.epochs,
        "weights_of_epoch": file.chosen or file.epochs,
        "stopped_early": file.chosen is not None and file.epochs < file.settings.epochs,
        "seed": count_of(about.get("seed")),
        "settings": file.settings.to_dict(),
        "measured": _measured(file),
        "versions": {
            printable(name): printable(version)
            for name, version in (versions.items() if isinstance(versions, dict) else ())
        },
        "saved": printable(saved),
        "licence": LICENCE,
    }


def card_text(card: dict[str, Any]) -> str:
    """A model card as text to read."""
    data, settings = card["data"], card["settings"]
    names = card["names"] or [str(number) for number in range(card["outputs"])]
    lines = {
        "Model": f"{_class_text(card['model'])}, {_or_unknown(card['parameters'])} parameters",
        "Method": _class_text(card["method"]),
        "Data": f"{data['name']}: trained on {_or_unknown(data['trained_on'])} of "
        f"{_or_unknown(data['graphs'])} graphs, {data['features']} node features",
        "Task": f"{card['task']}: {TASKS[card['task']]}",
        "Classes" if card["task"] == "classes" else "Columns": f"{len(names)}: "
        f"{listed(names, _SHOWN)}",
        "Measured": measured_sentence(card),
        "Trained": f"{card['epochs']} of {settings['epochs']} epochs"
        + _ending(card)
        + f", seed {_or_unknown(card['seed'])}",
        "Settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
        "Versions": ", ".join(f"{name} {value}" for name, value in card["versions"].items()),
        "Saved": card["saved"],
        "Licence": card["licence"],
    }
    return "\n".join(f"{name + ':':<10} {line}" for name, line in lines.items())


def measured_sentence(card: dict[str, Any]) -> str:
    """How good the model was on graphs that were held out, and how far to trust that."""
    measured = card["measured"]
    if measured is None:
        return (
            "Not measured: nothing was held out, so its performance on other graphs is unknown. "
            "Hold out a fold with --fold, or run ifmixup compare."
        )
    title = title_of(measured.get("metric", card["metric"]))
    told = f"{title} {_signed(measured['value'])} on {measured['graphs']} graphs"
    if measured["interval"] is not None:
        low, high = measured["interval"]
        told += f" (95 % interval [{_signed(low)}, {_signed(high)}])"
    if measured["part"] == "validation":
        return (
            f"{told} that were held out but chose the epoch: expect somewhat worse on new graphs."
        )
    return f"{told} that were held out and chose nothing."


def _measured(file: ModelFile) -> dict[str, Any] | None:
    """The metric on the graphs that were held out, and how sure that is."""
    measured = file.about.get("measured")
    if not isinstance(measured, dict) or not isinstance(measured.get("metrics"), dict):
        return None
    metric = measured.get("metric", file.data["metric"])  # which an older file has not
    metrics = {
        name: value
        for name, value in measured["metrics"].items()
        if isinstance(value, float) and math.isfinite(value)
    }
    graphs = count_of(measured.get("graphs"))
    if not isinstance(metric, str) or metric not in metrics or not graphs:
        return None
    value = metrics[metric]
    # Right or wrong, graph by graph; the accuracy of labels is a mean over columns instead.
    counted = metric == "accuracy" and file.data["task"] == "classes"
    return {
        "part": "test" if measured.get("part") == "test" else "validation",
        "graphs": graphs,
        "epoch": count_of(measured.get("epoch")),
        "metric": printable(metric),
        "value": value,
        "interval": _interval(value, graphs) if counted else None,
        "metrics": {printable(name): value for name, value in metrics.items()},
    }


def _interval(accuracy: float, graphs: int) -> tuple[float, float] | None:
    """Wilson's 95 % interval for a share of so many graphs; None where the numbers are absurd."""
    if not 0 <= accuracy <= 1 or graphs > 2**31:
        return None
    from scipy.stats import binomtest

    found = binomtest(round(accuracy * graphs), graphs).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def _class_card(spec: ClassSpec) -> dict[str, Any]:
    """A model or a method as a card has it."""
    return {
        "name": printable(spec.name),
        "class": printable(spec.target),
        "options": {
            printable(name): printable(value) if isinstance(value, str) else value
            for name, value in spec.options
        },
        "source": None if spec.source is None else printable(spec.source),
    }


def _class_text(card: dict[str, Any]) -> str:
    options = ", ".join(f"{name} {value}" for name, value in card["options"].items())
    text = f"{card['name']} ({options})" if options else str(card["name"])
    if card["source"] is None:
        return text
    return f"{text} of {card['class']}, code {card['source'][:8]}"


def _ending(card: dict[str, Any]) -> str:
    """How the training ended, where that was not simply its last epoch."""
    chosen = f"weights of epoch {card['weights_of_epoch']}"
    if card["stopped_early"]:
        return f" (stopped early; {chosen})"
    if card["epochs"] < card["settings"]["epochs"]:
        return " (stopped before the end)"
    return f" ({chosen})" if card["weights_of_epoch"] != card["epochs"] else ""


def _or_unknown(value: int | None) -> str:
    return "an unknown number" if value is None else f"{value:,}"


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
