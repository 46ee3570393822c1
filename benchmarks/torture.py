"""Kills, hostile files, flipped bits and bad folders: ``make torture``.

One script, seeded. Every trial runs in a fork of this process, which has imported everything, with
a limit on memory and time. The table says how many trials there were and how many broke a promise.
``--start`` continues a run that was stopped: trial n is the same whenever it is run.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import json
import os
import platform
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import torch

import ifmixup.cli.compare
import ifmixup.cli.datasets
import ifmixup.cli.predict
import ifmixup.cli.report
import ifmixup.cli.runs
import ifmixup.cli.train
import ifmixup.data
from ifmixup.augment.cache import remember
from ifmixup.cli import main as ifmixup_main
from ifmixup.errors import IfmixupError
from ifmixup.study import exchange
from ifmixup.study.compare import compare
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.engines.ray import RayEngine
from ifmixup.study.record import Record
from ifmixup.study.store import BUSY_SECONDS, Store
from ifmixup.study.study import load_studies, save_studies
from ifmixup.study.usable import usable_runs
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.run import run

SECONDS, BYTES = 5.0, 1_500_000_000  # that a hostile file may take
Outcome = tuple[int | None, str, float, int]  # exit code, output, seconds, bytes of memory


class Here:
    """An engine in this process: a kill of the process is then one of the worker, too."""

    def execute(self, tasks: Sequence[Any], data: PackedDataset, watcher: Any = None) -> Any:
        for spec, fold in tasks:
            yield Record(spec, run(spec, data, fold))


def forked(work: Callable[[], Any], *, kill_after: float | None = None, most: int = 0) -> Outcome:
    """Run ``work`` in a fork, with what it prints; after some seconds it is killed."""
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setpgid(0, 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        if most:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + most
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        warnings.simplefilter("ignore")  # they are errors in the test suite only
        code = 70
        try:
            code = int(work() or 0)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 2
        except BaseException:
            traceback.print_exc()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    os.close(writer)
    os.set_blocking(reader, False)
    said, status, usage = b"", None, None
    end = began + (SECONDS * 12 if kill_after is None else kill_after)
    while status is None:
        with contextlib.suppress(BlockingIOError):
            said += os.read(reader, 1 << 20)
        done, ended, usage = os.wait4(child, os.WNOHANG)
        if done:
            status = ended
        elif time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)  # it may not have a group yet
            _, status, usage = os.wait4(child, 0)
        else:
            time.sleep(0.002)
    with contextlib.suppress(BlockingIOError, OSError):
        said += os.read(reader, 1 << 20)
    os.close(reader)
    took = time.monotonic() - began
    code = os.waitstatus_to_exitcode(status)
    return code, said.decode(errors="replace"), took, 1024 * (usage.ru_maxrss if usage else 0)


# --- kills ------------------------------------------------------------------------------------


OPTIONS: dict[str, Any] = {
    "models": "gcn", "methods": ["none", "submix"], "folds": 2, "epochs": 2, "hidden_channels": 4,
    "num_layers": 1, "progress": False, "baselines": False,  # so that a kill meets a run or a fit
}  # fmt: skip


def study(data: PackedDataset, folder: Path, engine: Any = None, **more: Any) -> str:
    """What a small study found: every number of every run, bit for bit, and the verdict."""
    os.environ["IFMIXUP_CACHE"] = str(folder / "cache")
    found = compare(data, **{**OPTIONS, **more}, folder=folder / "study", engine=engine or Here())
    return _numbers(found.runs) + found.verdict()


def _numbers(runs: Sequence[Record]) -> str:
    """The numbers of runs as text; times are left out."""
    lines = []
    for record in sorted(runs, key=lambda each: each.key):
        result = record.result
        measured = {} if result is None else {**result.curves, **result.metrics}
        kept = {name: value for name, value in measured.items() if "seconds" not in name}
        lines.append(f"{record.key} {record.error} {kept}")
    return "\n".join(lines)


def kills(data: PackedDataset, numbers: Sequence[int], seed: int) -> Iterator[str | None]:
    """Kill a study or an import at a random moment; the same command must end with the same table.

    Of ten trials one has worker processes, of which one is killed, or the study, or both; two are
    imports, one writes ``study.json``, one keeps what a method has fitted, and five are studies.
    """
    with tempfile.TemporaryDirectory() as name:
        wanted = study(data, Path(name))
        exported = Path(name) / "runs.jsonl"
        with Store(Path(name) / "study", read_only=True) as store:
            exchange.export(store.records(), exported)
        (planned,) = load_studies(Path(name) / "study")
        for number in numbers:
            chance = random.Random(f"{seed} kill {number}")
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                kind = number % 10
                if kind == 0:
                    problem = _kill_workers(data, folder, wanted, chance)
                elif kind in (3, 6):
                    problem = _kill_import(folder, exported, chance)
                elif kind == 5:
                    problem = _kill_fitting(data, folder, chance)
                elif kind == 9:
                    problem = _kill_saving(folder, planned, chance)
                else:
                    met = _kill_at_work(partial(_command, data), folder, chance)
                    problem = None if study(data, met) == wanted else "another table"
                yield problem and f"kill {number}: {problem}"


def _kill_at_work(work: Callable[[Path], int], place: Path, chance: random.Random) -> Path:
    """Kill ``work`` at a random moment of the time that it takes; the folder that it was given.

    If it had ended already, once more in another folder, and earlier.
    """
    (place / "whole").mkdir()
    _, _, longest, _ = forked(partial(work, place / "whole"))
    for number in range(10):
        folder = place / str(number)
        folder.mkdir()
        code, _, _, _ = forked(partial(work, folder), kill_after=chance.uniform(0, longest))
        if code == -signal.SIGKILL:
            break
        longest /= 1.5
    return folder


def _kill_workers(
    data: PackedDataset, folder: Path, wanted: str, chance: random.Random
) -> str | None:
    which = chance.choice(["worker", "study", "both"])

    def work() -> int:
        if which != "study":  # SIGKILL to a worker, some time after the study has started
            pid, after, killed = os.getpid(), chance.uniform(0, 5), False
            if os.fork() == 0:
                while not killed and Path(f"/proc/{pid}").exists():
                    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                        if int(child) != os.getpid():  # there is a worker
                            time.sleep(after)
                            killed = True
                            with contextlib.suppress(ProcessLookupError):
                                os.kill(int(child), signal.SIGKILL)
                    time.sleep(0.05)
                os._exit(0)
        table = study(data, folder, LocalEngine(1))
        return 0 if table == wanted else 3

    # A worker is started twice, which on a busy machine takes its time.
    code, said, _, _ = forked(work, kill_after=600 if which == "worker" else chance.uniform(3, 10))
    if which == "worker" and code != 0:
        return f"a killed worker made the study end with {code}: {said[-300:]}"
    return None if study(data, folder) == wanted else "another table"


def _kill_import(place: Path, exported: Path, chance: random.Random) -> str | None:
    def work(folder: Path) -> int:
        with Store(folder) as store:
            return len(exchange.import_runs(store, exported).failed_lines)

    folder = _kill_at_work(work, place, chance)
    with Store(folder) as store:
        exchange.import_runs(store, exported)
        lines = exported.read_text().count("\n")
        return None if len(list(store.records())) == lines else "runs are missing after an import"


def _kill_fitting(data: PackedDataset, folder: Path, chance: random.Random) -> str | None:
    """Kill a process that keeps one fit after another in the cache; each is whole or not there."""
    os.environ["IFMIXUP_CACHE"] = str(folder)

    def fit(number: int) -> bool:
        wanted = torch.full((100_000,), float(number))
        found = remember("torture", {"number": number}, data.graphs, lambda: {"x": wanted})
        return torch.equal(found["x"], wanted)

    forked(lambda: all(map(fit, range(10**6))), kill_after=chance.uniform(0.01, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a file that cannot be used
        return None if all(map(fit, range(20))) else "another fit"


def _kill_saving(folder: Path, planned: Any, chance: random.Random) -> str | None:
    save_studies(folder, [planned])

    def work() -> int:
        while True:
            save_studies(folder, [planned])

    forked(work, kill_after=chance.uniform(0, 0.1))
    return None if load_studies(folder) == [planned] else "study.json is not whole"


def ray_kills(data: PackedDataset, numbers: Sequence[int], seed: int) -> Iterator[str | None]:
    """Kill, in turn, a worker and a raylet of Ray while a run executes there; the study must end
    with the same table. Each trial begins with two nodes of one CPU.
    """
    import ray
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    soon = {
        "health_check_period_ms": 500,
        "health_check_failure_threshold": 4,
        "worker_niceness": 0,  # as all that others run, else nothing is met on a busy machine
    }
    head = {"num_cpus": 0, "_system_config": soon, **small}
    # Each run takes a second or so, so that a kill meets it.
    longer: dict[str, Any] = {"methods": ["none", "ifmixup"], "epochs": 60, "folds": 3}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, **small) for _ in range(2)]
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        with tempfile.TemporaryDirectory() as name:
            wanted = study(data, Path(name), **longer)
        for number in numbers:
            chance = random.Random(f"{seed} ray {number}")
            what = ("worker", "raylet")[number % 2]
            raylets = [node.all_processes["raylet"][0].process.pid for node in nodes]
            killed: list[int] = []
            ended = threading.Event()
            killer = threading.Thread(
                target=_kill_on_ray, args=(what, raylets, chance.uniform(0, 0.5), killed, ended)
            )
            killer.start()
            with tempfile.TemporaryDirectory() as name:
                found = study(data, Path(name), RayEngine(), **longer)
            ended.set()
            killer.join()
            if what == "raylet" and killed:
                lost = nodes.pop(raylets.index(killed[0]))
                cluster.remove_node(lost, allow_graceful=False)
                nodes.append(cluster.add_node(num_cpus=1, **small))
                cluster.wait_for_nodes()
            if not killed:
                yield f"ray kill {number}: no run was met, so it was not tried"
            else:
                yield None if found == wanted else f"ray kill {number}: another table ({what})"
    finally:
        ray.shutdown()
        cluster.shutdown()


def _kill_on_ray(
    what: str, raylets: list[int], after: float, killed: list[int], ended: threading.Event
) -> None:
    """Kill a worker that executes a run, or the raylet that it belongs to; note which."""
    while not ended.is_set() and not killed:
        for raylet in raylets:
            with contextlib.suppress(psutil.Error):
                for worker in psutil.Process(raylet).children():
                    if not killed and "_perform" in " ".join(worker.cmdline()):
                        time.sleep(after)
                        killed.append(worker.pid if what == "worker" else raylet)
                        os.kill(killed[0], signal.SIGKILL)
        time.sleep(0.02)


# --- hostile files ----------------------------------------------------------------------------


def good_files(folder: Path, data: PackedDataset) -> dict[str, tuple[Path, list[str]]]:
    """A good file of every kind, and the command that reads it; {} stands for its path."""
    mutag = Path(ifmixup.data.__file__).with_name("MUTAG.zip")
    found: dict[str, tuple[Path, list[str]]] = {}
    shutil.copy(mutag, folder / "MUTAG.zip")
    found["zip"] = folder / "MUTAG.zip", ["datasets", "{}"]
    with zipfile.ZipFile(mutag) as archive:
        (folder / "tu").mkdir()
        for member in archive.namelist():
            if member.endswith(".txt"):
                (folder / "tu" / Path(member).name).write_bytes(archive.read(member))
    found["TU text"] = folder / "tu" / "MUTAG_node_labels.txt", ["datasets", str(folder / "tu")]
    rows = "".join(
        f"{s},{i % 2}\n" for i, s in enumerate(["CCO", "C=O", "CC", "CCN", "c1ccccc1"] * 8)
    )
    (folder / "m.csv").write_text("smiles,label\n" + rows)
    found["CSV"] = folder / "m.csv", ["datasets", "{}:smiles:label"]
    import networkx
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"smiles": ["CCO", "C", "CC"] * 9, "label": [0, 1, 1] * 9})
    pyarrow.parquet.write_table(table, folder / "m.parquet")
    found["Parquet"] = folder / "m.parquet", ["datasets", "{}:smiles:label"]
    for kind in ("graphml", "json"):
        (folder / kind).mkdir()
        for number in range(4):
            graph = networkx.path_graph(3 + number)
            networkx.set_node_attributes(graph, {n: n % 2 for n in graph}, "kind")
            graph.graph["label"] = number % 2
            path = folder / kind / f"g{number}.{kind}"
            if kind == "graphml":
                networkx.write_graphml(graph, path)
            else:
                path.write_text(json.dumps(networkx.node_link_data(graph, edges="links")))
        found[kind] = path, ["datasets", str(folder / kind), "--label", "label"]
    torch.save(list(ifmixup.data.load("MUTAG"))[:20], folder / "graphs.pt")
    found[".pt"] = folder / "graphs.pt", ["datasets", "{}"]
    small = ["--epochs", "1", "--hidden-channels", "4", "--num-layers", "1"]
    for kind in ("model", "checkpoint"):
        path = folder / f"{kind}.pt"
        forked(partial(ifmixup_main, ["train", "MUTAG", "--save", str(path), *small]))
        found[kind] = path, ["predict", "{}", "--describe"]
    found["checkpoint"] = path, ["train", "MUTAG", "--save", "{}", "--resume", *small]
    study(data, folder / "of")
    found["store"] = folder / "of" / "study" / "runs.sqlite", ["runs", str(folder / "of" / "study")]
    with Store(folder / "of" / "study", read_only=True) as store:
        exchange.export(store.records(), folder / "runs.jsonl")
    found["JSONL"] = folder / "runs.jsonl", ["runs", str(folder / "into"), "--import", "{}"]
    found["study.json"] = folder / "of" / "study" / "study.json", found["store"][1]
    (splits,) = (folder / "of" / "study").glob("splits-*.json")
    # A dry run reads everything, and trains nothing to the end.
    small = ["compare", "MUTAG", "--folder", str(folder / "new"), "--dry-run", *small]
    found["splits"] = splits, [*small, "--split", "{}"]
    (folder / "c.toml").write_text('epochs = 3\nmodels = ["gcn"]\nmethods = ["none"]\nseed = 1\n')
    found["TOML"] = folder / "c.toml", [*small, "--config", "{}"]
    (folder / "c.yaml").write_text(
        "epochs: 3\nmodels: [gcn]\nmethods: [none]\nlearning_rate: 0.01\n"
    )
    found["YAML"] = folder / "c.yaml", [*small, "--config", "{}"]
    return found


NASTY = (
    b"\x1b[2J", b"\0" * 8, b"9" * 40, b"-1", b"1e999", b"nan", b"../../x", b"\xff\xfe", b"[" * 3000,
    b"{}", b'"', b"\n" * 50, b",", b"\xf0\x9f\x92\xa9", b"99999999", b"null", b"\\u001b[2J",
)  # fmt: skip


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content with a few changes: bits, cuts, nasty texts, parts that are doubled or lost."""
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(changed) + 1)
        what = chance.randrange(6)
        if what == 0 and changed:
            changed[at % len(changed)] ^= 1 << chance.randrange(8)
        elif what == 1:
            changed[at : at + chance.randrange(8)] = chance.choice(NASTY)
        elif what == 2:
            del changed[at : at + chance.randrange(1, 200)]
        elif what == 3:
            changed[at:at] = changed[at : at + chance.randrange(1, 400)]
        elif what == 4 and chance.random() < 0.3:
            del changed[at:]
        else:
            changed[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(changed)


def hostile(data: PackedDataset, numbers: Sequence[int], seed: int) -> Iterator[str | None]:
    """Give a command a mutated file; it must end soon, with an exit code and a clear message."""
    with tempfile.TemporaryDirectory() as name:
        folder, outside = Path(name) / "in", Path(name) / "cwd"
        folder.mkdir()
        outside.mkdir()
        kinds = good_files(folder, data)
        for kind, (path, words) in kinds.items():  # else their damage would show nothing
            code, said, _, _ = forked(partial(ifmixup_main, [each.format(path) for each in words]))
            if code:
                raise SystemExit(f"the good file of the kind {kind} is refused: {said}")
        for number in numbers:
            chance = random.Random(f"{seed} file {number}")
            kind = list(kinds)[number % len(kinds)]
            path, words = kinds[kind]
            before = path.read_bytes()
            path.write_bytes(mutated(before, chance))

            def work(path: Path = path, words: list[str] = words) -> int:
                os.chdir(outside)
                return ifmixup_main([word.format(path) for word in words])

            damaged = path.read_bytes()
            code, said, took, _ = forked(work, most=BYTES)
            if took > SECONDS:  # once more, if others had the processor
                path.write_bytes(damaged)
                again = forked(work, most=BYTES)
                code, said, took = again[0], again[1], min(took, again[2])
            path.write_bytes(before)
            problems = []
            if code not in (0, 1, 2):
                problems.append(f"exit code {code}")
            messages = sum(line.startswith("ifmixup: ") for line in said.splitlines())
            if (code == 2 and messages != 1) or (code and not said.strip()):
                problems.append(f"{messages} messages")
            if "Traceback" in said:
                problems.append("a traceback")
            if "\x1b" in said:
                problems.append("an escape code")
            if "MemoryError" in said or "allocate" in said:
                problems.append(f"more than {BYTES} bytes")
            if took > SECONDS:
                problems.append(f"{took:.1f} s")
            if any(outside.iterdir()) or len(list(Path(name).iterdir())) != 2:
                problems.append("a file outside of the folder")
                for each in outside.iterdir():
                    each.unlink()
            shutil.rmtree(folder / "into", ignore_errors=True)
            shutil.rmtree(folder / "new", ignore_errors=True)
            last = said.strip().splitlines()[-1:] if problems else []
            yield f"file {number} ({kind}): {', '.join(problems)} {last}" if problems else None


# --- bits and folders -------------------------------------------------------------------------


def flips(data: PackedDataset, numbers: Sequence[int], seed: int) -> Iterator[str | None]:
    """Flip a bit of a store, or cut it: a run that is read is as it was, or it is not read."""
    with tempfile.TemporaryDirectory() as name:
        study(data, Path(name))
        source = Path(name) / "study"
        (planned,) = load_studies(source)
        with Store(source) as store:  # all in one file
            store._connection.execute("PRAGMA journal_mode = DELETE")
            truth = {record.key: repr(record) for record in store.records()}
        content = (source / "runs.sqlite").read_bytes()
        for number in numbers:
            chance = random.Random(f"{seed} flip {number}")
            changed = bytearray(content)
            if number % 5 == 0:
                del changed[chance.randrange(len(changed)) :]
            else:
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            place = Path(name) / "flipped"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            (place / "runs.sqlite").write_bytes(changed)

            def work(place: Path = place) -> int:
                try:
                    with Store(place, read_only=True) as store:
                        found = [r for r in usable_runs(store, planned) if r.result is not None]
                except IfmixupError:
                    return 0
                return 0 if all(repr(record) == truth.get(record.key) for record in found) else 4

            code, said, _, _ = forked(work)
            yield f"flip {number}: exit {code} {said[-200:]}" if code else None


def folders(data: PackedDataset, numbers: Sequence[int], seed: int) -> Iterator[str | None]:
    """Full disk, read-only folder, no locks, a clock that jumps, two studies, ten imports."""
    del seed
    for number in numbers:
        trial = (_full, _read_only, _no_locks, _clock, _two_studies, _ten_imports)[number % 6]
        with tempfile.TemporaryDirectory() as name:
            problem = trial(data, Path(name))
            yield problem and f"{trial.__name__[1:]}: {problem}"


def _mounted(folder: Path, options: str) -> bool:
    folder.mkdir(exist_ok=True)
    return os.system(f"mount -t tmpfs -o {options} tmpfs {folder} 2>/dev/null") == 0


def _full(data: PackedDataset, folder: Path) -> str | None:
    wanted = study(data, folder / "free")
    if not _mounted(folder / "disk", "size=200k"):
        return "not tried: it needs the right to mount"
    try:
        (folder / "disk" / "filler").write_bytes(b"\0" * 110_000)
        code, said, _, _ = forked(lambda: _command(data, folder / "disk"))
        (folder / "disk" / "filler").unlink()
        if code != 2 or "Traceback" in said:
            return f"exit {code}: {said[-300:]}"
        os.system(f"mount -o remount,size=9m {folder / 'disk'}")
        return None if study(data, folder / "disk") == wanted else "another table afterwards"
    finally:
        os.system(f"umount {folder / 'disk'}")


def _command(data: PackedDataset, folder: Path) -> int:
    try:
        study(data, folder)
    except IfmixupError as error:
        print(error)
        return 2
    return 0


def _read_only(data: PackedDataset, folder: Path) -> str | None:
    if not _mounted(folder / "disk", "size=9m"):
        return "not tried: it needs the right to mount"
    try:
        wanted = study(data, folder / "disk")
        os.system(f"mount -o remount,ro {folder / 'disk'}")
        code, said, _, _ = forked(lambda: _command(data, folder / "disk" / "other"))
        (planned,) = load_studies(folder / "disk" / "study")
        with Store(folder / "disk" / "study", read_only=True) as store:
            whole = len(usable_runs(store, planned)) == len(planned.keys)
        fine = whole and code == 2 and "Traceback" not in said and wanted
        return None if fine else f"exit {code}: {said[-300:]}"
    finally:
        os.system(f"umount {folder / 'disk'}")


def _no_locks(data: PackedDataset, folder: Path) -> str | None:
    wanted = study(data, folder / "free")

    def work() -> int:
        if not _refuse_locks():
            return 5
        first, again = study(data, folder / "locked"), study(data, folder / "locked")
        with Store(folder / "locked" / "study", read_only=True) as store:
            there = _numbers(list(store.records()))
        return 0 if first == again == wanted and wanted.startswith(there) else 3

    code, said, took, _ = forked(work)
    if code == 5:
        return "not tried: it needs Linux on x86 with seccomp"
    return (
        None if code == 0 and took < BUSY_SECONDS else f"exit {code}, {took:.0f} s: {said[-300:]}"
    )


def _refuse_locks() -> bool:
    """Let the kernel refuse this process every lock, also those of SQLite, as a file system would
    that has none; False where that cannot be done.
    """
    load, if_equal, answer, allow = 0x20, 0x15, 0x06, 0x7FFF0000  # of linux/bpf and linux/seccomp
    flock, fcntl_, lock_commands = 73, 72, (6, 7, 37, 38)  # F_SETLK, F_SETLKW, and those of OFD
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return False
    lines = [
        (load, 0, 0, 0),  # which call it is
        (if_equal, 7, 0, flock),
        (if_equal, 0, 5, fcntl_),
        (load, 0, 0, 24),  # its second argument
        *((if_equal, 4 - i, 0, command) for i, command in enumerate(lock_commands)),
        (answer, 0, 0, allow),
        (answer, 0, 0, 0x50000 | errno.ENOLCK),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code))
    call = ctypes.CDLL(None).prctl
    return call(38, 1, 0, 0, 0) == 0 and call(22, 2, ctypes.c_char_p(program), 0, 0) == 0


def _clock(data: PackedDataset, folder: Path) -> str | None:
    wanted = study(data, folder / "steady")
    real, calls = time.time, iter(range(10**9))
    time.time = lambda: real() + (-1) ** next(calls) * 10**8
    try:
        return None if study(data, folder / "jumping") == wanted else "another table"
    finally:
        time.time = real


def _at_once(works: Sequence[Callable[[], Any]]) -> list[int]:
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            code = 70
            with contextlib.suppress(BaseException):
                work()
                code = 0
            os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _two_studies(data: PackedDataset, folder: Path) -> str | None:
    both: list[dict[str, Any]] = [{"name": "one"}, {"name": "two", "seed": 1}]
    wanted = [study(data, folder / str(i), **each) for i, each in enumerate(both)]
    shared = folder / "shared"
    codes = _at_once([partial(study, data, shared, **each) for each in both])
    found = [study(data, shared, **each) for each in both]
    kept = len(load_studies(shared / "study"))
    fine = codes == [0, 0] and found == wanted and kept == 2
    return None if fine else f"exit codes {codes}, {kept} of 2 studies are there"


def _ten_imports(data: PackedDataset, folder: Path) -> str | None:
    study(data, folder)
    with Store(folder / "study", read_only=True) as store:
        count = exchange.export(store.records(), folder / "runs.jsonl")

    def work() -> None:
        with Store(folder / "into") as store:
            exchange.import_runs(store, folder / "runs.jsonl")

    codes = _at_once([work] * 10)
    with Store(folder / "into", read_only=True) as store:
        there = len(list(store.records()))
    return None if codes == [0] * 10 and there == count else f"{codes}, {there} of {count} runs"


PARTS: dict[str, tuple[Callable[..., Iterator[str | None]], int, int]] = {
    "kills": (kills, 200, 10),
    "hostile files": (hostile, 2000, 200),
    "flips and cuts in a store": (flips, 500, 50),
    "bad folders": (folders, 6, 6),
    "kills on Ray": (ray_kills, 20, 2),  # last, because Ray starts threads and the others fork
}  # the full number of trials, and that of the quick version


def torture(
    seed: int, *, quick: bool = False, only: str | None = None, start: int = 0,
    count: int | None = None, quiet: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """All parts, or one; what each found."""
    torch.set_num_threads(1)
    os.environ["IFMIXUP_CACHE"] = "off"  # of tables; a study has its own
    data = pack(ifmixup.data.load("MUTAG"))
    found = []
    for name, (part, full, few) in PARTS.items():
        if only is not None and only != name:
            continue
        numbers = range(start, start + (count or (few if quick else full)))
        began, problems, tried = time.monotonic(), [], 0
        for problem in part(data, numbers, seed):
            tried += 1
            if problem is not None:
                problems.append(problem)
            if not quiet and sys.stderr.isatty():
                print(f"\r{name} {tried}/{len(numbers)}", end="", file=sys.stderr)
        seconds = time.monotonic() - began
        found.append({"part": name, "trials": tried, "seconds": seconds, "problems": problems})
        if not quiet:
            print(f"| {name} | {tried} | {len(problems)} | {seconds:.0f} |", flush=True)
            for problem in problems:
                print(f"    {problem}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int)
    given = parser.parse_args()
    print("| part | trials | broken promises | seconds |\n|---|---|---|---|", flush=True)
    found = torture(**vars(given))
    return int(any(each["problems"] for each in found))


if __name__ == "__main__":
    sys.exit(main())
