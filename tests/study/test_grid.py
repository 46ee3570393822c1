import pytest

from ifmixup.errors import InputError
from ifmixup.study.grid import PAPER_GRID, expand, load_grid
from ifmixup.training import Settings


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
    settings = expand(Settings(model=model, method=method, epochs=7), PAPER_GRID)
    assert len(settings) == len({str(s.relevant()) for s in settings}) == count
    assert {(s.model, s.method, s.epochs) for s in settings} == {(model, method, 7)}


def test_the_papers_values():
    settings = expand(Settings(method="ifmixup"), PAPER_GRID)
    assert {(s.alpha, s.beta) for s in settings} == {(1, 1), (2, 2), (20, 1)}
    assert {s.learning_rate for s in settings} == {0.01, 0.0005}
    assert {s.layers for s in settings} == {3, 5, 8}


def test_the_last_entry_changes_fastest():
    settings = expand(Settings(), {"layers": [3, 5], "hidden": [64, 32]})
    assert [(s.layers, s.hidden) for s in settings] == [(3, 64), (3, 32), (5, 64), (5, 32)]


def test_what_makes_no_difference_is_left_out():
    assert expand(Settings(), {"heads": [1, 2], "alpha": [1.0, 2.0]}) == [Settings()]
    assert [s.heads for s in expand(Settings(model="gat"), {"heads": [1, 2]})] == [1, 2]
    assert expand(Settings(layers=3), {}) == [Settings(layers=3)]


def test_equal_values_are_one_setting():
    settings = expand(Settings(), {"dropout": [0, 0.0, 0.5, 0], "layers": [3, 3]})
    assert [(s.dropout, s.layers) for s in settings] == [(0.0, 3), (0.5, 3)]
    # 0 and 0.0 would have different keys in the store.
    assert [type(s.dropout) for s in settings] == [float, float]


def test_none_is_a_value_where_the_setting_takes_it():
    settings = expand(Settings(), {"steps_per_epoch": [None, 50]})
    assert [s.steps_per_epoch for s in settings] == [None, 50]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"layer": [3]}, "Unknown setting 'layer'. Did you mean 'layers'?"),
        ({"alpha,betta": [[1, 1]]}, "Unknown setting 'betta'. Did you mean 'beta'?"),
        ({3: [3]}, "Unknown setting '3'."),
        ({"method": ["none"]}, "choose them by --methods"),
        ({"layers": 3}, "needs a list of values for 'layers'; got 3"),
        ({"layers": []}, "needs a list of values for 'layers'"),
        ({"jk": "last"}, "needs a list of values for 'jk'; got 'last'"),
        ({"layers": [3.0]}, "needs int for 'layers'; got 3.0"),
        ({"layers": ["3"]}, "needs int for 'layers'; got '3'"),
        ({"layers": [True]}, "needs int for 'layers'; got True"),
        ({"dropout": ["much"]}, "needs float for 'dropout'; got 'much'"),
        ({"dropout": [float("nan")]}, "needs float for 'dropout'; got nan"),
        ({"dropout": [False]}, "needs float for 'dropout'; got False"),
        ({"learning_rate": [10**400]}, "needs float for 'learning_rate'"),
        ({"steps_per_epoch": ["all"]}, "needs int or None for 'steps_per_epoch'"),
        ({"alpha,beta": [1, 2]}, "needs lists of 2 values for 'alpha,beta'"),
        ({"alpha,beta": [[1, 2, 3]]}, "needs lists of 2 values"),
        ({"alpha,beta": ["ab"]}, "needs lists of 2 values"),
        ({"alpha": [1], "alpha,beta": [[1, 1]]}, "has 'alpha' in two entries"),
        ({"dropout": [1.5]}, "dropout"),
        ({"layers": list(range(1, 102)), "hidden": list(range(1, 101))}, "more than 10000"),
    ],
)
def test_grids_that_cannot_be_used(grid, message):
    with pytest.raises(InputError) as error:
        expand(Settings(method="ifmixup"), grid)
    assert message in str(error.value)


TOML = """
layers = [3, 5, 3]
learning_rate = [0.01, 5e-4]
"alpha, beta" = [[1, 1], [20, 1]]
"""
YAML = """
layers: [3, 5, 3]
learning_rate: [0.01, 5e-4]
alpha, beta: [[1, 1], [20, 1]]
"""


@pytest.mark.parametrize(("name", "text"), [("g.toml", TOML), ("g.yaml", YAML), ("g.yml", YAML)])
def test_from_a_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    grid = load_grid(tmp_path / name)
    assert grid == {
        "layers": [3, 5],
        "learning_rate": [0.01, 0.0005],
        "alpha,beta": [(1.0, 1.0), (20.0, 1.0)],
    }
    assert list(grid) == ["layers", "learning_rate", "alpha,beta"]
    assert len(expand(Settings(method="ifmixup"), grid)) == 8


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.json", "{}", "A grid is a .toml, .yaml or .yml file"),
        ("g.toml", "layers = ", "is not TOML"),
        ("g.yaml", "layers: [", "is not YAML"),
        ("g.yaml", "!!python/object/apply:os.getcwd []", "is not YAML"),
        ("g.yaml", "- 3", "must hold lists by name"),
        ("g.yaml", "", "must hold lists by name"),
        ("g.yaml", "layes: [3]", "Did you mean 'layers'?"),
        ("g.toml", "[grid]\nlayers = [3]", "Unknown setting 'grid'"),
    ],
)
def test_files_that_are_no_grid(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        load_grid(tmp_path / name)
    assert message in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_grid(tmp_path / "g.toml")


def test_a_value_too_large_to_print(tmp_path):
    inner = "&a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"
    for depth in range(1, 13):
        again = ", ".join([f"*a{depth - 1}"] * 8)
        inner = f"&a{depth} [{inner}, {again}]"  # nine times as many ones, for a few letters
    (tmp_path / "g.yaml").write_text(f"layers: {inner}")
    with pytest.raises(InputError, match="needs int for 'layers'") as error:
        load_grid(tmp_path / "g.yaml")
    assert len(str(error.value)) < 500
