import pytest

from ifmixup.errors import StoreError
from ifmixup.study.commands import FILE_NAME, note_command, noted_commands


def test_each_command_once_and_in_order(tmp_path):
    assert noted_commands(tmp_path) == []
    for words in (["ifmixup", "compare", "a b"], ["ifmixup", "x"], ["ifmixup", "compare", "a b"]):
        note_command(tmp_path, words)
    assert noted_commands(tmp_path) == ["ifmixup compare 'a b'", "ifmixup x"]


def test_where_things_are_on_a_machine_is_left_out(tmp_path):
    words = ["ifmixup", "compare", "MUTAG", "--folder", "/home/me", "--root=/data", "--seed", "1"]
    note_command(tmp_path, words)
    assert noted_commands(tmp_path) == ["ifmixup compare MUTAG --seed 1"]


def test_a_file_that_is_no_text_is_read_as_far_as_it_goes(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"ifmixup \xff\n")
    assert noted_commands(tmp_path) == ["ifmixup �"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError):
        note_command(tmp_path / "no", ["ifmixup"])
