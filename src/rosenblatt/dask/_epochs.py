"""Tasks on workers: an epoch over some shards, each from the same weights, and the sum of their changes."""

import dataclasses
import functools
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.state import since
from rosenblatt.engine.steps import step_source
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import writable
from rosenblatt.model.rule import Rule
from rosenblatt.model.scores import predicted_classes
from rosenblatt.training.loop import Block, all_learned, smallest_margin
from rosenblatt.training.schedule import Schedule, VisitingOrder

from ._mixing import coordinates_of
from ._partials import Note, Packed, Partial, packed_sums, size_of, unpack_into
from ._shards import Shard

Array = NDArray[Any]
Parts = list[Array | Packed]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to create the model on a worker.

    The step function is sent as source code. A worker needs nothing else of the learner, in particular not scikit-learn, which
    would take a hundred megabytes there; and a rule from a user's script need not be installed on the workers.
    """

    kind: type[Model]
    rule: Rule
    source: str | None
    readout: str
    n_features: int
    dtype: str
    classes: tuple[Any, ...]

    @classmethod
    def of(cls, model: Model) -> "Recipe":
        """The recipe of a model."""
        source = step_source(model.rule.step)
        bare = model.rule if source is None else dataclasses.replace(model.rule, step=_missing)
        name = None if source is None else f"{model.rule.step.__name__}\n{source.replace('@njit(**OPTIONS)', '')}"
        return cls(type(model), bare, name, model.readout, model.n_features, model.dtype.name, tuple(model.classes))

    def model(self) -> Model:
        """Create a new model."""
        rule = self.rule
        if self.source is not None:
            rule = dataclasses.replace(rule, step=_step(self.source))
        model = self.kind(rule, readout=self.readout, n_features=self.n_features, dtype=self.dtype)
        model.add_class(*self.classes)
        return model


def _missing(margin: float) -> float:
    """Placeholder for a step function that is sent as source code."""
    raise NotImplementedError


@functools.cache
def _step(source: str) -> Any:
    """The step function of a source whose first line is its name; loaded from a file, so that Numba can cache it."""
    from rosenblatt.engine.codegen import load_module

    name, _, text = source.partition("\n")
    return getattr(load_module(f"step_{name}", text), name)


@dataclasses.dataclass(frozen=True)
class Order:
    """Parameters of an epoch.

    Attributes
    ----------
    recipe : Recipe
        The model.
    identity : str
        Identifier of the training run, used as the key of cached values on the workers.
    epoch : int
        Number of finished epochs; also the version of the weights.
    schedule : Schedule
        Seed, shuffling and hold-out.
    mixing : {"uniform", "mistakes", "examples"}
        How the shares of the shards are computed.
    alone : bool
        Whether there is only one shard, so that its weights are the result.
    along : bool
        Whether the weights are sent with every task; the client then counts their bytes.
    """

    recipe: Recipe
    identity: str
    epoch: int
    schedule: Schedule
    mixing: str
    alone: bool
    along: bool = False


_lock = threading.Lock()
_kept: dict[str, tuple[int, list[Array]]] = {}
_models: dict[int, tuple[str, Model]] = {}
_orders: dict[str, VisitingOrder] = {}


def _arrays(order: Order, base: Parts, changes: Sequence[Parts]) -> tuple[list[Array], int]:
    """The full weights and the number of bytes received for them; those of the last epoch are cached to apply changes to."""
    with _lock:
        version, arrays = _kept.get(order.identity, (-1, []))
        if version == order.epoch:
            return arrays, 0
        if order.epoch - len(changes) <= version < order.epoch:
            changes = changes[version - order.epoch :]
            arrays = [array.copy() for array in arrays]  # a slower thread may still read the old ones
            received = 0
        else:
            arrays = [np.array(part) if changes else writable(np.asarray(part)) for part in base]
            received = 0 if order.along else size_of(base)
        for parts in changes:
            received += size_of(parts)
            for array, part in zip(arrays, parts, strict=True):
                unpack_into(array, part)
        _kept.clear()  # a worker normally has one run at a time; a second one fetches its weights again
        _kept[order.identity] = order.epoch, arrays
        return arrays, received


def _model(order: Order) -> Model:
    """The model of this thread, reused during a run."""
    identity, model = _models.get(threading.get_ident(), ("", None))
    if model is None or identity != order.identity:
        model = order.recipe.model()
        _models[threading.get_ident()] = order.identity, model
    return model


def _visits(shard: Shard, number: int, order: Order) -> NDArray[np.int64]:
    """The rows that a shard learns in this epoch, in visiting order; for a single shard the order of `fit`."""
    rows, _ = shard.parts(order.schedule)
    if not order.alone or order.schedule.by_block:
        return VisitingOrder(order.schedule.shuffle, order.schedule.seed).block(rows, order.epoch, number)
    with _lock:
        if order.identity not in _orders:
            _orders.clear()
            _orders[order.identity] = VisitingOrder(order.schedule.shuffle, order.schedule.seed)
        return _orders[order.identity].whole(rows, order.epoch)


def forget(identity: str) -> None:
    """Delete the cached values of a finished run; runs on the workers."""
    with _lock:
        _kept.pop(identity, None)
        _orders.pop(identity, None)
    for thread in [thread for thread, (kept, _) in list(_models.items()) if kept == identity]:
        del _models[thread]


def place_of_worker() -> str:
    """The address of the worker that runs this; empty elsewhere."""
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return ""


def learn_shards(
    shards: Sequence[Shard], numbers: Sequence[int], base: Parts, changes: Sequence[Parts], order: Order
) -> Partial:
    """Run one epoch over each shard, always from the same weights.

    Parameters
    ----------
    shards, numbers
        The shards and their numbers.
    base, changes
        Full weights of an earlier epoch, and the changes since then, epoch by epoch.
    order : Order
        Parameters of the epoch.
    """
    start, received = _arrays(order, base, changes)
    model = _model(order)
    coordinates = coordinates_of(model, order.alone)
    totals: list[Any] | None = None
    whole: list[Array] | None = None
    averages: list[Any] = []
    origin: list[Array] = []
    notes = []
    ready = False
    place = place_of_worker()
    for shard, number in zip(shards, numbers, strict=True):
        table = shard.table()
        began = time.perf_counter()
        visits = _visits(shard, number, order)
        seconds = time.perf_counter() - began
        if ready:
            coordinates.clear()
        else:
            coordinates.install(start)
        if totals is None and not order.alone:
            origin = coordinates.base(start)
            totals = [np.zeros(part.size) for part in origin]
            averages = [np.zeros(part.size) for part in start[:2]] if coordinates.averaging else []
        before = model.state.counters.copy()
        began = time.perf_counter()
        try:
            model.run(table, writable(shard.codes), writable(shard.weights), visits)
        except ValueError as error:
            raise ValueError(f"{shard.place}: {error}") from None
        seconds += time.perf_counter() - began
        made = since(model.state.counters, before)
        note = Note(
            number, int(made.examples), int(made.mistakes), int(made.updates),
            float(made.loss), float(made.age), float(made.steps), float(model.state.counters.reach),
        )  # fmt: skip
        note.share = {
            "mistakes": float(note.updates),
            "uniform": 1.0 if note.age > 0.0 else 0.0,
            "examples": note.age,
        }[order.mixing]
        note.weight = note.age
        if order.alone and shard.weights.size:  # as `fit` sums them, also of rows that are drawn with replacement
            note.weight = float(shard.weights[shard.parts(order.schedule)[0]].sum())
        note.seconds, note.place = seconds, f"{place} {threading.get_ident()}"
        notes.append(note)
        if totals is None:
            whole = [array.copy() for array in coordinates.start()]
        else:
            ready = not note.updates or coordinates.collect(totals, note.share, origin, averages, start)
    return Partial(
        sum(note.share for note in notes), packed_sums(totals or []), packed_sums(averages), notes, place,
        received, whole,
    )  # fmt: skip


def learn_each(
    shards: Sequence[Shard], numbers: Sequence[int], base: Parts, changes: Sequence[Parts], order: Order
) -> list[Partial]:
    """Like `learn_shards`, but with one result for each shard; the client sums them."""
    pairs = zip(shards, numbers, strict=True)
    return [learn_shards([shard], [number], base, changes, order) for shard, number in pairs]


@dataclasses.dataclass
class Judgement:
    """Total weight of examples and of mistakes among them."""

    examples: float = 0
    mistakes: float = 0


def judge(
    shards: Sequence[Shard], start: Sequence[Array], readout: Sequence[Array], order: Order, held: bool
) -> Judgement:
    """Predict the held-out examples (`held`) or the others; `readout` holds the averaged weights if the model uses them."""
    model = _model(order)
    coordinates_of(model, order.alone).install(start)
    result = Judgement()
    for shard in shards:
        table = shard.table()
        learned, out = shard.parts(order.schedule)
        rows = out if held else learned
        if not rows.size:
            continue
        if readout:
            w = np.array(readout[0], dtype=model.dtype).reshape(model.state.w.shape)
            scores = model.raw_scores(table, w, np.array(readout[1]), rows)
        else:
            scores = model.scores(table)[rows]
        wrong = predicted_classes(scores, len(model.classes)) != shard.codes[rows]
        result.examples += float(shard.weights[rows].sum()) if shard.weights.size else int(rows.size)
        result.mistakes += float(shard.weights[rows][wrong].sum()) if shard.weights.size else int(wrong.sum())
    return result


def margin_of(shards: Sequence[Shard], start: Sequence[Array], order: Order) -> float:
    """The smallest margin of the last weights over the examples of some shards."""
    model = _model(order)
    coordinates_of(model, order.alone).install(start)
    return smallest_margin(model, (Block(shard.table(), shard.codes, shard.weights) for shard in shards))


def learned(shards: Sequence[Shard], start: Sequence[Array], order: Order) -> float:
    """1 if a pass over the examples of some shards would change nothing, else 0."""
    model = _model(order)
    coordinates_of(model, order.alone).install(start)
    blocks = ((Block(s.table(), s.codes, s.weights), s.parts(order.schedule)[0]) for s in shards)
    return float(all_learned(model, blocks))
