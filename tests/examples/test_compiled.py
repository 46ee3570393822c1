import pytest
import torch


@pytest.fixture(autouse=True)
def _nothing_compiled_before():
    torch.compiler.reset()


def test_compiled_is_the_same_as_eager(example, capsys):
    losses, difference = example.main(epochs=3, backend="aot_eager")
    assert losses[-1] < losses[0]
    assert difference < 1e-5
    assert "compiled with aot_eager" in capsys.readouterr().out


def test_batches_of_all_sizes_are_compiled_once(example, monkeypatch):
    graphs = []

    def count(graph, _inputs):
        graphs.append(graph)
        return graph

    def compile_counted(model, whole=torch.compile, **options):
        return whole(model, **{**options, "backend": count})

    monkeypatch.setattr(torch, "compile", compile_counted)
    example.main(epochs=2, backend="eager")
    assert len(graphs) == 2  # one to train, one without gradients


def test_without_a_compiler_there_is_a_backend_that_needs_none(example, monkeypatch):
    monkeypatch.setattr(example.shutil, "which", lambda name: None)
    assert example.choose_backend() == "aot_eager"
    monkeypatch.setattr(example.shutil, "which", lambda name: name if name == "clang++" else None)
    assert example.choose_backend() == "inductor"
