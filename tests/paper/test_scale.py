import pytest

from ifmixup.errors import InputError
from ifmixup.paper.scale import SCALES, scale_of


def test_the_papers_scale():
    scale = scale_of("paper")
    assert (scale.repeats, scale.folds, scale.epochs, scale.graphs) == (3, 10, 350, None)
    assert list(SCALES) == ["smoke", "small", "paper"]


def test_a_name_that_is_not_known():
    with pytest.raises(InputError, match=r"'smal'.*small"):
        scale_of("smal")
