import json

import pytest
import torch

from ifmixup.data import load
from ifmixup.prediction.card import card_text, measured_sentence, model_card
from ifmixup.training import Checkpoint, Settings, load_checkpoint, pack, save_checkpoint, train
from task_graphs import with_labels

SETTINGS = Settings(hidden=4, layers=2, epochs=2, method="ifmixup")


@pytest.fixture(scope="module")
def mutag():
    return pack(load("MUTAG"))


def card_of(mutag, path, **parts):
    train(SETTINGS, mutag, seed=5, save=path, **parts)
    return model_card(path)


def test_a_model_that_was_tested(mutag, tmp_path):
    parts = {"train": torch.arange(150), "test": torch.arange(150, 188)}
    card = card_of(mutag, tmp_path / "model.pt", **parts)
    measured = card["measured"]
    assert (card["model"], card["task"], card["metric"]) == ("gcn", "classes", "accuracy")
    assert card["data"]["name"] == "MUTAG"
    assert (card["data"]["trained_on"], card["data"]["graphs"]) == (150, 188)
    assert card["data"]["features"] == 7
    assert card["names"] == ["-1", "1"]
    assert (card["epochs"], card["seed"]) == (2, 5)
    assert card["settings"]["method"] == "ifmixup"
    assert "torch" in card["versions"]
    assert measured["graphs"] == 38
    assert measured["interval"][0] < measured["value"] < measured["interval"][1]
    text = card_text(card)
    assert "MUTAG: trained on 150 of 188 graphs, 7 node features" in text
    assert f"accuracy {measured['value']:.3f} on 38 graphs (95 % interval" in text
    assert "not trained on and chose nothing" in text
    assert "licence of that data" in text
    assert json.loads(json.dumps(card))["file"] == "model.pt"


def test_parameters_are_counted(mutag, tmp_path):
    card = card_of(mutag, tmp_path / "model.pt", train=torch.arange(188))
    file = load_checkpoint(tmp_path / "model.pt")
    weights = {k: v for k, v in file.state["model"].items() if "running" not in k}
    assert card["parameters"] == sum(value.numel() for value in weights.values())


def test_a_model_that_was_not_measured_says_so(mutag, tmp_path):
    card = card_of(mutag, tmp_path / "model.pt", train=torch.arange(188))
    assert card["measured"] is None
    assert "Not measured: nothing was held out" in card_text(card)


def test_graphs_that_chose_the_epoch_flatter(mutag, tmp_path):
    parts = {"train": torch.arange(150), "validation": torch.arange(150, 188)}
    card = card_of(mutag, tmp_path / "model.pt", **parts)
    assert card["measured"]["part"] == "validation"
    assert "but chose the epoch: on others expect somewhat worse" in card_text(card)


def test_wilsons_interval():
    # 8 of 10: by hand (0.8 + z²/20 ± z √(0.016 + z²/400)) / (1 + z²/10) with z = 1.96
    from ifmixup.prediction.card import _interval

    assert _interval(0.8, 10) == pytest.approx((0.4901, 0.9433), abs=1e-3)
    assert _interval(7.0, 10) is None
    assert _interval(0.0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    low, high = _interval(0.5, 2**63 - 1)
    assert low == pytest.approx(0.5) == high


def test_a_metric_without_an_interval():
    measured = {"part": "test", "graphs": 5, "value": 1.25, "interval": None}
    said = measured_sentence({"measured": measured, "metric": "mae"})
    assert said.startswith("MAE 1.250 on 5 graphs that")


def test_what_a_file_says_is_not_obeyed(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(SETTINGS, mutag, train=torch.arange(188), save=path)
    found = load_checkpoint(path)
    found.about["data"]["name"] = "MUTAG\x1b[2J\n" + 500 * "x"
    found.about["versions"] = ["no", "mapping"]
    found.about["graphs"] = "many"
    found.about["measured"] = {"metrics": {"accuracy": "good"}, "graphs": 3}
    save_checkpoint(path, Checkpoint(found.about, found.state))
    card = model_card(path)
    assert card["data"]["name"].startswith("MUTAG?[2J?x")
    assert len(card["data"]["name"]) == 200
    assert card["versions"] == {}
    assert card["measured"] is None
    assert "trained on an unknown number of 188 graphs" in card_text(card)


@pytest.mark.parametrize(
    ("metrics", "graphs"),
    [
        ({"accuracy": float("nan")}, 38),
        ({"accuracy": float("inf")}, 38),
        ({"accuracy": 0.5}, 10**600),
    ],
    ids=["nan", "infinite", "endless"],
)
def test_numbers_that_cannot_be_are_left_out(mutag, tmp_path, metrics, graphs):
    path = tmp_path / "model.pt"
    train(SETTINGS, mutag, train=torch.arange(188), save=path)
    found = load_checkpoint(path)
    found.about["measured"] = {"part": "test", "metrics": metrics, "graphs": graphs}
    found.about["graphs"] = found.about["seed"] = 10**600
    save_checkpoint(path, found)
    card = model_card(path)
    assert card["measured"] is None
    assert card["seed"] is None
    assert "trained on an unknown number of 188 graphs" in card_text(card)
    json.dumps(card, allow_nan=False)


def test_the_accuracy_of_labels_has_no_interval(tmp_path):
    data = pack(with_labels(12), metric="accuracy")
    path = tmp_path / "model.pt"
    train(SETTINGS, data, train=torch.arange(8), test=torch.arange(8, 12), save=path)
    measured = model_card(path)["measured"]
    assert 0 <= measured["value"] <= 1
    assert measured["interval"] is None


def test_a_training_that_was_stopped_early(mutag, tmp_path):
    path, parts = tmp_path / "model.pt", (torch.arange(150), torch.arange(150, 188))
    settings = SETTINGS.with_(epochs=50, learning_rate=1e-9)  # nothing gets better
    train(settings, mutag, train=parts[0], validation=parts[1], patience=1, save=path)
    found = load_checkpoint(path)
    epochs, chosen = found.state["epoch"], found.state["best"]["epoch"]
    assert f"{epochs} of 50 epochs (stopped early; weights of epoch {chosen})" in card_text(
        model_card(path)
    )
    found.state["best"]["restored"] = False
    save_checkpoint(path, found)
    assert "(stopped before the end)" in card_text(model_card(path))
