"""What classifiers and regressors of graphs share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data import FeatureEncoder
from ifmixup.data.pyg import as_graphs
from ifmixup.errors import InputError, InputTypeError
from ifmixup.prediction.predictor import Predictor
from ifmixup.training import PackedDataset, Settings, pack, train
from ifmixup.training.epoch_bar import epoch_bar

_SETTINGS = tuple(field.name for field in fields(Settings))


class GraphEstimator(BaseEstimator):
    """The parameters, training, and asking the model that was trained."""

    def __init__(
        self,
        model: str = "gin",
        method: str = "ifmixup",
        *,
        epochs: int = 350,
        learning_rate: float = 0.01,
        halve_every: int = 50,
        weight_decay: float = 0.0,
        batch_size: int = 32,
        hidden: int = 64,
        layers: int = 5,
        dropout: float = 0.5,
        readout: str = "sum",
        norm: str = "batch",
        jk: str = "last",
        steps_per_epoch: int | None = None,
        heads: int = 1,
        use_edge_attr: bool = False,
        alpha: float = 20.0,
        beta: float = 1.0,
        p: float = 1.0,
        ratio: str = "pair",
        pairing: str = "random",
        shuffle_every: int | None = None,
        drop_ratio: float = 0.2,
        mask_ratio: float = 0.2,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 50,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        progress: bool = False,
    ) -> None:
        # scikit-learn's rule: kept as given, and looked at in fit.
        self.model = model
        self.method = method
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.halve_every = halve_every
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.hidden = hidden
        self.layers = layers
        self.dropout = dropout
        self.readout = readout
        self.norm = norm
        self.jk = jk
        self.steps_per_epoch = steps_per_epoch
        self.heads = heads
        self.use_edge_attr = use_edge_attr
        self.alpha = alpha
        self.beta = beta
        self.p = p
        self.ratio = ratio
        self.pairing = pairing
        self.shuffle_every = shuffle_every
        self.drop_ratio = drop_ratio
        self.mask_ratio = mask_ratio
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state
        self.device = device
        self.progress = progress

    def _train(
        self,
        given: Any,
        graphs: Sequence[Data],
        targets: Tensor,
        task: str,
        classes: NDArray[np.int64] | None = None,
    ) -> None:
        """Train, and keep what scikit-learn and prediction ask for.

        Args:
            given: The graphs as the user gave them.
            graphs: The same as a list.
            targets: A class number or a row of values for each, ``[B]`` or ``[B, T]``.
            task: ``classes`` or ``values``.
            classes: The class numbers, of which each part gets its share; None for values.
        """
        settings = Settings.of({name: getattr(self, name) for name in _SETTINGS})
        if len(graphs) < 2:
            raise InputError("At least two graphs are needed to fit; got 1 sample.")
        # The draws of a run follow from one number, whatever kind of state was given.
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        known = np.ones(len(graphs), dtype=bool)
        if task == "values":
            known = (~targets.isnan()).any(1).numpy()
        kept, held_out = self._hold_out(known, classes, seed)
        with epoch_bar(settings.epochs) if self.progress else nullcontext() as each_epoch:
            training = train(
                settings,
                self._packed(graphs, targets, task),
                train=kept,
                validation=held_out,
                patience=self.patience if self.early_stopping else None,
                seed=seed,
                device=self.device,
                each_epoch=each_epoch,
            )
        self.n_features_in_ = 1 if graphs[0].x.dim() == 1 else int(graphs[0].x.size(1))
        self.n_iter_ = training.epoch
        self.curves_ = training.curves
        self.predictor_ = Predictor.of(training)
        self._encoder = getattr(given, "encoder", None)

    def _ask(self, graphs: Any) -> NDArray[np.float64]:
        """What the trained model says, ``[B, C]`` or ``[B, T]``."""
        check_is_fitted(self)
        encoder = getattr(graphs, "encoder", None)
        if encoder is not None and self._encoder is not None and encoder != self._encoder:
            raise InputError(
                "These graphs were encoded otherwise than those of fit, so that their features do "
                "not mean the same. Load them with encoder=, the encoder of that dataset."
            )
        outputs = self.predictor_.predict(as_graphs(graphs), device=self.device)
        return torch.cat(list(outputs)).numpy()

    def _packed(self, graphs: Sequence[Data], targets: Tensor, task: str) -> PackedDataset:
        """The graphs as a training takes them, with their features encoded."""
        read = ("x", "edge_index", "edge_weight", *(["edge_attr"] if self.use_edge_attr else []))
        # Without what no model reads: it may be there in some graphs only.
        plain = [Data(**{key: graph[key] for key in read if key in graph}) for graph in graphs]
        encoder = FeatureEncoder.fit(plain)
        encoded = encoder.transform(plain)
        for graph, target in zip(encoded, targets.split(1), strict=True):
            graph.y = target
        return replace(pack(encoded, name="graphs", task=task), encoder=encoder.to_dict())

    def _hold_out(
        self, known: NDArray[np.bool_], classes: NDArray[np.int64] | None, seed: int
    ) -> tuple[Tensor, Tensor | None]:
        """The places of the graphs to train on, and of those to choose the epoch by.

        Only those with a ``known`` target can tell which epoch is better.
        """
        total = len(known)
        places = np.arange(total)
        if not self.early_stopping:
            return torch.from_numpy(places), None
        if not 0 < self.validation_fraction < 1:
            raise InputError(
                f"validation_fraction must lie between 0 and 1; got {self.validation_fraction}."
            )
        if not isinstance(self.patience, int | np.integer) or self.patience < 1:
            raise InputError(f"patience must be a number from 1; got {self.patience!r}.")
        judges = places[known]
        if len(judges) < 2:
            raise InputError(
                "early_stopping needs two graphs with a known y: one to train on, and one to "
                "choose the epoch by."
            )
        count = min(max(1, round(total * self.validation_fraction)), len(judges) - 1)
        stratify = None
        if classes is not None:
            # Of every class a share, where there is enough of each to share.
            of_each = np.bincount(classes)
            enough = of_each.min() > 1 and min(count, total - count) >= len(of_each)
            stratify = classes if enough else None
        _, held_out = train_test_split(
            judges, test_size=count, random_state=seed, stratify=stratify
        )
        kept = np.setdiff1d(places, held_out)
        return torch.from_numpy(kept), torch.from_numpy(np.sort(held_out))


def of_graphs(tags: Any) -> Any:
    """The tags of an estimator that takes no matrix, and graphs that may bring their own y."""
    tags.input_tags.two_d_array = False
    tags.target_tags.required = False
    return tags


def refuse(unsupported: dict[str, Any]) -> None:
    """Say that ``fit`` takes nothing else, where something else was given."""
    if unsupported:
        raise InputTypeError(
            f"fit takes graphs and y only; got {', '.join(unsupported)}. Sample weights are not "
            f"supported: a mixed graph comes of two samples."
        )
