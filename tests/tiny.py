"""Tiny trainings: settings, a model and a method by their names."""

from ifmixup.components import resolve, set_options
from ifmixup.training.settings import Settings, setting_types

SMALL = {"hidden_channels": 8, "num_layers": 2}
SMALL |= {"matcher_channels": 4, "matcher_layers": 1, "matcher_epochs": 1}  # of s_mixup


def parts(model="gcn", method="none", **changes):
    """Settings and the specs of both classes; ``changes`` are settings, or options of either."""
    own = {name: changes.pop(name) for name in list(changes) if name in setting_types()}
    found = [resolve("model", model), resolve("method", method)]
    unknown = [name for name in changes if not any(each.takes(name) for each in found)]
    assert not unknown, f"neither {model} nor {method} takes {unknown}"
    model, method = set_options(found, {**SMALL, **changes})
    return Settings(**{"epochs": 3, **own}), model.spec, method.spec
