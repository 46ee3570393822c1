"""Which metrics are measured: ours, scikit-learn's scorers, and functions of the user's.

Each is described by a :class:`~ifmixup.components.ClassSpec` of plain values, as models and methods
are: ``ifmixup.training.metrics:f1_macro``, ``sklearn.metrics:f1`` or ``costs.py:cost``, the last
with the digest of its code. Ours are measured in every run. The others are part of a run's key,
because a run has them only if it was asked for them.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from ifmixup.components import ClassSpec, adopt, find_class, foreign, split_text, user_code
from ifmixup.data.dataset import ALIASES, METRICS, check_metric
from ifmixup.errors import ComponentError, InputError, InputTypeError, known_name, unknown_name
from ifmixup.source_code import load_named, source_digest
from ifmixup.training.metrics import nan_mean
from ifmixup.training.packed import PackedDataset
from ifmixup.training.scaling import Scaling
from ifmixup.training.task import BESIDE, OURS, check_metric_name, check_metric_spec, is_ours
from ifmixup.values import parse, short

NEEDS = ("pred", "proba")
_SCORERS = "sklearn.metrics:"
_MOST_TRIED = 10_000  # graphs that a metric is tried on before the first run


@dataclass(frozen=True)
class Metric:
    """Your own metric: a function of NumPy arrays ``(y_true, y_pred) -> float``.

    For classes, ``y_true`` has class numbers ``[B]``; for values, the values ``[B]`` in their
    original units. For several labels or values, the function is called per column, on the graphs
    where it is known, and the mean is reported. It should return NaN where it is not defined.

    Args:
        name: Name in tables.
        function: The function, defined by ``def`` in a file, a script or a notebook.
        higher_is_better: False for an error or a cost.
        needs: What its second argument is. ``"pred"``: class numbers, or values. ``"proba"``:
            probabilities, of the second class ``[B]`` for two classes and for labels, else of all
            classes ``[B, C]``, as in scikit-learn's scorers.

    Example:
        >>> def missed(y_true, y_pred):
        ...     return ((y_true == 1) & (y_pred == 0)).mean()
        >>> Metric("missed", missed, higher_is_better=False).needs
        'pred'
    """

    name: str
    function: Callable[[Any, Any], float] = field(compare=False)
    _: KW_ONLY
    higher_is_better: bool = True
    needs: str = "pred"

    def __post_init__(self) -> None:
        check_metric_name(self.name)
        known_name("needs", self.needs, NEEDS)
        if not inspect.isfunction(self.function):
            raise InputTypeError(
                f"The metric {self.name!r} needs a function that is defined by def; got "
                f"{type(self.function).__name__}: {short(self.function)}."
            )

    def spec(self, stored: str | None = None) -> ClassSpec:
        """What it is, as plain values; the function can then be found by it."""
        options = (("higher_is_better", bool(self.higher_is_better)), ("needs", self.needs))
        target = stored or f"{self.function.__module__}:{self.function.__qualname__}"
        spec = ClassSpec(self.name, target, options, source_digest(self.function))
        adopt(spec, self.function)
        return spec


def resolve_metrics(given: Any, data: PackedDataset) -> list[ClassSpec]:
    """Find metrics, each once; the first decides.

    Args:
        given: None for the dataset's own, a metric, or several: a name of ours or of one of
            scikit-learn's scorers, a :class:`Metric`, a function of which more is better,
            ``"scores.py:score"`` or ``"package.module:score"``, which names a function or a
            :class:`Metric`, with options where it needs them:
            ``"costs.py:cost(higher_is_better=false,needs=proba)"``.
        data: The dataset, whose task they have to fit.
    """
    if given is None or (isinstance(given, Sequence) and not given):
        given = data.metric
    several = given if isinstance(given, list | tuple) else [given]
    found: dict[str, ClassSpec] = {}
    for each in several:
        spec = _resolve(each, data.task)
        if found.setdefault(spec.name, spec) != spec:
            raise InputError(
                f"Two metrics are called {spec.name!r}. Give one of them another name: "
                f"Metric('other', ...) or 'other={spec.target}'."
            )
    for spec in found.values():
        check_metric_spec(spec)
        if not is_ours(spec):
            _try_out(spec, data)
    return list(found.values())


def shown(metrics: Sequence[ClassSpec], task: str) -> tuple[str, ...]:
    """The names of metrics, and of the one that stands beside whichever decides."""
    return tuple(dict.fromkeys([*(spec.name for spec in metrics), BESIDE[task]]))


def to_measure(
    metrics: Sequence[ClassSpec], task: str, *, curve: bool = True
) -> tuple[ClassSpec, ...]:
    """What a run has to be asked for: the metric of its curves, then those that are not ours.

    It is empty where every run of the task has all, so such runs are never run again for another
    metric. ``curve`` says whether the first metric is needed after every epoch.
    """
    usual = ours(METRICS[task][0])
    first = metrics[0] if curve else usual
    others = [spec for spec in metrics if not is_ours(spec) and spec != first]
    return () if first == usual and not others else (first, *others)


def measure(spec: ClassSpec, out: Tensor, y: Tensor, task: str, scaling: Scaling | None) -> float:
    """A metric that is not ours, of what a model gave.

    Args:
        spec: The metric.
        out: Logits ``[B, C]`` or ``[B, T]``, or values ``[B, T]`` as the model gives them.
        y: Class numbers ``[B]`` or rows ``[B, T]``, standardised as ``out`` is.
        task: The task.
        scaling: What ``out`` and ``y`` were standardised by; None where they were not.
    """
    out, y = out.detach().cpu().double(), y.cpu()
    if task == "classes":
        return _call(spec, y.numpy(), out.softmax(1).numpy(), task)
    if task == "labels":
        out = out.sigmoid()
    elif scaling is not None:
        cpu = Scaling(*(each.cpu().double() for each in vars(scaling).values()))
        out, y = cpu.outputs(out), cpu.outputs(y.double())
    values = []
    for column in range(y.size(1)):
        known = ~y[:, column].isnan()
        if not bool(known.any()):
            continue
        given, truth = out[known, column].numpy(), y[known, column].numpy()
        if task == "labels":
            given, truth = np.stack([1 - given, given], 1), truth.astype(np.int64)
        values.append(_call(spec, truth, given, task))
    return nan_mean(values)


def _call(spec: ClassSpec, y: Any, given: Any, task: str) -> float:
    """The metric of class numbers and probabilities ``[B, C]``, or of values ``[B]``."""
    if not foreign(spec):
        return _score(spec, y, given, task)
    function: Any = find_class("metric", spec)
    if task != "values":
        proba = given[:, 1] if given.shape[1] == 2 else given
        given = proba if dict(spec.options)["needs"] == "proba" else given.argmax(1)
    with user_code(f"The metric {spec.name}", function):
        found = function(y, given)
        try:
            return float(found)
        except (TypeError, ValueError) as error:
            raise ComponentError(
                f"The metric {spec.name} has to return one number; got {short(found)}."
            ) from error


def _score(spec: ClassSpec, y: Any, given: Any, task: str) -> float:
    """What a scorer of scikit-learn gives; NaN where it is not defined on these graphs."""
    from sklearn.metrics import get_scorer

    from ifmixup.training.fixed_estimators import FixedClassifier, FixedRegressor

    estimator = FixedRegressor(given) if task == "values" else FixedClassifier(given)
    name = spec.class_name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = float(get_scorer(name)(estimator, np.zeros((len(y), 1)), y))
        except ValueError:  # such as a class that these graphs do not have
            return math.nan
    return -value if name.startswith("neg_") else value


def _try_out(spec: ClassSpec, data: PackedDataset) -> None:
    """Check before the first run that a metric that is not ours works on these targets."""
    y = data.y[:_MOST_TRIED].cpu()
    if data.task == "classes":
        out = 2 * F.one_hot(y, data.num_outputs).double()
    else:
        out = y.nan_to_num().double()
    value = measure(spec, out, y, data.task, None)
    if math.isnan(value) and not foreign(spec):
        raise InputError(
            f"The scorer {spec.class_name!r} of scikit-learn is not defined on {data.name}, which "
            f"has {data.num_outputs} {data.task}. Choose another one, such as "
            f"{', '.join(METRICS[data.task])}."
        )


def _resolve(given: Any, task: str) -> ClassSpec:
    if isinstance(given, ClassSpec):
        return given
    if isinstance(given, Metric):
        return given.spec()
    if inspect.isfunction(given):
        return _plain(given).spec()
    if not isinstance(given, str):
        raise InputTypeError(
            f"A metric is a name ({', '.join(METRICS[task])}, or one of scikit-learn's scorers), "
            f"an ifmixup.Metric, a function, or text such as 'scores.py:score'; got "
            f"{type(given).__name__}: {short(given)}."
        )
    if ":" in given:
        return _of_text(given)
    if given in {**ALIASES, **{name: name for names in METRICS.values() for name in names}}:
        return ours(check_metric(given, task))
    from sklearn.metrics import get_scorer_names

    scorers = get_scorer_names()
    if given not in scorers:
        raise unknown_name("metric", given, [*METRICS[task], *scorers])
    higher = not given.startswith("neg_")
    options = (("higher_is_better", higher),)
    return ClassSpec(given.removeprefix("neg_"), f"{_SCORERS}{given}", options)


def _of_text(text: str) -> ClassSpec:
    """The metric of ``"costs.py:cost(higher_is_better=false)"``."""
    label, target, typed = split_text("metric", text)
    found, stored = load_named(target, "metric", "function", _is_metric)
    typed_way = "higher_is_better" in typed
    metric = found if isinstance(found, Metric) else _plain(found, asks=not typed_way)
    values = {name: getattr(metric, name) for name in _OPTIONS}
    for name, value in typed.items():
        hint = _OPTIONS[known_name("option", name, _OPTIONS)]
        values[name] = parse(f"The option {name} of {target}", value, hint)
    name = metric.name if label is None else label
    # A Metric may be named otherwise than its function, which is what is found again.
    return Metric(name, metric.function, **values).spec(None if found is metric else stored)


def _plain(function: Callable[[Any, Any], float], *, asks: bool = True) -> Metric:
    """The metric of a function alone, of which more is better unless its name says otherwise."""
    name = function.__name__
    if not name.isidentifier():
        raise InputTypeError(
            "A metric needs a name for tables: ifmixup.Metric('cost', function), with a function "
            "that is defined by def; got a lambda."
        )
    if asks and any(word in name.lower() for word in _ERRORS):
        raise InputError(
            f"Is a higher {name} better? By default it is, but the name suggests otherwise. Say "
            f"which: ifmixup.Metric({name!r}, {name}, higher_is_better=False), or on the command "
            f"line 'FILE.py:{name}(higher_is_better=false)'."
        )
    return Metric(name, function)


def _is_metric(value: Any) -> bool:
    return isinstance(value, Metric) or inspect.isfunction(value)


_ERRORS = ("error", "loss", "cost", "deviance", "deviation", "distance", "divergence")
"""What the names of metrics have of which less is usually better."""

_OPTIONS: dict[str, Any] = {"higher_is_better": bool, "needs": str}


def ours(name: str) -> ClassSpec:
    """One of our metrics."""
    return ClassSpec(name, f"{OURS}{name}")
