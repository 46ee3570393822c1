import copy

import pytest
import torch

from ifmixup.data import load
from ifmixup.errors import CheckpointError
from ifmixup.prediction.model_file import count_of, empty_model, read_model_file
from ifmixup.training import Checkpoint, Settings, load_checkpoint, pack, save_checkpoint, train


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.pt"
    settings = Settings(hidden=4, layers=2, epochs=1)
    data = pack(load("MUTAG"))
    return path, train(settings, data, train=torch.arange(188), save=path)


def test_there_and_back(saved):
    path, training = saved
    file = read_model_file(path)
    assert file.settings.relevant() == training.settings.relevant()
    assert file.epochs == 1
    assert file.data["name"] == "MUTAG"
    for name, weights in training.model.state_dict().items():
        assert torch.equal(file.model.state_dict()[name], weights)
    assert not any(weights.is_meta for weights in file.model.state_dict().values())


def test_an_empty_model_takes_no_memory():
    data = {"num_features": 10**6, "num_outputs": 10**6, "edge_dim": None}
    model = empty_model(Settings(hidden=10**5, layers=1), data)
    assert all(weights.is_meta for weights in model.parameters())


def broken(about, state, kind):
    weights = state["model"]
    name = next(iter(weights))
    if kind == "no data":
        del about["data"]
    elif kind == "data is text":
        about["data"] = "MUTAG"
    elif kind == "features":
        about["data"]["num_features"] = True
    elif kind == "huge":
        about["data"]["num_outputs"] = 10**12
    elif kind == "task":
        about["data"]["task"] = "everything"
    elif kind == "names":
        about["data"]["class_names"] = ["one"]
    elif kind == "encoder":
        about["data"]["encoder"] = {"nodes": [{"name": "x", "kinds": [1]}], "edges": None}
    elif kind == "encoder of nothing":
        about["data"]["encoder"] = {"nodes": 7}
    elif kind == "settings":
        about["settings"]["hidden"] = "wide"
    elif kind == "layers":
        about["settings"]["layers"] = 10**9
    elif kind == "missing":
        del weights[name]
    elif kind == "more":
        weights["more"] = torch.ones(1)
    elif kind == "metric":
        about["data"]["metric"] = "beauty"
    elif kind == "metric of another task":
        about["data"]["metric"] = "mae"
    elif kind == "metric is a list":
        about["data"]["metric"] = ["accuracy"]
    elif kind == "endless number":
        about["settings"]["epochs"] = 10**600
    elif kind == "endless rate":
        about["settings"]["learning_rate"] = float("inf")
    elif kind == "endless epoch":
        state["epoch"] = 10**600
    elif kind == "shape":
        weights[name] = weights[name][:1].clone()
    elif kind == "dtype":
        weights[name] = weights[name].double()
    elif kind == "nan":
        weights[name] = torch.full_like(weights[name], torch.nan)
    elif kind == "pretended":
        weights[name] = torch.zeros(1).expand_as(weights[name])
    elif kind == "shared":
        biases = [each for each, value in weights.items() if value.shape == (4,)]
        state["model"] = {each: value.clone() for each, value in weights.items()}
        state["model"] |= dict.fromkeys(biases, torch.ones(4))
    elif kind == "weights are a list":
        state["model"] = [1]
    elif kind == "scaling":
        state["scaling"]["x_std"] = torch.zeros(7)
    elif kind == "scaling of another width":
        state["scaling"]["x_mean"] = torch.zeros(3)
    elif kind == "no scaling":
        del state["scaling"]
    elif kind == "epoch":
        state["epoch"] = "many"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no data", "it has no 'data'"),
        ("data is text", "does not say what it was trained on"),
        ("features", "its num_features is True"),
        ("huge", "its num_outputs is 1000000000000"),
        ("task", "its task is 'everything'"),
        ("names", "class names do not fit"),
        ("encoder", "its encoder makes 1 features, and its model takes 7"),
        ("encoder of nothing", "not those of a FeatureEncoder"),
        ("settings", "hidden must be int; got 'wide'"),
        ("layers", "it has no 1000000000 layers"),
        ("missing", "are missing"),
        ("more", "it has weights that its model has not: ['more']"),
        ("metric", "Unknown metric 'beauty'"),
        ("metric of another task", "does not fit the task 'classes'"),
        ("metric is a list", "its metric is ['accuracy']"),
        ("endless number", "its epochs is not a number to train with"),
        ("endless rate", "its learning_rate is not a number to train with"),
        ("endless epoch", "is a damaged model file"),
        ("shape", "the weights"),
        ("dtype", "torch.float64"),
        ("nan", "is not finite"),
        ("pretended", "is larger than the file"),
        ("shared", "its weights are larger than the file"),
        ("weights are a list", "it has no weights"),
        ("scaling", "its x_std is not positive"),
        ("scaling of another width", "its scaling x_mean does not fit"),
        ("no scaling", "it has no 'scaling'"),
        ("epoch", "its epoch is 'many'"),
    ],
)
def test_a_file_whose_parts_do_not_fit(saved, tmp_path, kind, message):
    checkpoint = load_checkpoint(saved[0])
    about, state = copy.deepcopy(checkpoint.about), copy.deepcopy(checkpoint.state)
    broken(about, state, kind)
    path = tmp_path / "broken.pt"
    save_checkpoint(path, Checkpoint(about, state))
    with pytest.raises(CheckpointError) as error:
        read_model_file(path)
    assert f"{path} is a damaged model file: " in str(error.value)
    assert message in str(error.value)


def test_what_is_no_checkpoint(tmp_path):
    (tmp_path / "model.pt").write_text("no model")
    with pytest.raises(CheckpointError, match="is not a checkpoint of ifmixup"):
        read_model_file(tmp_path / "model.pt")


def test_weights_that_are_too_many_are_not_copied(saved, tmp_path, monkeypatch):
    checkpoint = load_checkpoint(saved[0])
    checkpoint.state["model"]["more"] = torch.zeros(1).expand(10**9)
    save_checkpoint(tmp_path / "model.pt", checkpoint)

    def copied(tensor, **_):
        raise AssertionError(f"{tensor.numel()} numbers were copied")

    monkeypatch.setattr(torch.Tensor, "clone", copied)
    with pytest.raises(CheckpointError, match="weights that its model has not"):
        read_model_file(tmp_path / "model.pt")


def test_what_is_no_count():
    assert not any(map(count_of, [-1, True, 2**63, 10**600, 1.0, "1", None]))
    assert count_of(2**63 - 1) == 2**63 - 1
