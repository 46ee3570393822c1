from collections import Counter
from dataclasses import replace

import pytest

from ifmixup.errors import InputError
from ifmixup.paper.plan import plan
from ifmixup.paper.scale import Scale

TINY = Scale("tiny", repeats=1, folds=2, epochs=2)


def only_mutag(*names: str, scale: Scale = TINY, **options):
    (found,) = plan(names, scale, datasets=["MUTAG"], **options)
    return found


def test_a_plan_has_a_trial_for_every_variant_and_protocol(gcn_plan):
    found = Counter((trial.experiment, trial.protocol) for trial in gcn_plan.trials)
    assert found == {("gcn", "paper"): 6, ("gcn", "holdout"): 6}
    assert gcn_plan.splits.pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(gcn_plan.specs()) == 6 * 2 * 4
    assert {spec.settings.epochs for spec in gcn_plan.specs()} == {2}


def test_a_part_of_a_dataset_keeps_the_share_of_its_classes(gcn_plan):
    whole = only_mutag("gcn").data
    assert len(whole) == 188
    assert len(gcn_plan.data) == 60
    share = whole.y.float().mean().item()
    assert gcn_plan.data.y.float().mean().item() == pytest.approx(share, abs=0.02)
    assert gcn_plan.data.fingerprint != whole.fingerprint


def test_experiments_share_their_runs():
    alone = {spec.key for name in ("gcn", "gat") for spec in only_mutag(name).specs()}
    together = only_mutag("gcn", "gat").specs()
    assert {spec.key for spec in together} == alone
    assert len(together) == len(alone) == (6 + 3 - 1) * 2  # ifMixup with GCN is in both


def test_more_repeats_keep_the_runs_of_fewer():
    once = {spec.key for spec in only_mutag("gin").specs()}
    thrice = {spec.key for spec in only_mutag("gin", scale=replace(TINY, repeats=3)).specs()}
    assert once < thrice
    assert len(thrice) == 3 * len(once)


def test_what_a_variant_is_about_is_not_chosen_from_the_grid():
    sizes = {
        trial.variant.name: len(trial.settings) for trial in only_mutag("gcn", grid=True).trials
    }
    assert sizes["none"] == 48
    assert sizes["ifmixup"] == 144
    for trial in only_mutag("depth", grid=True).trials:
        layers = {settings.layers for settings in trial.settings}
        assert layers == {trial.variant.changes["layers"]}
    for trial in only_mutag("beta", grid=True).trials:
        assert len(trial.settings) == 48


def test_all_is_everything():
    found = only_mutag("all")
    assert {trial.experiment for trial in found.trials} == {
        *("gcn", "gat", "gin", "beta", "depth", "suspects")
    }


def test_a_dataset_that_the_experiment_does_not_have():
    with pytest.raises(InputError, match=r"'MUTAG' is not among.*NCI109, NCI1"):
        only_mutag("pairing")


def test_only_some_variants():
    found = only_mutag("gcn", "gin", variants=["none", "ifmixup"])
    assert [(trial.experiment, trial.variant.name) for trial in found.trials] == [
        ("gcn", "none"),
        ("gcn", "ifmixup"),
        ("gin", "none"),
        ("gin", "ifmixup"),
    ]
    with pytest.raises(InputError, match="Did you mean 'ifmixup'"):
        only_mutag("gcn", variants=["ifmixpu"])


def test_a_dataset_without_any_of_the_variants_is_left_out():
    names = ["gcn", "shuffling"]
    assert list(plan(names, TINY, datasets=["MUTAG"], variants=["every 1 epoch"])) == []
