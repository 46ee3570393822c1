from dataclasses import replace

import pytest

from ifmixup.study.baselines import Baseline
from ifmixup.study.comparison import Comparison
from stored_runs import records_of, result, study_of

agg = pytest.importorskip("matplotlib.backends.backend_agg")


def test_baselines_with_nearly_the_same_mean_have_names_that_can_be_read():
    study = study_of(("gin",), ("none", "ifmixup"), folds=5)
    guesses = [
        Baseline(name, "MUTAG", {"accuracy": ((0, 0, mean),)})
        for name, mean in {"majority class": 0.66, "random forest": 0.6601}.items()
    ]
    study = replace(study, baselines=tuple(guesses))
    records = records_of(study, lambda run, _: result([0.7, 0.7], validation=[0.5, 0.5]))
    figure = Comparison(study, list(records.values())).plot()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["majority class", "random forest"]
    agg.FigureCanvasAgg(figure).draw()
    first, second = (text.get_window_extent() for text in legend.get_texts())
    assert first.x1 < second.x0
    lines = [line for line in figure.axes[0].lines if line.get_label() in ("majority class",)]
    assert lines[0].get_xdata()[0] == pytest.approx(66)
