import pytest
import torch

from ifmixup.data.stored import is_stored

WHOLE = torch.arange(6.0).view(2, 3)


@pytest.mark.parametrize(
    "tensor", [WHOLE, WHOLE.t(), WHOLE[:, 1], WHOLE[:0], torch.ones(()), torch.tensor([True])]
)
def test_what_is_there(tensor):
    assert is_stored(tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(1).expand(1000),
        WHOLE[:1].expand(3, 3),
        WHOLE.as_strided((4, 3), (1, 1)),
        torch.empty(10**15, device="meta"),
        torch.eye(2).to_sparse(),
    ],
)
def test_what_is_a_promise(tensor):
    assert not is_stored(tensor)
