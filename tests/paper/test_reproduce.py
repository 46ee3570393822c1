from collections import Counter
from dataclasses import replace

import pytest

from engine_here import Here
from ifmixup.errors import InputError
from ifmixup.paper.reproduce import (
    SCALES,
    Scale,
    experiment_of,
    joined,
    packed,
    plan,
    reproduce,
    scale_of,
)
from ifmixup.study.estimate import estimate
from ifmixup.study.run import Runner
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies
from stored_runs import study_of

TINY = Scale("tiny", repeats=1, folds=2, epochs=2, graphs=60)


def on_mutag(*names, scale=TINY, **options):
    return plan(names, scale, datasets=["MUTAG"], **options)


def test_scales():
    assert list(SCALES) == ["smoke", "small", "paper"]
    assert scale_of("paper") == Scale("paper", 3, 10, 350)
    with pytest.raises(InputError, match="smoke, small, paper"):
        scale_of("huge")


def test_a_study_has_a_trial_for_every_variant_and_protocol():
    found = on_mutag("gcn", protocols=["paper", "holdout"], scale=replace(TINY, repeats=2))
    (study,) = found.studies
    assert Counter(trial.protocol for trial in study.trials) == {"paper": 7, "holdout": 7}
    assert study.trials[1].name == "ifmixup"
    assert study.trials[1].against == "none"
    assert study.trials[0].pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(found.specs()) == 7 * 2 * 4
    assert {spec.settings.epochs for spec in found.specs()} == {2}
    assert experiment_of(study).name == "gcn"
    assert experiment_of(study_of(name="gcn")) is None


def test_the_protocols_paper_and_last_share_their_runs():
    both = on_mutag("gcn", protocols=["paper", "last"])
    assert {spec.key for spec in both.specs()} == {spec.key for spec in on_mutag("gcn").specs()}


def test_a_part_of_a_dataset_keeps_the_share_of_its_classes():
    whole, part = packed("MUTAG"), packed("MUTAG", 60)
    assert (len(whole), len(part)) == (188, 60)
    share = whole.y.float().mean().item()
    assert part.y.float().mean().item() == pytest.approx(share, abs=0.02)
    assert part.fingerprint != whole.fingerprint


def test_experiments_share_their_runs():
    alone = {spec.key for name in ("gcn", "gat") for spec in on_mutag(name).specs()}
    together = on_mutag("gcn", "gat").specs()
    assert {spec.key for spec in together} == alone
    assert len(together) == len(alone) == (7 + 3 - 1) * 2  # ifMixup with GCN is in both


def test_more_repeats_and_folds_keep_the_runs_of_fewer():
    few = {spec.key for spec in on_mutag("gin").specs()}
    larger = on_mutag("gin", scale=replace(TINY, repeats=2, folds=3))
    assert few < {spec.key for spec in larger.specs()}


def test_what_a_variant_is_about_is_not_chosen_from_the_grid():
    (gcn, depth, beta) = on_mutag("gcn", "depth", "beta", search="grid").studies
    sizes = {trial.name: len(trial.candidates) for trial in gcn.trials}
    assert sizes["none"] == 48
    assert sizes["drop_edge"] == 96
    assert sizes["ifmixup"] == 144
    for trial in depth.trials:
        layers = {dict(each.model.options)["num_layers"] for each in trial.candidates}
        assert layers == {int(trial.name.split(", ")[1].split()[0])}
    assert {len(trial.candidates) for trial in beta.trials} == {48}


def test_settings_and_options_for_all_variants():
    changes = {"weight_decay": 0.5, "readout": "mean", "p": 0.25}
    (study,) = on_mutag("gcn", changes=changes).studies
    for trial in study.trials:
        (each,) = trial.candidates
        assert each.settings.weight_decay == 0.5
        assert dict(each.model.options)["readout"] == "mean"
        assert ("p" in dict(each.method.options)) == (dict(each.method.options).get("p") == 0.25)
    assert study.config["weight_decay"] == 0.5
    with pytest.raises(InputError, match="Did you mean 'weight_decay'"):
        on_mutag("gcn", changes={"wieght_decay": 0})
    with pytest.raises(InputError, match="scale"):
        on_mutag("gcn", changes={"epochs": 5})


def test_all_is_everything():
    assert [study.name for study in on_mutag("all").studies] == [
        *("gcn", "gat", "gin", "beta", "depth")
    ]


def test_only_some_variants():
    found = on_mutag("gcn", "gin", variants=["none", "ifmixup"])
    assert [[trial.name for trial in study.trials] for study in found.studies] == [
        ["none", "ifmixup"]
    ] * 2


@pytest.mark.parametrize(
    ("names", "options", "text"),
    [
        (["pairing"], {}, r"'MUTAG' is not among.*NCI109, NCI1"),
        (["gcn"], {"variants": ["ifmixpu"]}, "Did you mean 'ifmixup'"),
        (["gcn", "shuffling"], {"variants": ["every 1 epoch"]}, "No experiment has"),
        (["gcn"], {"search": "halve"}, "halving"),
    ],
)
def test_what_cannot_be_planned(names, options, text):
    with pytest.raises(InputError, match=text):
        on_mutag(*names, **options)


def test_nothing_is_run_twice_and_failed_runs_are_told(tmp_path):
    found, engine = on_mutag("gat"), Here(fail=lambda spec: spec.model.name == "gatv2")
    (comparison,) = reproduce(found, tmp_path, engine, progress=False)
    assert len(engine.ran) == 6
    assert [row.trial.name for row in comparison.rows] == ["gat", "gcn ifmixup"]
    assert len(comparison.failed) == 2
    again = Here()
    reproduce(found, tmp_path, again, progress=False)
    assert again.ran == []
    (comparison,) = reproduce(found, tmp_path, again, retry_failed=True, progress=False)
    assert len(again.ran) == 2
    assert len(comparison.rows) == 3


def test_an_experiment_in_parts_is_one_study(tmp_path):
    first = on_mutag("gcn", variants=["none"])
    second = on_mutag("gcn", variants=["ifmixup"], scale=replace(TINY, folds=3))
    reproduce(first, tmp_path, Here(), progress=False)
    (comparison,) = reproduce(second, tmp_path, Here(), progress=False)
    (study,) = load_studies(tmp_path)
    assert study == comparison.study
    assert [(trial.name, len(trial.folds)) for trial in study.trials] == [
        ("none", 2),
        ("ifmixup", 3),
    ]
    assert comparison.rows[1].difference.pairs == 2  # the folds that both have
    reproduce(first, tmp_path, Here(), progress=False)  # a part of it: nothing is lost
    assert load_studies(tmp_path) == [study]


def test_other_settings_make_another_study(tmp_path):
    (one,) = on_mutag("gcn").studies
    for options in (
        {"scale": replace(TINY, epochs=3)},
        {"scale": replace(TINY, graphs=80)},
        {"seed": 1},
        {"changes": {"weight_decay": 0.0}},
    ):
        (other,) = on_mutag("gcn", **options).studies
        assert joined(one, other) is None
    (gin,) = on_mutag("gin").studies
    assert joined(one, gin) is None
    assert joined(study_of(name="gcn"), one) is None
    trial = one.trials[0]
    (candidate,) = trial.candidates
    other = replace(candidate, settings=candidate.settings.with_(batch_size=7))
    changed = replace(trial, candidates=(other,), keys=())
    assert joined(replace(one, trials=(changed,)), one) is None  # recommended otherwise by then
    assert joined(one, one) == one


def test_halving_says_so(tmp_path):
    found = on_mutag(
        "gcn",
        variants=["none"],
        search="halving",
        scale=replace(TINY, epochs=1),
        changes={"num_layers": 3, "hidden_channels": 8, "batch_size": 32},
    )
    (comparison,) = reproduce(found, tmp_path, Here(), progress=False)
    assert any("successive halving" in note for note in comparison.study.notes)
    assert len(comparison.rows) == 1


def test_the_estimate_grows_with_the_epochs(tmp_path):
    def seconds(epochs, workers=1):
        found = on_mutag("gcn", variants=["none"], scale=replace(TINY, epochs=epochs))
        with Store(tmp_path) as store:
            tasks = Runner(store, Here(), found.data).pending(found.specs())
            return estimate(tasks, found.data[0][0], workers)

    assert 0 < seconds(1) < seconds(1000)
    assert estimate([], packed("MUTAG", 60), 2) == 0
