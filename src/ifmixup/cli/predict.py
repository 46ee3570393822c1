"""``ifmixup predict``: what a trained model says of graphs."""

from __future__ import annotations

import json as json_text
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.progress import track

from ifmixup.cli.plain_console import PlainConsole
from ifmixup.data.load import read_in_parts
from ifmixup.data.molecules import table_source
from ifmixup.errors import InputError
from ifmixup.prediction.card import card_text, model_card
from ifmixup.prediction.predictions import predictions
from ifmixup.prediction.predictor import BATCH_SIZE, Predictor
from ifmixup.prediction.save_predictions import check_output, save_predictions

ROWS = 10_000  # of a table, in memory at a time


def predict(
    model: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")],
    source: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")] = None,
    *,
    output: Annotated[str, tyro.conf.arg(aliases=("-o",))] = "-",
    describe: bool = False,
    json: bool = False,
    smiles: str | None = None,
    identifier: str | None = None,
    strict: bool = False,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    root: Path | None = None,
) -> int:
    """Predict graphs with a trained model, in the order of the source, a row for each of its rows.

    A row that is no graph has an empty prediction, and the reason in the column problem.

    Args:
        model: A file that ifmixup train saved.
        source: What to predict, as for ifmixup train: a name, molecules.csv:smiles, a folder of
            graphs, a .pt file of PyG graphs. Labels are not needed.
        output: Where the predictions go; - is standard output.
        describe: Print what the model is: its data, settings, measured accuracy, versions.
        json: An object a line instead of CSV; with --describe, the description as JSON.
        smiles: The column of a table that holds SMILES.
        identifier: The column or attribute that identifies a graph; else rows count from 0.
        strict: Stop at the first row that is no graph.
        batch_size: How many graphs are computed at once.
        device: auto, cpu, cuda or mps.
        root: Where a dataset with a name lies.
    """
    if describe:
        card = model_card(model)
        print(json_text.dumps(card, indent=1) if json else card_text(card))
        return 0
    if source is None:
        raise InputError("Say what to predict: ifmixup predict MODEL SOURCE; or --describe.")
    check_output(output)
    _check_apart(output, model, source)
    predictor = Predictor.load(model)
    console = PlainConsole(stderr=True)
    with _notes(console):
        parts = read_in_parts(
            source,
            ROWS,
            root,
            smiles=smiles,
            identifier=identifier,
            strict=strict,
            encoder=predictor.encoder,
        )
        rows = predictions(predictor, parts, batch_size=batch_size, device=device)
        try:
            count, failed = save_predictions(
                track(rows, "Predicting", console=console, transient=True),
                output,
                task=predictor.task,
                names=predictor.class_names,
                as_json=json,
            )
        except BrokenPipeError:  # whoever reads has seen enough, such as head
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except KeyboardInterrupt:
            console.print("Stopped." if output == "-" else f"Stopped; {output} is as it was.")
            return 130
    told = f"{count} rows predicted"
    if failed:
        told = f"{count - failed} of {count} rows predicted; the column problem says why not all"
    console.print(f"{told}." if output == "-" else f"{told}. Saved as {output}")
    return 0


def _check_apart(output: str, model: Path, source: str) -> None:
    """See that the predictions do not replace what they are made from."""
    table = table_source(source)
    for what, path in (("model", model), ("source", Path(table[0] if table else source))):
        if output != "-" and path.expanduser().resolve() == Path(output).expanduser().resolve():
            raise InputError(f"{output} is the {what} itself. Give another file with --output.")


@contextmanager
def _notes(console: Console) -> Iterator[None]:
    """Our warnings as lines for people, without the place in our code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.print(f"Note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch has to say is not for those who predict
        warnings.filterwarnings("always", module="ifmixup")
        warnings.showwarning = show
        yield
