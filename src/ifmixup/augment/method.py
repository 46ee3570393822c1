"""The base of every method, ours and the user's: what happens to the training graphs."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from ifmixup.batch import from_batch, labels, to_batch
from ifmixup.components import METHODS
from ifmixup.errors import InputError, InputTypeError
from ifmixup.graphs import Graphs, cut, select, split

if TYPE_CHECKING:
    from ifmixup.nn.inputs import GraphsModel

M = TypeVar("M", bound="Method")

#: The loss of logits ``[B, C]`` and label rows ``[B, C]``, such as ``F.cross_entropy``. One with a
#: true attribute ``reads_y_weight`` is also given ``y_weight``, where labels may be missing.
Criterion = Callable[..., Tensor]

# What a method of one's own does not override, and what it overrides instead.
_MADE_OF = {"plan": "draw", "augment": "change", "prepare": "change", "_prepare": "change"}


@METHODS.register("none")
class Method(nn.Module):
    """Base class of all methods; as the method ``none``, it does not change the graphs.

    Your own method derives from this class and overrides :meth:`draw`, which draws random numbers,
    and :meth:`change`, which is deterministic; if needed, also :meth:`fit`, :meth:`start_epoch` and
    :meth:`loss`. These work on :class:`~ifmixup.graphs.Graphs`. Calling the method, :meth:`plan`
    and :meth:`augment` work on a PyG ``Batch``. The input is never changed::

        class Noise(Method):
            def __init__(self, num_classes=None, *, std: float = 0.1, generator=None):
                super().__init__(num_classes, generator=generator)
                self.std = std

            def draw(self, graphs):
                x = graphs.nodes["x"]
                return torch.randn(x.shape, generator=self.generator).to(x)

            def change(self, graphs, plan):
                x = graphs.nodes["x"] + self.std * plan
                return replace(graphs, nodes={**graphs.nodes, "x": x})

    A class that overrides ``draw``, ``change`` or ``loss`` has :attr:`keeps_undirected` and
    :attr:`per_graph` False, unless it says otherwise.

    Args:
        num_classes: Number of classes C; None if ``y`` is float rows already.
        generator: Random number generator; by default torch's global one.
    """

    #: How papers write the method's name.
    title: ClassVar[str] = "none"
    #: Whether graphs whose edges are sorted by source and have their mirror images stay such.
    keeps_undirected: ClassVar[bool] = True
    #: Whether a graph's change depends on no other graph: then several batches are drawn for and
    #: changed together.
    per_graph: ClassVar[bool] = True
    #: Whether only a model that reads ``edge_weight`` can learn from the changed graphs.
    weights_edges: ClassVar[bool] = False
    #: What :meth:`loss` needs of the model: ``"embed"`` (and ``classify``) or ``"encode"``.
    requires: ClassVar[frozenset[str]] = frozenset()
    #: Options that the representation shows even where they have their default.
    shown: ClassVar[tuple[str, ...]] = ()

    #: Whether a model that takes ``node_weight`` is given it.
    node_weight: bool = True
    #: Whether an edge may occur twice, because the model adds weights up; a training sets it.
    repeated_edges: bool = False
    #: The number of epochs, where it is known; a training sets it.
    num_epochs: int | None = None
    #: What :meth:`fit` may call with the share of its work that is done; a training sets it.
    fit_progress: Callable[[float], None] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        for name, instead in _MADE_OF.items():
            if name in own and not cls.__module__.startswith("ifmixup."):
                raise InputTypeError(
                    f"{cls.__name__} overrides {name}, which is the same for all methods. Override "
                    f"{instead}, which works on Graphs."
                )
        if {"draw", "change", "loss"} & own.keys():
            for name in ("keeps_undirected", "per_graph"):
                if name not in own:
                    setattr(cls, name, False)
        if "loss" in own:
            cls.loss = _of_graphs_model(cls.loss)  # type: ignore[method-assign]
        if "fit" in own:
            cls.fit = _of_training_graphs(cls.fit)  # type: ignore[method-assign]

    def __init__(
        self, num_classes: int | None = None, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.generator = generator

    def fit(self: M, graphs: Any, *, seed: int = 0) -> M:
        """Estimate what the method needs from the training graphs; called once, before training.

        Args:
            graphs: The training graphs of the fold. In your own loop, pass a PyG dataset or a list
                of ``Data``. A method that overrides this gets :class:`~ifmixup.graphs.Graphs`;
                ``graphs.index`` has their indices in the dataset, as in the batches of a training.
            seed: Seed of the estimation.

        Returns:
            The method itself.
        """
        return self

    def start_epoch(self, epoch: int) -> None:
        """Called before each epoch, numbered from 0."""

    def draw(self, graphs: Graphs) -> Any:
        """Draw what is to happen to ``graphs``: a plan, which can be logged and replayed."""
        return None

    def change(self, graphs: Graphs, plan: Any) -> Graphs:
        """The changed graphs; the same plan gives the same graphs. There may be more than before,
        unless the method is :attr:`per_graph`.
        """
        return graphs

    def loss(self, model: Any, graphs: Any, criterion: Criterion) -> Tensor:
        """The training loss of one batch: ``criterion`` of the logits of the changed graphs.

        In your own PyG loop::

            loss = method.loss(net, batch, F.cross_entropy)

        where ``net`` is called as ``net(x, edge_index, edge_weight, batch)``. A method that
        overrides this gets a :class:`~ifmixup.nn.inputs.GraphsModel` and
        :class:`~ifmixup.graphs.Graphs` in either case. In ``eval`` mode nothing is changed.

        Args:
            model: A :class:`~ifmixup.nn.inputs.GraphsModel`, which takes graphs and gives logits
                ``[B, C]``, or any ``nn.Module``.
            graphs: The graphs of the batch, with label rows ``graphs.graphs["y"]``, or a ``Batch``.
            criterion: Takes logits and label rows, gives the loss.
        """
        model, graphs = self._inside(model, graphs)
        if self.training:
            graphs = self.change(graphs, self.draw(graphs))
        return loss_of_labels(criterion, model(graphs), graphs.graphs)

    def take(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """Cut batches from prepared graphs, and change each.

        Args:
            graphs: The prepared graphs of a dataset.
            batches: The indices of the graphs of each batch.
        """
        if not self.per_graph:
            return [self.change(batch, self.draw(batch)) for batch in cut(graphs, batches)]
        # In one go: for small graphs that costs hardly more than one batch.
        together = select(graphs, torch.cat(list(batches)))
        changed = self.change(together, self.draw(together))
        if changed.num_graphs != together.num_graphs:
            raise InputError(
                f"{type(self).__name__}.change made {changed.num_graphs} graphs from "
                f"{together.num_graphs}, but a method with per_graph = True makes one per graph. "
                f"Set per_graph = False."
            )
        return split(changed, [batch.numel() for batch in batches])

    def _cut(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """The batches that a training gives to a method's own :meth:`loss`, which changes them."""
        return cut(graphs, batches)

    def plan(self, batch: Batch) -> Any:
        """Draw what is to happen to ``batch``."""
        return self.draw(self._prepare(from_batch(batch)))

    def augment(self, batch: Batch, plan: Any) -> Batch:
        """The changed batch; the same plan gives the same batch."""
        return to_batch(self.change(self._prepare(from_batch(batch)), plan))

    def forward(self, batch: Batch) -> Batch:
        """A new batch with changed graphs and label rows; in ``eval`` mode the batch itself."""
        if not isinstance(batch, Batch):
            raise InputTypeError(
                f"Expected a PyG Batch, such as a DataLoader returns; got {type(batch).__name__}. "
                f"Make one with Batch.from_data_list([...])."
            )
        if not self.training:
            return batch
        if type(self).change is not Method.change:
            graphs = self._prepare(from_batch(batch))
            return to_batch(self.change(graphs, self.draw(graphs)))
        # A method that changes no graphs keeps all that the batch has.
        batch = copy.copy(batch)
        rows = labels(batch.to_dict(), batch.num_graphs, self.num_classes, _dtype(batch.x))
        for name, value in rows.items():
            batch[name] = value
        return batch

    def extra_repr(self) -> str:
        """The number of classes, and the options that matter."""
        found = [f"num_classes={self.num_classes}"]
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name, parameter.default)
            hidden = name in ("num_classes", "generator") or isinstance(value, nn.Module)
            if not hidden and (name in self.shown or value != parameter.default):
                found.append(f"{name}={value!r}")
        return ", ".join(found)

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Graphs in the form that :meth:`draw` and :meth:`change` take: checked, labels as rows.

        What is cut from prepared graphs is prepared. Nothing is estimated, because test
        graphs are prepared too.
        """
        dtype = _dtype(graphs.nodes.get("x"))
        rows = labels(graphs.graphs, graphs.num_graphs, self.num_classes, dtype)
        return replace(graphs, graphs={**graphs.graphs, **rows})

    def _inside(self, model: Any, graphs: Any) -> tuple[GraphsModel, Graphs]:
        """A model and a batch of the user's own loop, as :meth:`loss` takes them."""
        if isinstance(graphs, Data):
            graphs = self._prepare(from_batch(graphs))
        if isinstance(model, nn.Module):
            from ifmixup.nn.inputs import GraphsModel

            model = GraphsModel(model, node_weight=self.node_weight)
        return model, graphs


def loss_of_labels(criterion: Criterion, out: Tensor, rows: Mapping[str, Any]) -> Tensor:
    """``criterion`` of logits and labels: ``y``, and ``y_weight`` where the criterion reads it."""
    if "y_weight" in rows and getattr(criterion, "reads_y_weight", False):
        return criterion(out, rows["y"], y_weight=rows["y_weight"])
    return criterion(out, rows["y"])


def create(
    name: str,
    num_classes: int | None = None,
    *,
    generator: torch.Generator | None = None,
    **options: Any,
) -> Method:
    """The method called ``name``.

    Args:
        name: One of ``ifmixup.augment.names()``.
        num_classes: Number of classes; None if labels are float rows.
        generator: Random number generator; by default torch's global one.
        **options: Options of the method, such as ``alpha`` or ``drop_ratio``.
    """
    cls = METHODS.get(name)
    checked = METHODS.check_options(cls, name, options)
    return METHODS.make(cls, checked, num_classes=num_classes, generator=generator)


def _of_graphs_model(loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A method's own ``loss``, for a loop of the user's too."""

    @functools.wraps(loss)
    def wrapped(self: Method, model: Any, graphs: Any, criterion: Criterion) -> Tensor:
        if not self.training:
            return Method.loss(self, model, graphs, criterion)
        return loss(self, *self._inside(model, graphs), criterion)

    return wrapped


def _of_training_graphs(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A method's own ``fit``, which gets graphs and gives the method."""

    parameters = inspect.signature(fit).parameters.values()
    seeded = any(each.name == "seed" or each.kind is each.VAR_KEYWORD for each in parameters)

    @functools.wraps(fit)
    def wrapped(self: Method, graphs: Any, *, seed: int = 0) -> Method:
        if not isinstance(graphs, Graphs):
            if not isinstance(graphs, Data):
                graphs = Batch.from_data_list(list(graphs))
            graphs = self._prepare(from_batch(graphs))
            index = torch.arange(graphs.num_graphs, device=graphs.node_ptr.device)
            graphs = replace(graphs, index=index)
        fit(self, graphs, **({"seed": seed} if seeded else {}))
        return self

    return wrapped


def _dtype(x: Tensor | None) -> torch.dtype:
    """The dtype of label rows: that of floating-point features."""
    floats = x is not None and x.is_floating_point()
    return x.dtype if floats else torch.get_default_dtype()  # type: ignore[union-attr]
