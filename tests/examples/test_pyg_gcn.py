# The loss of a model that only knows the shares of MUTAG's classes, 125 : 63. (The accuracy on 38
# test graphs says less: it moves by a tenth from one epoch to the next.)
CONSTANT = 0.638


def test_pyg_s_gcn_reads_the_weights_and_learns(example, capsys):
    losses, accuracy = example.main(epochs=15)
    assert losses[-1] < 0.9 * CONSTANT < losses[0]
    printed = capsys.readouterr().out
    assert "The model reads edge_weight" in printed
    assert "It reads node_weight too" in printed
    assert f"test accuracy {accuracy:.3f}" in printed
