import copy

import torch
from torch.testing import assert_close

from ifmixup.data import load
from ifmixup.nn import GCN
from ifmixup.nn.norm import MOMENTUM, BatchNorm
from ifmixup.training import Settings, Trainer, pack
from ifmixup.training.norm_statistics import measure_statistics
from ifmixup.training.trainer import model_inputs

DATA = pack(load("MUTAG")[:40])
TRAIN, TEST = torch.arange(30), torch.arange(30, 40)


def norms(model):
    return [module for module in model.modules() if isinstance(module, BatchNorm)]


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(6, 3, generator=generator)
    return {"x": x, "edge_index": torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])}


def test_they_are_the_mean_over_the_batches():
    torch.manual_seed(0)
    model = GCN(3, 4, 1, 2).eval()
    batches = [inputs(seed) for seed in range(3)]
    weights = {name: value.clone() for name, value in model.named_parameters()}
    before = []  # what the only batch norm gets
    (norm,) = norms(model)
    hook = norm.register_forward_pre_hook(lambda _, args: before.append(args[0]))
    measure_statistics(model, batches)
    hook.remove()
    assert len(before) == 3
    assert_close(norm.running_mean, torch.stack([h.mean(0) for h in before]).mean(0))
    assert_close(norm.running_var, torch.stack([h.var(0) for h in before]).mean(0))
    assert norm.momentum == MOMENTUM
    assert not model.training
    assert all(torch.equal(weights[name], value) for name, value in model.named_parameters())


def test_what_was_before_is_forgotten():
    torch.manual_seed(0)
    model = GCN(3, 4, 2, 2)
    measure_statistics(model, [inputs(0)])
    once = [norm.running_var.clone() for norm in norms(model)]
    for norm in norms(model):
        norm.running_var.fill_(99.0)
    measure_statistics(model, [inputs(0)])
    assert all(torch.equal(a, norm.running_var) for a, norm in zip(once, norms(model), strict=True))


def test_a_model_without_batch_norm_is_left_alone():
    model = GCN(3, 4, 2, 2, norm="none")
    state = {name: value.clone() for name, value in model.state_dict().items()}
    measure_statistics(model, [inputs(0)])
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())


def trained(norm, method="none", epochs=3, **options):
    settings = Settings(method=method, norm=norm, hidden=8, layers=2, **options)
    training = Trainer(settings, DATA, train=TRAIN, test=TEST, seed=0)
    for _ in range(epochs):
        training.run_epoch()
    return training


def test_with_a_single_batch_looking_is_as_training_sees_it():
    """All graphs in one batch and weights that stand still: both modes give the same."""
    training = trained("exact", batch_size=30)
    (graphs,) = training._training_batches()
    given = model_inputs(graphs, training.mirrored)
    training.model.train()
    with torch.no_grad():
        seen = training.model.embed(**given)
        measure_statistics(training.model, [given])
        looked = training.model.eval().embed(**given)
    # the running variance is divided by n - 1, that of a step by n
    assert_close(seen, looked, rtol=0.02, atol=0.02)


def test_exact_statistics_change_what_is_seen_and_not_the_first_epoch_of_training():
    running, exact = trained("batch", epochs=1), trained("exact", epochs=1)
    assert running.curves["train_loss"] == exact.curves["train_loss"]
    assert running.curves["test_loss"] != exact.curves["test_loss"]


def test_going_on_from_a_state_ends_the_same():
    whole = trained("exact", "ifmixup", epochs=4)
    state = copy.deepcopy(trained("exact", "ifmixup", epochs=2).state_dict())
    other = trained("exact", "ifmixup", epochs=0)
    other.load_state_dict(state)
    for _ in range(2):
        other.run_epoch()
    assert other.curves == whole.curves
