import pytest

from ifmixup import IfmixupError

# The loss of a model that only knows the shares of MUTAG's classes, 125 : 63. (The accuracy on 38
# test graphs says less: it moves by a tenth from one epoch to the next.)
CONSTANT = 0.638


def test_it_is_checked_and_learns(example, capsys):
    losses, accuracy = example.main(epochs=12)
    assert losses[-1] < min(losses[0], 0.85 * CONSTANT)
    printed = capsys.readouterr().out
    assert "The model reads edge_weight" in printed
    assert "It reads node_weight too" in printed
    assert f"test accuracy {accuracy:.3f}" in printed


def test_a_forgotten_weight_is_found_before_training(example):
    with pytest.raises(IfmixupError, match=r"ignores edge_weight.*ifmixup\.nn"):
        example.main(epochs=1, forget=True)
