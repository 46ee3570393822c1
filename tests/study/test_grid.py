import pytest

from ifmixup.components import resolve, with_options
from ifmixup.errors import InputError
from ifmixup.study.grid import PAPER_GRID, check_grid, check_names, expand, load_grid, without_set
from ifmixup.training.settings import Settings
from own_classes import Net, Noise


def expanded(grid, model="gcn", method="none", **settings):
    """The settings and options of each candidate, in one mapping."""
    found = expand(Settings(**settings), resolve("model", model), resolve("method", method), grid)
    return [each.values() for each in found]


def values(found, *names):
    return [tuple(each[name] for name in names) for each in found]


@pytest.mark.parametrize(
    ("method", "count"),
    [
        ("none", 48),
        ("attribute_masking", 48),
        ("drop_edge", 96),
        ("drop_node", 96),
        ("ifmixup", 144),
        ("mixup_graph", 144),
    ],
)
@pytest.mark.parametrize("model", ["gcn", "gatv2"])
def test_the_papers_grid(model, method, count):
    found = expanded(PAPER_GRID, model, method, epochs=7)
    assert len(found) == len({str(each) for each in found}) == count
    assert {each["epochs"] for each in found} == {7}


def test_the_papers_values():
    found = expanded(PAPER_GRID, method="ifmixup")
    assert set(values(found, "alpha", "beta")) == {(1, 1), (2, 2), (20, 1)}
    assert {each["learning_rate"] for each in found} == {0.01, 0.0005}
    assert {each["num_layers"] for each in found} == {3, 5, 8}
    assert {each["hidden_channels"] for each in found} == {64, 128}


def test_the_last_entry_changes_fastest():
    found = expanded({"num_layers": [3, 5], "hidden_channels": [64, 32]})
    assert values(found, "num_layers", "hidden_channels") == [(3, 64), (3, 32), (5, 64), (5, 32)]


def test_what_neither_class_has_is_left_out():
    assert expanded({"heads": [1, 2], "alpha": [1.0, 2.0]}) == expanded({})
    assert values(expanded({"heads": [1, 2]}, "gat"), "heads") == [(1,), (2,)]
    assert len(expanded({})) == 1


def test_options_of_ones_own_classes():
    found = expanded({"width": [4, 8], "std": [0.1, 1]}, Net, Noise)
    assert values(found, "width", "std") == [(4, 0.1), (4, 1.0), (8, 0.1), (8, 1.0)]


def test_an_option_that_both_classes_have_is_set_in_both():
    class Both(Noise):
        def __init__(self, num_classes=None, *, width: int = 1, generator=None):
            super().__init__(num_classes, generator=generator)

    found = expand(Settings(), resolve("model", Net), resolve("method", Both), {"width": [3, 5]})
    pairs = [(dict(c.model.options)["width"], dict(c.method.options)["width"]) for c in found]
    assert pairs == [(3, 3), (5, 5)]


def test_equal_values_are_one_setting():
    found = expanded({"dropout": [0, 0.0, 0.5, 0], "num_layers": [3, 3]})
    assert values(found, "dropout", "num_layers") == [(0.0, 3), (0.5, 3)]
    # 0 and 0.0 would have different keys in the store.
    assert [type(each["dropout"]) for each in found] == [float, float]


def test_none_is_a_value_where_the_setting_takes_it():
    found = expanded({"steps_per_epoch": [None, 50]})
    assert values(found, "steps_per_epoch") == [(None,), (50,)]


class Needs(Net):
    def __init__(self, in_channels, out_channels, depth: int, width: int):
        super().__init__(in_channels, out_channels, width, depth)


def test_an_option_without_a_default_must_be_given_somewhere():
    with pytest.raises(InputError, match="model 'Needs' needs the option 'depth'"):
        expanded({}, Needs)
    with pytest.raises(InputError, match="needs the option 'width'"):
        expanded({"depth": [1, 2]}, Needs)
    assert len(expanded({"depth,width": [[1, 4], [2, 8]]}, Needs)) == 2
    assert len(expanded({"depth": [1, 2]}, with_options(Needs, width=3))) == 2


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"method": ["none"]}, "choose them by --models and --methods"),
        ({"models": ["gcn"]}, "choose them by --models and --methods"),
        ({"num_layers": 3}, "needs a list of values for 'num_layers'; got 3"),
        ({"num_layers": []}, "needs a list of values for 'num_layers'"),
        ({"jk": "last"}, "needs a list of values for 'jk'; got 'last'"),
        ({"num_layers": [3.0]}, "num_layers of gcn must be int; got 3.0"),
        ({"num_layers": ["3"]}, "num_layers of gcn must be int; got '3'"),
        ({"num_layers": [True]}, "num_layers of gcn must be int; got True"),
        ({"dropout": ["much"]}, "dropout of gcn must be float; got 'much'"),
        ({"dropout": [float("nan")]}, "got nan"),
        ({"dropout": [False]}, "dropout of gcn must be float; got False"),
        ({"epochs": [2.5]}, "epochs in the grid must be int; got 2.5"),
        ({"learning_rate": [10**400]}, "learning_rate in the grid must be float"),
        ({"steps_per_epoch": ["all"]}, "steps_per_epoch in the grid must be int or None"),
        ({"alpha,beta": [1, 2]}, "needs lists of 2 values for 'alpha,beta'"),
        ({"alpha,beta": [[1, 2, 3]]}, "needs lists of 2 values"),
        ({"alpha,beta": ["ab"]}, "needs lists of 2 values"),
        ({"alpha": [1], "alpha,beta": [[1, 1]]}, "has 'alpha' in two entries"),
        ({"num_layers": list(range(1, 102)), "batch_size": list(range(1, 101))}, "than 10000"),
    ],
)
def test_grids_that_cannot_be_used(grid, message):
    with pytest.raises(InputError) as error:
        expanded(grid, method="ifmixup")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("num_layer", "Did you mean 'num_layers'?"),
        ("betta", "Did you mean 'beta'?"),
        ("widht", "Did you mean 'width'?"),
        ("learning_rat", "Did you mean 'learning_rate'?"),
        ("heads", "option of gcn, Net, ifmixup: 'heads'"),
    ],
)
def test_a_name_that_nothing_has(name, message):
    components = [resolve("model", "gcn"), resolve("model", Net), resolve("method", "ifmixup")]
    check_names(["epochs", "num_layers", "width", "alpha"], components)
    with pytest.raises(InputError) as error:
        check_names([name], components)
    assert message in str(error.value)


TOML = """
num_layers = [3, 5, 3]
learning_rate = [0.01, 5e-4]
"alpha, beta" = [[1, 1], [20, 1]]
"""
YAML = """
num_layers: [3, 5, 3]
learning_rate: [0.01, 5e-4]
alpha, beta: [[1, 1], [20, 1]]
"""


@pytest.mark.parametrize(("name", "text"), [("g.toml", TOML), ("g.yaml", YAML), ("g.yml", YAML)])
def test_from_a_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    grid = load_grid(tmp_path / name)
    assert list(check_grid(grid)) == [("num_layers",), ("learning_rate",), ("alpha", "beta")]
    found = expanded(grid, method="ifmixup")
    assert len(found) == 8
    assert values(found, "num_layers", "learning_rate", "alpha", "beta")[:3] == [
        (3, 0.01, 1.0, 1.0),
        (3, 0.01, 20.0, 1.0),
        (3, 0.0005, 1.0, 1.0),
    ]
    assert load_grid(str(tmp_path / name)) == grid


def test_other_grids():
    assert load_grid(None) == {}
    assert load_grid("paper") is PAPER_GRID
    assert load_grid({"epochs": [1]}) == {"epochs": [1]}


def test_files_that_are_no_grid(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_grid(tmp_path / "g.toml")
    (tmp_path / "g.yaml").write_text("num_layers: [3")
    with pytest.raises(InputError, match="YAML"):
        load_grid(tmp_path / "g.yaml")
    (tmp_path / "g.toml").write_text("[grid]\nnum_layers = [3]")
    with pytest.raises(InputError, match="needs a list of values for 'grid'"):
        expanded(load_grid(tmp_path / "g.toml"))


def test_a_value_too_large_to_print():
    with pytest.raises(InputError, match="num_layers of gcn must be int") as error:
        expanded({"num_layers": [tuple(range(10**5))]})
    assert len(str(error.value)) < 500


def test_what_is_set_is_not_searched():
    grid = {"num_layers": [3, 5], "alpha, beta": [(1.0, 1.0)], "dropout": [0.0]}
    assert list(without_set(grid, ["num_layers", "beta"])) == ["dropout"]
    assert without_set(grid, ["learning_rate"]) == grid
