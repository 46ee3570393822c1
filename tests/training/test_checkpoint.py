import pickle
import zipfile

import pytest
import torch

from ifmixup.errors import CheckpointError
from ifmixup.training.checkpoint import VERSION, Checkpoint, load_checkpoint, save_checkpoint


def test_there_and_back(tmp_path):
    path = tmp_path / "deep" / "model.pt"
    save_checkpoint(path, Checkpoint({"dataset": "MUTAG"}, {"weight": torch.ones(2)}))
    found = load_checkpoint(path)
    assert found.about == {"dataset": "MUTAG"}
    assert found.state["weight"].tolist() == [1, 1]
    assert [file.name for file in path.parent.iterdir()] == ["model.pt"]


def test_a_failed_write_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    save_checkpoint(path, Checkpoint({"number": 1}, {}))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("torch.save", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, Checkpoint({"number": 2}, {}))
    assert load_checkpoint(path).about == {"number": 1}
    assert len(list(tmp_path.iterdir())) == 1


class Evil:
    def __reduce__(self):
        return (print, ("run by the file",))


def write(path, kind):
    if kind == "evil":
        torch.save({"format": "ifmixup-checkpoint", "version": VERSION, "about": Evil()}, path)
    elif kind == "pickle":
        path.write_bytes(pickle.dumps(Evil()))
    elif kind == "text":
        path.write_text("not a checkpoint")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "other":
        torch.save({"weight": torch.ones(1)}, path)
    elif kind == "later":
        torch.save({"format": "ifmixup-checkpoint", "version": 99}, path)
    elif kind == "damaged":
        torch.save({"format": "ifmixup-checkpoint", "version": VERSION}, path)
    elif kind == "cut":
        torch.save(
            {"format": "ifmixup-checkpoint", "version": VERSION, "about": {}, "state": {}}, path
        )
        path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("evil", "not a checkpoint of ifmixup"),
        ("pickle", "not a checkpoint of ifmixup"),
        ("text", "not a checkpoint of ifmixup"),
        ("empty", "not a checkpoint of ifmixup"),
        ("other", "holds something else"),
        ("later", "of version 99"),
        ("damaged", "a part of it is missing"),
        ("cut", "not a checkpoint of ifmixup"),
        ("missing", "There is no checkpoint"),
    ],
)
def test_files_that_are_no_checkpoint(tmp_path, capsys, kind, message):
    path = tmp_path / "model.pt"
    write(path, kind)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path)
    assert "run by the file" not in capsys.readouterr().out


@pytest.mark.parametrize("content", [b".", b"j\x13", b"\x80\x02", b"PK\x03\x04"])
def test_short_files(tmp_path, content):
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a checkpoint of ifmixup"):
        load_checkpoint(path)


def packed_again(path, target, compression):
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", compression) as new:
        for member in old.namelist():
            new.writestr(member, old.read(member))


def test_a_file_that_unpacks_to_more_is_refused(tmp_path):
    path, small = tmp_path / "model.pt", tmp_path / "small.pt"
    save_checkpoint(path, Checkpoint({}, {"weight": torch.zeros(100_000)}))
    packed_again(path, small, zipfile.ZIP_STORED)
    assert load_checkpoint(small).state["weight"].numel() == 100_000
    packed_again(path, small, zipfile.ZIP_DEFLATED)
    assert small.stat().st_size < path.stat().st_size / 10
    with pytest.raises(CheckpointError, match="not a checkpoint of ifmixup: it is compressed"):
        load_checkpoint(small)
