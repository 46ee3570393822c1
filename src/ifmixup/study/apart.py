"""Calling a user's class in a process of its own, which it may end, block or crash."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

import torch

from ifmixup.errors import ComponentError

Result = TypeVar("Result")

_BETWEEN_LOOKS = 0.05  # seconds


def call_apart(what: str, seconds: float, function: Callable[..., Result], *args: Any) -> Result:
    """The result of ``function(*args)``, computed in a fork of this process.

    A model that calls ``os._exit``, crashes the interpreter or never returns is then an error with
    its reason, and not the end of a study. What the function raises is raised here. The fork knows
    all that this process knows, and leaves nothing behind.

    Only Linux forks safely with the libraries that torch brings, and only without an accelerator,
    whose threads a fork does not have; elsewhere the function is called in this process.

    Args:
        what: What is going on, for the message.
        seconds: When to give up.
        function: What to call; its result and what it raises must be picklable.
        args: What to call it with.

    Raises:
        ComponentError: If the process ended or took too long.
    """
    if sys.platform != "linux" or torch.accelerator.is_available():
        return function(*args)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, seconds, function, args))
    process.start()
    sender.close()
    deadline = time.monotonic() + seconds
    answer: tuple[bool, Any] | None = None
    try:
        # The end of the pipe tells nothing: what the user's class has forked may hold it open.
        while not receiver.poll(_BETWEEN_LOOKS) and process.is_alive():
            if time.monotonic() > deadline:
                raise ComponentError(f"{what} did not finish within {seconds:g} seconds.")
        with suppress(EOFError):
            answer = receiver.recv() if receiver.poll() else None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if answer is None:
        raise ComponentError(f"{what} {_end(process.exitcode)}.")
    succeeded, value = answer
    if succeeded:
        return value
    raise value


def _answer(
    sender: Connection, seconds: float, function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    """Send ``(True, result)`` or ``(False, error)``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.alarm(int(seconds) + 1)  # also if the parent has been killed
    torch.set_num_threads(1)  # the threads of the parent are not there
    try:
        answer = True, function(*args)
    except Exception as error:  # whatever it is, the parent raises it
        answer = False, error
    try:
        pickle.loads(ForkingPickler.dumps(answer))  # some errors are written, and cannot be read
        sender.send(answer)
    except Exception as error:
        sender.send((False, ComponentError(f"{type(answer[1]).__name__}: {answer[1]} ({error})")))


def _end(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        return f"crashed the process ({signal.Signals(-code).name})"
    return f"ended the process with exit status {code}"
