import json

import pytest
import torch

from ifmixup.prediction.card import card_text, measured_sentence, model_card
from ifmixup.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ifmixup.training.fit import train
from ifmixup.training.packed import pack
from own_classes import Net, Noise
from task_graphs import with_labels
from tiny import parts

SMALL = parts("gcn", "ifmixup", epochs=2, hidden_channels=4)


def card_of(mutag, path, of=SMALL, **graphs):
    train(*of, mutag, seed=5, save=path, **graphs)
    return model_card(path)


def test_a_model_that_was_tested(mutag, tmp_path):
    graphs = {"train": torch.arange(150), "test": torch.arange(150, 188)}
    card = card_of(mutag, tmp_path / "model.pt", **graphs)
    measured = card["measured"]
    assert (card["task"], card["metric"]) == ("classes", "accuracy")
    assert (card["model"]["name"], card["method"]["name"]) == ("gcn", "ifmixup")
    assert card["model"]["options"]["hidden_channels"] == 4
    assert card["data"]["name"] == "MUTAG"
    assert (card["data"]["trained_on"], card["data"]["graphs"]) == (150, 188)
    assert card["data"]["features"] == 7
    assert card["names"] == ["-1", "1"]
    assert (card["epochs"], card["seed"]) == (2, 5)
    assert card["settings"]["epochs"] == 2
    assert "torch" in card["versions"]
    assert measured["graphs"] == 38
    assert measured["interval"][0] < measured["value"] < measured["interval"][1]
    text = card_text(card)
    assert "gcn (dropout 0.5, hidden_channels 4, " in text
    assert "MUTAG: trained on 150 of 188 graphs, 7 node features" in text
    assert f"accuracy {measured['value']:.3f} on 38 graphs (95 % interval" in text
    assert "held out and chose nothing" in text
    assert "licence of that data" in text
    assert json.loads(json.dumps(card))["file"] == "model.pt"


def test_parameters_are_counted(mutag, tmp_path):
    trainer = train(*SMALL, mutag, train=torch.arange(188), save=tmp_path / "model.pt")
    expected = sum(weights.numel() for weights in trainer.model.parameters())
    assert model_card(tmp_path / "model.pt")["parameters"] == expected


def test_a_model_that_was_not_measured_says_so(mutag, tmp_path):
    card = card_of(mutag, tmp_path / "model.pt", train=torch.arange(188))
    assert card["measured"] is None
    assert "Not measured: nothing was held out" in card_text(card)


def test_graphs_that_chose_the_epoch_flatter(mutag, tmp_path):
    graphs = {"train": torch.arange(150), "validation": torch.arange(150, 188)}
    card = card_of(mutag, tmp_path / "model.pt", **graphs)
    assert card["measured"]["part"] == "validation"
    assert "but chose the epoch: expect somewhat worse on new graphs" in card_text(card)


def test_a_users_classes_are_described_without_their_code(mutag, tmp_path):
    card = card_of(mutag, tmp_path / "model.pt", parts(Net, Noise, std=0.5), train=torch.arange(99))
    assert card["model"]["class"] == "own_classes:Net"
    assert "Net (depth 1, width 8) of own_classes:Net, code " in card_text(card)
    assert "Noise (std 0.5) of own_classes:Noise, code " in card_text(card)
    assert card["parameters"] == 7 * 8 + 8 + 7 * 8 + 8 * 2 + 2


def changed(mutag, path, **measured):
    """The card of a model file that tells other measured numbers about itself."""
    train(*SMALL, mutag, train=torch.arange(188), save=path)
    found = load_checkpoint(path)
    found.about["measured"] = {"part": "test", **measured}
    save_checkpoint(path, found)
    return model_card(path)


@pytest.mark.parametrize(
    ("accuracy", "graphs", "interval"),
    [
        # 8 of 10: by hand (0.8 + z²/20 ± z √(0.016 + z²/400)) / (1 + z²/10) with z = 1.96
        (0.8, 10, pytest.approx((0.4901, 0.9433), abs=1e-3)),
        (0.0, 10, pytest.approx((0, 0.2775), abs=1e-4)),
        (7.0, 10, None),
        (0.5, 2**63 - 1, None),
    ],
)
def test_wilsons_interval(mutag, tmp_path, accuracy, graphs, interval):
    metrics = {"accuracy": accuracy}
    card = changed(mutag, tmp_path / "model.pt", metrics=metrics, graphs=graphs)
    assert card["measured"]["interval"] == interval


def test_a_metric_without_an_interval():
    measured = {"part": "test", "graphs": 5, "value": 1.25, "interval": None}
    said = measured_sentence({"measured": measured, "metric": "mae"})
    assert said.startswith("MAE 1.250 on 5 graphs that")


def test_what_a_file_says_is_not_obeyed(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*SMALL, mutag, train=torch.arange(188), save=path)
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
    train(*SMALL, mutag, train=torch.arange(188), save=path)
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
    train(*SMALL, data, train=torch.arange(8), test=torch.arange(8, 12), save=path)
    measured = model_card(path)["measured"]
    assert 0 <= measured["value"] <= 1
    assert measured["interval"] is None


def test_a_training_that_was_stopped_early(mutag, tmp_path):
    path = tmp_path / "model.pt"
    small = parts("gcn", "ifmixup", epochs=50, learning_rate=1e-9)  # nothing gets better
    graphs = {"train": torch.arange(150), "validation": torch.arange(150, 188)}
    train(*small, mutag, **graphs, patience=1, save=path)
    found = load_checkpoint(path)
    epochs, chosen = found.state["epoch"], found.state["best"]["epoch"]
    assert f"{epochs} of 50 epochs (stopped early; weights of epoch {chosen})" in card_text(
        model_card(path)
    )
    found.state["best"]["restored"] = False
    save_checkpoint(path, found)
    assert "(stopped before the end)" in card_text(model_card(path))
