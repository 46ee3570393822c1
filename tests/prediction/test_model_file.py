import copy

import pytest
import torch

from ifmixup.errors import CheckpointError
from ifmixup.prediction.model_file import count_of, read_model_file
from ifmixup.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ifmixup.training.fit import train
from own_classes import Net
from tiny import parts
from user_classes import TableNet


class WideNet(Net):
    """Its memory grows with the square of its width."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 8) -> None:
        super().__init__(in_channels, out_channels, width)
        self.middle = torch.nn.Linear(width, width)


def saved_model(folder, mutag, *of, **options):
    path = folder / "model.pt"
    return path, train(*parts(*of, epochs=1, **options), mutag, train=torch.arange(188), save=path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, mutag):
    return saved_model(tmp_path_factory.mktemp("model"), mutag, "gcn", hidden_channels=4)


def test_there_and_back(saved):
    path, trainer = saved
    file = read_model_file(path)
    assert file.settings == trainer.settings
    assert (file.model, file.method) == (trainer.model_spec, trainer.method_spec)
    assert file.epochs == 1
    assert file.data["name"] == "MUTAG"
    found = file.build().state_dict()
    for name, weights in trainer.model.state_dict().items():
        assert torch.equal(found[name], weights)
    assert not any(weights.is_meta for weights in found.values())


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
    elif kind == "setting":
        about["settings"]["batch_size"] = "large"
    elif kind == "option":
        about["model"]["options"]["hidden_channels"] = "wide"
    elif kind == "unknown option":
        about["model"]["options"]["width"] = 3
    elif kind == "layers":
        about["model"]["options"]["num_layers"] = 10**9
    elif kind == "width":
        about["model"]["options"]["hidden_channels"] = 10**6
    elif kind == "no method":
        del about["method"]
    elif kind == "another class":
        about["model"]["target"] = "ifmixup.nn:GIN"
    elif kind == "class is text":
        about["model"] = "gcn"
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
        ("setting", "batch_size must be int; got 'large'"),
        ("option", "hidden_channels of gcn must be int; got 'wide'"),
        ("unknown option", "Unknown option of model 'gcn' 'width'"),
        ("layers", "its num_layers is 1000000000, but its weights are smaller"),
        ("width", "its hidden_channels is 1000000, but its weights are smaller"),
        ("no method", "it has no 'method'"),
        ("another class", "weights that its model does not have"),
        ("class is text", "'gcn' is not an object"),
        ("missing", "are missing"),
        ("more", "it has weights that its model does not have: ['more']"),
        ("metric", "Unknown metric 'beauty'"),
        ("metric of another task", "does not fit the task 'classes'"),
        ("metric is a list", "its metric is ['accuracy']"),
        ("endless number", "its epochs is too large a number"),
        ("endless rate", "learning_rate must be float; got inf"),
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


TARGETS = ["os:system", "ifmixup.errors:InputError", "ifmixup.nn:Nothing", "nowhere"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_class_that_is_not_a_model_of_ifmixup(saved, tmp_path, target):
    checkpoint = load_checkpoint(saved[0])
    checkpoint.about["model"]["target"] = target
    save_checkpoint(tmp_path / "model.pt", checkpoint)
    with pytest.raises(CheckpointError, match=r"not a model of ifmixup|Unknown model"):
        read_model_file(tmp_path / "model.pt")


def test_the_method_need_not_be_known(saved, tmp_path):
    checkpoint = load_checkpoint(saved[0])
    checkpoint.about["method"] |= {"target": "ifmixup.augment:Gone", "options": {"width": 3}}
    save_checkpoint(tmp_path / "model.pt", checkpoint)
    assert read_model_file(tmp_path / "model.pt").method.class_name == "Gone"


@pytest.mark.parametrize(
    ("cls", "option", "value", "message"),
    [
        (Net, "width", 10**12, "its width is 1000000000000, but its weights are smaller"),
        (Net, "depth", 10**12, "its depth is 1000000000000, but its weights are smaller"),
        (Net, "depth", 10**6, "its options ask for a larger model than its weights are"),
        (TableNet, "width", 10**6, r"not torch.float32 \[1000000, 7\]"),
        (WideNet, "width", 10**6, "its options ask for a larger model than its weights are"),
    ],
)
def test_a_small_file_does_not_build_a_large_model_of_a_users_class(
    mutag, tmp_path, cls, option, value, message
):
    path, _ = saved_model(tmp_path, mutag, cls)
    checkpoint = load_checkpoint(path)
    checkpoint.about["model"]["options"][option] = value
    save_checkpoint(path, checkpoint)
    with pytest.raises(CheckpointError, match=message):
        read_model_file(path).build()


def test_an_error_of_a_users_class_is_the_users(mutag, tmp_path, monkeypatch):
    path, _ = saved_model(tmp_path, mutag, Net)

    def broken(self, *_, **__):
        raise ValueError("no such width")

    monkeypatch.setattr(Net, "__init__", broken)
    with pytest.raises(CheckpointError, match=r"Net.* failed: ValueError: no such width") as error:
        read_model_file(path).build()
    assert "damaged" not in str(error.value)


def test_weights_that_are_too_many_are_not_copied(saved, tmp_path, monkeypatch):
    checkpoint = load_checkpoint(saved[0])
    checkpoint.state["model"]["more"] = torch.zeros(1).expand(10**9)
    save_checkpoint(tmp_path / "model.pt", checkpoint)

    def copied(tensor, **_):
        raise AssertionError(f"{tensor.numel()} numbers were copied")

    monkeypatch.setattr(torch.Tensor, "clone", copied)
    with pytest.raises(CheckpointError, match="more is larger than the file"):
        read_model_file(tmp_path / "model.pt")


def test_what_is_no_count():
    assert not any(map(count_of, [-1, True, 2**63, 10**600, 1.0, "1", None]))
    assert count_of(2**63 - 1) == 2**63 - 1
