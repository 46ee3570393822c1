"""The cache of what is fitted: found by content, written whole, not trusted, never in the way."""

import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch, Data

from ifmixup.augment import SMixup, SubMix, cache
from ifmixup.augment.cache import digest, remember, saved_seconds
from ifmixup.batch import from_batch
from ifmixup.graphs import Graphs


def rings():
    ring = torch.stack([torch.arange(5), (torch.arange(5) + 1) % 5])
    data = [Data(x=torch.rand(5, 3), edge_index=ring, y=torch.tensor([n])) for n in (0, 1, 0, 1)]
    return replace(from_batch(Batch.from_data_list(data)), index=torch.arange(4))


@pytest.fixture
def graphs():
    return rings()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


class Counting:
    """Computes the same thing, and counts how often."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return {"numbers": torch.arange(3)}


def get(graphs, compute, **changes):
    how = {"method": "any", "options": {"a": 1}, "seed": 0, **changes}
    return remember(how.pop("method"), how.pop("options"), graphs, compute, **how)


def test_switched_off_nothing_is_kept(graphs, monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    compute = Counting()
    get(graphs, compute)
    get(graphs, compute)
    assert compute.count == 2
    assert list(tmp_path.iterdir()) == []


def test_by_default_it_is_in_the_users_cache(graphs, monkeypatch, tmp_path):
    monkeypatch.delenv(cache.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    get(graphs, Counting())
    (path,) = (tmp_path / "ifmixup" / "fits").iterdir()  # and no lock is left
    assert path.name.startswith("any-")


def test_without_a_home_nothing_is_kept(monkeypatch):
    monkeypatch.delenv(cache.VARIABLE)
    monkeypatch.setattr(cache, "cache_folder", lambda: Path("~/.cache/ifmixup"))
    assert cache.folder() is None


def test_how_long_it_took_is_kept(graphs, folder):
    def slow():
        time.sleep(0.05)
        return {"numbers": torch.arange(3)}

    with saved_seconds() as saved:
        get(graphs, slow)
    assert saved == []
    with saved_seconds() as saved:
        assert get(graphs, slow).keys() == {"numbers"}
    assert 0.05 <= saved[0] < 10


def test_those_who_need_the_same_at_once_compute_it_once(graphs, folder):
    """Locks are of open files, so threads stand for processes here."""
    compute = Counting()

    def slowly():
        time.sleep(0.2)
        return compute()

    with ThreadPoolExecutor() as pool:
        found = [pool.submit(get, graphs, slowly) for _ in range(3)]
    assert [each.result()["numbers"].tolist() for each in found] == [[0, 1, 2]] * 3
    assert compute.count == 1
    assert len(list(folder.iterdir())) == 1


def test_the_same_is_computed_once_and_other_things_anew(graphs, folder):
    compute = Counting()
    for _ in range(3):
        assert get(graphs, compute)["numbers"].tolist() == [0, 1, 2]
    assert compute.count == 1
    other = replace(graphs, nodes={"x": graphs.nodes["x"] + 1})
    fewer = replace(graphs, index=torch.tensor([0, 1, 2, 4]))
    get(graphs, compute, method="another")
    get(graphs, compute, options={"a": 2})
    get(graphs, compute, seed=1)
    get(other, compute)
    get(fewer, compute)
    assert compute.count == 6
    assert len(list(folder.iterdir())) == 6  # and nothing unfinished


def test_the_digest_depends_on_types_and_shapes(graphs):
    made = {digest("m", {}, graphs, 0)}
    for change in (
        {"nodes": {"x": graphs.nodes["x"].double()}},
        {"nodes": {"y": graphs.nodes["x"]}},
        {"nodes": {"x": graphs.nodes["x"].view(-1, 1, 3)}},
        {"edges": {"edge_index": graphs.edge_index.flip(0)}},
        {"graphs": {"y": torch.ones(4)}},
        {"graphs": {}},
    ):
        made.add(digest("m", {}, replace(graphs, **change), 0))
    assert len(made) == 7


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("broken-in",)


@pytest.mark.parametrize("kind", ["garbage", "cut", "pickle", "hostile", "other", "compressed"])
def test_a_broken_or_hostile_file_is_computed_anew(kind, graphs, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compute = Counting()
    get(graphs, compute)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    if kind == "garbage":
        path.write_bytes(b"not a file of tensors")
    elif kind == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(Hostile()))
    elif kind == "hostile":
        torch.save({"numbers": Hostile()}, path)
    elif kind == "other":
        torch.save(["a list"], path)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data/0", bytes(10**6))
    with pytest.warns(UserWarning, match="cannot be used.*recomputed"):
        found = get(graphs, compute)
    assert found["numbers"].tolist() == [0, 1, 2]
    assert compute.count == 2
    assert not (tmp_path / "broken-in").exists()
    assert get(graphs, compute)["numbers"].tolist() == [0, 1, 2]  # mended
    assert compute.count == 2


def test_tensors_that_do_not_fit_are_computed_anew(graphs, folder):
    compute = Counting()
    get(graphs, compute)
    with pytest.warns(UserWarning, match="its content does not match its name"):
        get(graphs, compute, check=lambda found: len(found["numbers"]) == 4)
    assert compute.count == 2


def test_a_folder_that_cannot_be_written_to_is_a_warning(graphs, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv(cache.VARIABLE, str(file / "folder"))
    compute = Counting()
    with pytest.warns(UserWarning, match="cannot be") as told:
        assert get(graphs, compute)["numbers"].tolist() == [0, 1, 2]
    assert any("Training continues" in str(each.message) for each in told)


def test_a_full_disk_is_a_warning_and_nothing_half_written(graphs, folder, monkeypatch):
    def full(content, stream):
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.warns(UserWarning, match="No space left on device.*Training continues"):
        get(graphs, Counting())
    assert list(folder.iterdir()) == []


def test_old_files_make_room_and_those_of_others_stay(graphs, folder, monkeypatch):
    folder.mkdir()
    own = folder / "weights.pt"
    own.write_bytes(bytes(10_000))
    compute = Counting()
    for seed in range(3):
        get(graphs, compute, seed=seed)
        for path in folder.iterdir():
            os.utime(path, ns=(seed * 10**9, seed * 10**9)) if path.stat().st_mtime > 1e6 else None
    get(graphs, compute, seed=0)  # used again: seed 1 is now the least recently used
    size = next(path for path in folder.iterdir() if path != own).stat().st_size
    monkeypatch.setattr(cache, "MOST_BYTES", 3 * size)
    get(graphs, compute, seed=3)
    assert compute.count == 4
    assert len(list(folder.iterdir())) == 4  # three of ours
    assert own.exists()
    get(graphs, compute, seed=0)
    assert compute.count == 4
    get(graphs, compute, seed=1)
    assert compute.count == 5


def test_who_waits_for_another_fit_says_so(graphs, folder, monkeypatch):
    monkeypatch.setattr(cache, "_HALF_A_MINUTE", 0.01)
    told = threading.Event()

    def slow():
        assert told.wait(60)
        return {"value": torch.ones(1)}

    with ThreadPoolExecutor() as pool:
        first = pool.submit(get, graphs, slow)
        while not (folder.exists() and any(folder.iterdir())):  # it has the lock
            time.sleep(0.01)
        found = get(graphs, slow, waiting=told.set)
        assert found["value"].equal(first.result()["value"])
    assert told.is_set()


def test_methods_use_it(graphs, folder):
    tiny = {"matcher_channels": 4, "matcher_layers": 1, "matcher_epochs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = SMixup(2, **tiny)
        whole = first._prepare(graphs)
        first.fit(whole, seed=1)
        second = SMixup(2, **tiny).fit(whole, seed=1)
        one, two = SubMix(2).fit(graphs), SubMix(2).fit(graphs)
    names = sorted(path.name.split("-")[0] for path in folder.iterdir())
    assert names == ["s_mixup", "submix"]
    state = first.matcher.state_dict()
    assert all(map(torch.equal, state.values(), second.matcher.state_dict().values()))
    assert torch.equal(one._known.order, two._known.order)

    for path in folder.iterdir():  # of the right kind, but not what was fitted
        found = torch.load(path, weights_only=True)
        wrong = {name: torch.full_like(value, 999) for name, value in found.items()}
        if "order" not in found:
            wrong["enter.weight"] = wrong["enter.weight"] * float("nan")
        torch.save(wrong, path)
    with pytest.warns(UserWarning, match="does not match its name"):
        assert torch.equal(SubMix(2).fit(graphs)._known.order, one._known.order)
    with pytest.warns(UserWarning, match="does not match its name"):
        third = SMixup(2, **tiny).fit(whole, seed=1)
    assert all(map(torch.equal, state.values(), third.matcher.state_dict().values()))


@pytest.mark.parametrize(
    "value",
    [torch.eye(2).to_sparse(), torch.empty(2, 2, device="meta")],
    ids=["sparse", "meta"],
)
def test_tensors_without_plain_numbers_are_not_used(graphs, folder, value):
    SubMix(2).fit(graphs)
    (path,) = folder.iterdir()
    torch.save({"order": value}, path)
    with pytest.warns(UserWarning, match="it asks for torch._utils._rebuild"):
        SubMix(2).fit(graphs)


def test_what_a_killed_process_left_is_removed_after_an_hour(graphs, folder):
    folder.mkdir(exist_ok=True)
    old, new = (folder / f".submix-{'0' * 64}.pt.{each * 32}.tmp" for each in "ab")
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    SubMix(2).fit(graphs)
    assert new.exists()
    assert not old.exists()


KILLED = """
import sys, time, torch
from ifmixup.augment.cache import remember
from ifmixup.graphs import Graphs

def compute():
    print("computing", flush=True)
    time.sleep(60)

ptr = torch.tensor([0, 1])
remember("any", {}, Graphs({"x": torch.ones(1, 1)}, {}, {}, ptr, ptr), compute)
"""


def test_a_fit_that_is_killed_leaves_nothing_and_holds_nobody_up(folder):
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "computing\n"
    process.kill()
    process.wait()
    process.stdout.close()
    assert not [path for path in folder.iterdir() if path.suffix != ".lock"]
    ptr = torch.tensor([0, 1])
    compute = Counting()
    remember("any", {}, Graphs({"x": torch.ones(1, 1)}, {}, {}, ptr, ptr), compute)
    assert compute.count == 1
    assert [path.suffix for path in folder.iterdir()] == [".pt"]
