import torch

from ifmixup.training.versions import versions


def test_what_is_installed():
    found = versions()
    assert set(found) == {"ifmixup", "python", "torch", "torch_geometric"}
    assert found["torch"] == torch.__version__
    assert all(type(version) is str for version in found.values())  # a checkpoint can hold them
