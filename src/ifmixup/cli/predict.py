"""``ifmixup predict``: predict graphs with a trained model."""

from __future__ import annotations

import json as json_text
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import MAX_BYTES, NO_DEFAULT, default
from ifmixup.errors import InputError
from ifmixup.safe_io import allow_bytes

ROWS = 10_000  # of a table, in memory at a time
_SOURCE = tyro.conf.arg(metavar="[SOURCE]", help_behavior_hint="")


def predict(
    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")],
    source: Annotated[str | None, tyro.conf.Positional, _SOURCE] = None,
    *,
    model: Annotated[str | None, NO_DEFAULT] = None,
    output: Annotated[str, tyro.conf.arg(aliases=("-o",))] = "-",
    describe: bool = False,
    json: bool = False,
    smiles: Annotated[str | None, default("found by its name")] = None,
    identifier: Annotated[str | None, default("numbers from 0")] = None,
    strict: bool = False,
    batch_size: int = 256,
    device: str = "auto",
    root: Annotated[Path | None, NO_DEFAULT] = None,
    max_bytes: Annotated[int | None, MAX_BYTES] = None,
) -> int:
    """Predict the labels of graphs with a saved model: one row per row of the SOURCE, in order.

    A row that is not a graph has no prediction; the column "problem" has the reason.

    Args:
        file: A file saved by ifmixup train.
        source: A name, molecules.csv:smiles, a folder of graphs or a .pt file of PyG graphs.
            Labels are not needed.
        model: The class of the model, if it is your own (nets.py:Net or package.module:Net).
        output: File to write the predictions to; - is standard output.
        describe: Print the model's card: its data, settings, measured metrics and versions.
        json: Write one JSON object per line instead of CSV; with --describe, print the card as
            JSON.
        smiles: Column of a table with the SMILES.
        identifier: Column or attribute that identifies a graph.
        strict: Stop at the first row that is not a graph.
        batch_size: Number of graphs per batch.
        device: auto, cpu, cuda or mps.
        root: Folder to look for named datasets in.
        max_bytes: Largest size of the SOURCE in bytes, also after unpacking. Raise it only for
            files that you trust.
    """
    if describe:
        from ifmixup.prediction.card import card_text, model_card

        card = model_card(file)
        print(json_text.dumps(card, indent=1) if json else card_text(card))
        return 0
    if source is None:
        raise InputError(
            "There is nothing to predict. Give a source, ifmixup predict MODEL SOURCE, or "
            "--describe."
        )
    from rich.progress import track

    from ifmixup.data.load import read_in_parts
    from ifmixup.prediction.predictions import check_output, predictions, save_predictions
    from ifmixup.prediction.predictor import Predictor

    check_output(output)
    allow_bytes(max_bytes)
    _check_apart(output, file, source)
    console = PlainConsole(stderr=True)
    with _notes(console):
        predictor = Predictor.load(file, model)
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
        except KeyboardInterrupt:
            console.print("Stopped." if output == "-" else f"Stopped; {output} is unchanged.")
            return 130
    done = f"{count} rows predicted"
    if failed:
        done = f"{count - failed} of {count} rows predicted; the column problem has the reasons"
    console.print(f"{done}." if output == "-" else f"{done}. Saved as {output}")
    return 0


def _check_apart(output: str, model: Path, source: str) -> None:
    """Check that the predictions do not replace what they are made from."""
    from ifmixup.data.molecules import table_source

    table = table_source(source)
    for what, path in (("model", model), ("source", Path(table[0] if table else source))):
        if output != "-" and path.expanduser().resolve() == Path(output).expanduser().resolve():
            raise InputError(f"{output} is the {what} itself. Give another file with --output.")


@contextmanager
def _notes(console: Console) -> Iterator[None]:
    """Our warnings as lines for people, without the line of our code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of torch are not for those who predict
        warnings.filterwarnings("always", module="ifmixup")
        warnings.showwarning = lambda message, *_, **__: console.print(f"Note: {message}")
        yield
