import pytest

from ifmixup.data import NAMES
from ifmixup.paper.experiments import EXPERIMENTS, WHOLE_NODES
from ifmixup.paper.published import Published, published, published_statistics


def test_some_numbers_as_the_paper_prints_them():
    assert published("gcn")["MUTAG", "ifmixup"] == Published(0.879, 0.003)
    assert published("gin")["NCI1", "none"] == Published(0.818, 0.009)
    assert published("gat")["ENZYMES", "gatv2"] == Published(0.477, 0.021)
    assert published("pairing")["NCI109", "self-paired, shuffling"] == Published(0.806, 0.003)
    assert published("gcn")["IMDB-MULTI", "drop_edge"].std is None  # misprinted
    assert published_statistics()["PTC_MR"]["graphs"] == 334


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_every_table_has_a_number_for_every_cell_and_no_other(experiment):
    names = [v.name for v in experiment.variants if v.name != WHOLE_NODES]  # has ifMixup's
    cells = {(dataset, name) for dataset in experiment.datasets for name in names}
    found = published(experiment.name)
    assert set(found) == (set() if experiment.is_figure or experiment.ours else cells)
    assert all(0.4 < cell.mean < 1 for cell in found.values())


def test_the_statistics_are_of_the_eight_datasets():
    assert set(published_statistics()) == set(NAMES)
