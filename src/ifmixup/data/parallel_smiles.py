"""SMILES of a long table, parsed by several processes, in the order of the table."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice

from torch_geometric.data import Data

from ifmixup.data.dataset import NoGraphError
from ifmixup.data.smiles import smiles_reader

AT_ONCE = 500  # SMILES per task; a shorter table is not worth a process


def parse_all(texts: Iterable[str], features: str) -> Iterator[Data | str]:
    """The graph of each SMILES, or why there is none, in order; only a few tasks are ahead."""
    stream = iter(texts)
    first = list(islice(stream, AT_ONCE))
    workers = _cores()
    if len(first) < AT_ONCE or workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        with smiles_reader(features) as read:
            yield from (_parsed(read, text) for text in chain(first, stream))
        return
    with smiles_reader(features):  # says that RDKit is missing before a process starts
        pass
    waiting: deque[Future[bytes]] = deque()
    parts = chain([first], iter(lambda: list(islice(stream, AT_ONCE)), []))
    # A copy of this process has all modules already; it parses, and uses no threads.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork"))
    try:
        for part in parts:
            waiting.append(pool.submit(_work, part, features))
            if len(waiting) > 2 * workers:
                yield from pickle.loads(waiting.popleft().result())  # of our own process
        while waiting:
            yield from pickle.loads(waiting.popleft().result())
    finally:
        pool.shutdown(cancel_futures=True)


def _work(texts: Sequence[str], features: str) -> bytes:
    # Pickled here: torch would send each small tensor through a file of its own.
    with smiles_reader(features) as read:
        return pickle.dumps([_parsed(read, text) for text in texts])


def _parsed(read: Callable[[str], Data], text: str) -> Data | str:
    try:
        return read(text)
    except NoGraphError as error:
        return str(error)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
