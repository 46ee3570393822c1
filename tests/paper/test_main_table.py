from types import SimpleNamespace

from ifmixup.paper.main_table import main_table

NONE = [0.70, 0.72, 0.68, 0.71, 0.69]
MORE = [0.80, 0.825, 0.78, 0.815, 0.79]


def cell(variant, scores, *, protocol="holdout", experiment="gcn", dataset="MUTAG", epochs=350):
    reading = SimpleNamespace(
        scores={(0, fold): value for fold, value in enumerate(scores)},
        mean=sum(scores) / len(scores),
    )
    return SimpleNamespace(
        experiment=experiment,
        dataset=dataset,
        variant=variant,
        protocol=protocol,
        reading=reading,
        test_ratio=1 / 9,
        epochs=epochs,
    )


def test_published_and_ours_under_both_protocols():
    text = main_table(
        [
            cell("none", NONE),
            cell("ifmixup", MORE),
            cell("none", MORE, protocol="paper"),
            cell("ifmixup", MORE, protocol="paper"),
        ]
    )
    row = text.splitlines()[2]
    assert row.startswith("| MUTAG | GCN | 85.0 → 87.9 | 80.2 → 80.2 | 70.0 → 80.2 | +10.2 [+")
    assert row.endswith("| 5 x 350 |")
    assert "Held out: 1 comparisons. With ifMixup the accuracy is higher in 1 and" in text
    assert "lower in 0, by +10.2 points on average" in text
    assert "helps in 1 and hurts in 0" in text
    assert "As the paper reads it: 1 comparisons. With ifMixup the accuracy is higher in 0" in text


def test_a_protocol_that_was_not_run_and_a_method_without_its_baseline():
    text = main_table(
        [
            cell("none", NONE, experiment="gin"),
            cell("ifmixup", NONE, experiment="gin"),
            cell("ifmixup", NONE, dataset="PTC_MR"),
            cell("drop_edge", NONE),
            cell("ifmixup, 3 layers", NONE, experiment="depth"),
        ]
    )
    rows = text.splitlines()[2:3]
    assert rows[0].startswith("| MUTAG | GIN | 88.6 → 89.0 | – | 70.0 → 70.0 |")
    assert "PTC" not in text
    assert "As the paper reads it:" not in text


def test_datasets_and_models_are_in_the_order_of_the_paper():
    cells = [
        cell(variant, NONE, experiment=experiment, dataset=dataset)
        for experiment in ("gin", "gcn")
        for dataset in ("MUTAG", "PTC_MR")
        for variant in ("none", "ifmixup")
    ]
    rows = [line.split(" | ")[:2] for line in main_table(cells).splitlines()[2:6]]
    assert rows == [
        ["| PTC_MR", "GCN"],
        ["| MUTAG", "GCN"],
        ["| PTC_MR", "GIN"],
        ["| MUTAG", "GIN"],
    ]


def test_lengths_that_differ_are_told_apart():
    kinds = {"paper": 150, "holdout": 350}
    cells = [
        cell(variant, NONE, protocol=protocol, epochs=epochs)
        for variant in ("none", "ifmixup")
        for protocol, epochs in kinds.items()
    ]
    assert main_table(cells).splitlines()[2].endswith("| 5 x 150 paper, 5 x 350 holdout |")


def test_what_the_datasets_say_together():
    datasets = ["PTC_MR", "NCI1", "MUTAG", "ENZYMES", "PROTEINS"]
    cells = []
    for number, dataset in enumerate(datasets):
        more = [value + 0.01 * (number + 1) for value in MORE]
        cells += [cell("none", NONE, dataset=dataset), cell("ifmixup", more, dataset=dataset)]
    text = main_table(cells)
    assert "(Wilcoxon's signed-rank test): p = 0.062 for GCN (5 datasets)." in text
    assert "Wilcoxon" not in main_table(cells[:8])
