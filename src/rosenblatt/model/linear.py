"""The linear model: classes and features in order of first appearance, weights, counters; predict, learn, grow.

It does not depend on scikit-learn. The estimators are its scikit-learn interface; streams use it directly.
"""

import math
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR, ONE_VS_REST, TILE
from rosenblatt.engine.entries import guess_many, guess_two, score_many, score_two
from rosenblatt.engine.state import BAD_VALUE, COUNTERS, DONE, OUT_OF_SCALE, RUN_REACHED, State, make_run

from .calibration import Calibration
from .matrix import Table
from .past import NO_PAST, calibration_of, empty_past, move_past, named_past
from .records import DictRow, is_number
from .rule import FullVariances, PenaltyMemory, Rule, ScaleFactors, columns_for, padded
from .scores import in_row_threads, margins, predicted_class
from .vote_log import Support

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_NO_WEIGHT = np.zeros(0)
_BLOCK = 1 << 15  # so many linked weights are computed at a time, without fresh memory
_PRODUCTS = 16  # so many products of a weight and a value take the time of one element for `in_row_threads`


def average(w: NDArray[Any], u: NDArray[np.float64], examples: float) -> NDArray[np.float64]:
    """The mean of the weights after each example, weighted by the examples.

    A step of size δ made after `age` examples is missing from the first `age` weight vectors, so the mean is
    ``w - Σ age·δ / examples``.
    """
    return np.asarray(w, dtype=np.float64) - (u / examples if examples else 0.0)


class Model:
    """A linear model with a learning rule.

    Parameters
    ----------
    rule : Rule
        The learning rule.
    readout : {"last", "average", "vote"}, default="last"
        The weights used for predictions.
    n_features : int or None, default=None
        Number of features; None: examples are dicts, and new features are added.
    dtype : dtype, default=float64
        The float type of the weights.
    max_support : int or None, default=None
        Largest number of updates that are kept for a vote.
    """

    _dict_row: DictRow | None = None  # columns and values of the last dict

    notes_scores = False
    """Whether the scores of examples before they are learned are noted; `rosenblatt.model.past` reads them."""

    _calibrated: tuple[tuple[int, int], Calibration | None] | None = None

    divisor: float = 1.0
    """What the weights of the state are divided by: the batch perceptron learns sums, whose ties are exact, and not averages."""

    def __init__(
        self,
        rule: Rule,
        *,
        readout: str = "last",
        n_features: int | None = None,
        dtype: Any = np.float64,
        max_support: int | None = None,
    ) -> None:
        self.rule = rule
        self.readout = readout
        self.dtype = np.dtype(dtype)
        self.classes: list[Any] = []
        self.class_number: dict[Any, int] = {}
        self.features: dict[Hashable, int] | None = {} if n_features is None else None
        self.frozen = n_features is not None
        self.n_features = n_features or 0
        self.support = Support(max_support) if readout == "vote" else None
        self._settings = rule.settings()
        self._averaged: tuple[NDArray[Any], Floats] | None = None
        self._changed: tuple[int, Codes] | None = None  # after so many updates only these features, since `_relink`
        self._passes = rule.passes()
        self.memory = rule.memory(1, self.n_features)
        self.state = self._new_state(1, self.n_features)
        if self.linked:
            self._relink(self.state)

    def _new_dict_row(self) -> DictRow:
        self._dict_row = DictRow(self.dtype)
        return self._dict_row

    def __getstate__(self) -> dict[str, Any]:
        compiled = {
            "_dict_row", "_changed", "_passes", "_kept", "_run", "_address", "_learn_dense", "_learn_sparse", "_calibrated",
        }  # fmt: skip
        return {name: value for name, value in self.__dict__.items() if name not in compiled}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._changed = None
        self._passes = self.rule.passes()
        state = self._state
        if self.rule.link == "identity":  # w and v are one array; a copy has separated them
            state = state._replace(v=state.w, v_bias=state.bias)
        self.state = state

    # ---- shape ----

    @property
    def linked(self) -> bool:
        """Whether steps are added to the logarithms of the weights."""
        return self.rule.link != "identity"

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, with the room for more classes and features."""
        arrays = {id(array): array for array in (*self._state, *self.memory.arrays.values())}
        return sum(array.nbytes for array in arrays.values())

    def nbytes_with(self, vectors: int, features: int) -> int:
        """About the same with more classes or features."""
        state, memory, vectors = self._state, self.memory, max(vectors, self.vectors)
        have, width = state.w.shape[0], state.w.shape[1] if state.w.ndim == 2 else 1
        if features <= have and vectors <= width and (vectors == self.vectors or memory.widened(vectors) is not None):
            return self.nbytes
        capacity = have if features <= have else max(features, 2 * have, 16)
        columns = 1 if vectors == 1 else columns_for(vectors, width if state.w.ndim == 2 else 0)
        wide = [a for a in {id(a): a for a in (state.w, state.v, state.u, *memory.by_feature)}.values() if a.size]
        size = capacity * columns * sum(array.itemsize for array in wide)
        full = 8 * vectors * (capacity + 1) ** 2 if isinstance(memory, FullVariances) else 0
        return int(size + full)

    @property
    def room_matters(self) -> bool:
        """Whether the weights of later features depend on how many the arrays have room for.

        Linked weights are computed again when the arrays grow, which can change their last bit. Such models keep their room in
        files, so that they go on as if they had never been stored.
        """
        return self.features is not None and not self.frozen and self.linked

    @property
    def state(self) -> State:
        """All arrays that learning changes."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        self._kept = {  # keep the arrays, so that their addresses stay valid
            **{name: array for name, array in state._asdict().items() if name != "w"},
            "params": np.array(self.rule.params, dtype=np.float64),
            "label": np.zeros(1, np.int64),
            "weight": np.ones(1),
            "order": np.zeros(1, np.int64),
            **self.memory.arrays,
        }
        self._run = make_run(self._kept, self.rule.address(), self._settings)
        self._address = self._run.ctypes.data
        self._row_shape = None if self.features is not None and not self.frozen else (self.n_features,)
        self._learn_dense, self._learn_sparse = self._passes.dense, self._passes.sparse

    def _new_state(self, vectors: int, capacity: int, have: int = 0) -> State:
        """Arrays of zeros; linked weights must be computed afterwards."""
        shape = (capacity,) if vectors == 1 else (capacity, columns_for(vectors, have))
        v, v_bias = np.zeros(shape, self.dtype), np.zeros(vectors)
        w, bias = (np.empty_like(v), np.empty_like(v_bias)) if self.linked else (v, v_bias)
        averaging = self.readout == "average"
        log = 1024 if self.readout == "vote" else 0
        return State(
            w, bias, v, v_bias,
            np.zeros(shape if averaging else (0,) * len(shape)), np.zeros(vectors),
            np.zeros(1, COUNTERS), np.zeros(vectors),
            np.zeros(log, np.int64), np.zeros(log), np.zeros((log, vectors)),
            np.zeros((TILE, shape[-1] if vectors > 1 else 0), self.dtype),
            np.zeros(vectors, np.int64), np.zeros(vectors), np.zeros(vectors),
            *(empty_past(vectors) if self.notes_scores else NO_PAST),
        )  # fmt: skip

    def add_class(self, *labels: Any) -> None:
        """Add classes. A third class turns w into -w and +w for the first two."""
        for label in labels:
            kind = kind_of_label(label)
            if self.classes and kind != kind_of_label(self.classes[0]):
                raise ValueError(
                    f"The labels must all be of one type, such as strings or integers; got {label!r} after {self.classes[0]!r}. "
                    "Convert them, for instance with str(label)."
                )
            self.class_number[label] = len(self.classes)
            self.classes.append(label.item() if isinstance(label, np.generic) else label)
        if len(self.classes) > 2:
            self._widen(len(self.classes))

    def _widen(self, vectors: int) -> None:
        """Add weight vectors, in columns that the weights have in reserve if there are any."""
        old = self.state
        fits = old.w.ndim == 2 and vectors <= old.w.shape[1]
        memory = self.memory.widened(vectors) if fits else None
        if memory is None:
            self._reshape(vectors, old.w.shape[0])
            return
        empty = self._new_state(vectors, 0)
        state = empty._replace(w=old.w, v=old.v, u=old.u, tally=old.tally, tile=old.tile)
        for before, after in ((old.v_bias, state.v_bias), (old.u_bias, state.u_bias)):
            after[: before.size] = before
        if self.notes_scores:
            move_past(old, state)
        if self.linked:
            self._relink(state, self._changed_rows())
        if self.support is not None:
            self.support.widen(vectors)
        self.memory = memory
        self.state = state
        self._averaged = None

    def make_room(self, vectors: int) -> None:
        """Copy the weights once for so many weight vectors, and not several times while these are added one by one."""
        weights = self.state.w
        if (
            weights.ndim == 2 and vectors > weights.shape[1] and not self.linked
        ):  # linked weights would be computed again
            self._reshape(self.vectors, weights.shape[0], vectors)

    def add_features(self, count: int) -> None:
        """Extend the arrays to this number of features; the capacity is doubled, so that adding single features is cheap."""
        self.n_features = max(count, self.n_features)
        if count > self.state.w.shape[0]:
            self._reshape(self.vectors, max(count, 2 * self.state.w.shape[0], 16))

    def _reshape(self, vectors: int, capacity: int, room: int = 0) -> None:
        """Copy all arrays to larger ones, with columns for at least `room` weight vectors."""
        have = self.state.w.shape[1] if self.state.w.ndim == 2 else 0
        if room:
            have = max(columns_for(room, have), 16)  # as many columns as that are kept
        memory = self.memory.grown(vectors, capacity, have)  # first, because it may raise an error
        old, new = self.state, self._new_state(vectors, capacity, have)
        for before, after in ((old.v, new.v), (old.u, new.u)):
            if before.ndim == after.ndim:
                after[tuple(slice(size) for size in before.shape)] = before
            elif before.size:
                after[: before.size, 0], after[: before.size, 1] = -before, before
        for before, after in ((old.v_bias, new.v_bias), (old.u_bias, new.u_bias)):
            after[: before.size] = before
            if before.size == 1 < after.size:
                after[0], after[1] = -before[0], before[0]
        new.tally[...] = old.tally
        if self.notes_scores:
            move_past(old, new)
        if self.linked:
            self._relink(new)
        if self.support is not None:
            self.support.widen(vectors)
        self.memory = memory
        self.state = new
        self._averaged = None

    def _relink(self, state: State, rows: slice | Codes = slice(None), with_bias: bool = True) -> None:
        """Compute the linked weights again, scaled by exp(-shift): all of them, or only those of some features."""
        balanced, shift = self.rule.link == "balanced", state.counters.shift

        def linked(logs: NDArray[Any]) -> NDArray[Any]:
            weights: NDArray[Any] = np.exp(logs - shift) - (np.exp(-logs - shift) if balanced else 0.0)
            return weights

        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(state.w))
            size = max(1, _BLOCK // max(1, state.w[:1].size))
            for at in range(first, last, size):
                part = slice(at, min(at + size, last))
                state.w[part] = linked(state.v[part])
        else:
            state.w[rows] = linked(state.v[rows])
        if with_bias:
            state.bias[:] = linked(state.v_bias)
        if not self.rule.fit_intercept:
            state.bias[:] = 0.0

    def _changed_rows(self) -> slice | Codes:
        """Features whose linked weights may differ from what `_relink` computes, because the loops have changed them."""
        known = self._changed is not None and self._changed[0] == self.state.counters.updates
        return self._changed[1] if known and self._changed is not None else slice(None)

    def start_from(self, coef: NDArray[Any], intercept: NDArray[Any]) -> None:
        """Set the starting weights: one row of `coef` for each weight vector."""
        state = self.state
        if self.rule.link == "exp":
            if not ((coef > 0).all() and (not self.rule.fit_intercept or (intercept > 0).all())):
                raise ValueError(
                    "The starting weights of a rule that learns logarithms must be greater than 0; got a value of at most 0. "
                    "Leave them out to start from 1, or learn with balanced=True."
                )
            coef, intercept = np.log(coef), np.log(intercept) if self.rule.fit_intercept else intercept
        elif self.rule.link == "balanced":
            coef, intercept = np.arcsinh(coef / 2), np.arcsinh(intercept / 2)
        if state.v.ndim == 1:
            state.v[: self.n_features] = coef[0]
        else:
            state.v[: self.n_features, : coef.shape[0]] = coef.T
        state.v_bias[:] = intercept if self.rule.fit_intercept else 0.0
        if self.linked:
            self._relink(state)
        self.memory.started(state.w, state.bias)
        if self.support is not None:
            self.support.start_from(np.asarray(coef, dtype=np.float64), state.v_bias.copy())

    def begin_like(self, other: "Model") -> None:
        """Take over the classes of another model, before anything is learned."""
        self.add_class(*other.classes)

    def replace_weights(self, coef: NDArray[Any], intercept: NDArray[Any]) -> None:
        """Replace the weights during a run; the average starts again from them."""
        state = self.state
        state.w[...], state.v[...] = 0.0, 0.0
        state.u[...], state.u_bias[...] = 0.0, 0.0
        self.memory.replaced(float(state.counters.age))
        self.start_from(coef, intercept)
        self._averaged = None

    def last_margins(self, table: Table, y: Codes, rows: Codes) -> Floats:
        """The margins of some examples with the last weights, for any readout."""
        return margins(self.raw_scores(table, *self.last(), rows), y[rows])

    def resume(self, other: "Model") -> None:
        """Start with the last weights of another model."""
        weights = other.state[:4] if other.memory.scale is None else other.last() * 2
        for mine, theirs in zip(self.state[:4], weights, strict=True):
            part = theirs[tuple(slice(size) for size in mine.shape)]  # the other one may have room for more classes
            mine[tuple(slice(size) for size in part.shape)] = part
        self._changed = None
        self.memory.started(self.state.w, self.state.bias)
        self.state.counters.shift = other.state.counters.shift
        if self.support is not None:
            w, bias = other.state.w[: self.n_features], other.state.bias
            self.support.start_from((w[None, :] if w.ndim == 1 else w[:, : bias.size].T).astype(np.float64), bias)

    # ---- learn ----

    def run(
        self, table: Table, y: Codes, weight: Floats, order: Codes, on_run: Callable[[], None] | None = None
    ) -> None:
        """Learn rows of a table in the given order; y holds class numbers, `weight` one number per row or nothing.

        A bad value raises ValueError and leaves the model partly updated: `learn` restores it, a training run discards the
        model. `on_run` is called when ``counters.goal`` examples in a row needed no update.
        """
        self._averaged = None
        counters = self.state.counters
        for rows, local, part in table.chunks(order):
            numbers = None if table.in_place else order[part]
            labels = y if numbers is None else y[numbers]
            importance = weight if numbers is None or not weight.size else weight[numbers]
            counters.position = 0
            reason = None
            while reason != DONE:
                reason = self._passes.rows(self._address, self.state.w, rows, labels, importance, local)
                if reason == BAD_VALUE:
                    raise ValueError(self._describe_bad_row(table, int(order[part][counters.position])))
                self._attend(reason, numbers)
                if reason == RUN_REACHED and on_run is not None:
                    on_run()

    def would_learn(self, table: Table, y: Codes, weight: Floats, order: Codes) -> bool:
        """Whether `run` would make a mistake or an update on these rows. The model stays as it is."""
        undo = self._snapshot(slice(None))
        before = self.state.counters.copy()
        try:
            type(self).run(self, table, y, weight, order)  # not `self.run`, which a trace replaces to record the steps
            now = self.state.counters
            return bool(now.mistakes > before.mistakes or now.updates > before.updates)
        finally:
            undo()

    def guess_and_learn(self, table: Table, y: Codes, order: Codes) -> Codes:
        """Predict each row with the average so far, then learn it; return the predictions. Needs float64 and two classes."""
        self._averaged = None
        guesses = np.empty(order.size, np.int64)
        for rows, local, part in table.chunks(order):
            labels = y if table.in_place else y[order[part]]
            reason = self._passes.averaged(self._address, self.state.w, rows, labels, _NO_WEIGHT, local, guesses[part])
            if reason != DONE:
                place = int(self.state.counters.position)
                raise ValueError(self._describe_bad_row(table, int(order[part][place])))
        return guesses

    def _describe_bad_row(self, table: Table, number: int) -> str:
        """Describe why a row could not be learned: a bad value, one too large, or an invalid step."""
        with np.errstate(over="ignore", invalid="ignore"):
            row = table.take(np.array([number]))
            values = np.asarray(row.data if table.sparse else row, dtype=np.float64)
            sound = np.isfinite(self.state.scores).all() and np.isfinite(np.sum(values * values))
        if not sound:
            return table.describe_bad_row(number)
        return (
            f"The step of a rule must be a finite number of at least 0; `{self.rule.step.__name__}` returned another value for "
            f"row {number} of X. Check what the step function returns, or whether it raises, for such margins and norms."
        )

    def _attend(self, reason: int, numbers: Codes | None = None) -> None:
        """Handle the return code of a pass: rescale linked weights, empty the log of updates."""
        state = self.state
        if reason == OUT_OF_SCALE:
            top = max(float(np.max(logs, initial=-np.inf)) for logs in (state.v, state.v_bias))
            if self.rule.link == "balanced":
                top = max(top, *(-float(np.min(logs, initial=np.inf)) for logs in (state.v, state.v_bias)))
            state.counters.shift = top
            self._relink(state)
        logged = int(state.counters.logged)
        if logged and self.support is not None:
            rows = state.log_rows[:logged]
            rows = rows.copy() if numbers is None else numbers[rows]
            self.support.note(rows, state.log_ages[:logged], state.log_steps[:logged])
        state.counters.logged = 0  # also of a log that only a trace reads

    def learn(self, table: Table, labels: Sequence[Any], places: Codes, weight: Floats = _NO_WEIGHT) -> None:
        """Learn examples in the given order; a new class takes part from its first example on.

        `places` holds for each example the index of its label in `labels`, all of which must occur. The result is the same as
        that of `learn_one` for each example. If an example cannot be learned, ValueError is raised and the model is as it was
        before the call.
        """
        numbers = np.array([self.class_number.get(label, -1) for label in labels], np.int64)
        arrivals = sorted((int(np.argmax(places == new)), new) for new in np.flatnonzero(numbers < 0).tolist())
        # A new class replaces the arrays of the model, and linked weights may be rescaled.
        everything = arrivals or self.linked or self.memory.spreads
        undo = self._snapshot(slice(None) if everything else table.touched())
        try:
            start = 0
            for t, new in arrivals:
                self.run(table, numbers[places], weight, np.arange(start, t))
                start = t
                self.add_class(labels[new])
                numbers[new] = self.class_number[labels[new]]
            self.run(table, numbers[places], weight, np.arange(start, places.size))
            if self.support is not None:
                self.support.absorb(table)
        except BaseException:
            undo()
            raise

    def _snapshot(self, touched: Any) -> Callable[[], None]:
        """A function that restores the present state; only the weights of the touched features are saved."""
        state, memory, classes = self.state, self.memory, len(self.classes)
        undo_support = self.support.snapshot() if self.support is not None else None
        big = [weights for weights in {id(a): a for a in (state.w, state.v, state.u)}.values() if weights.size]
        big += memory.by_feature
        small = [state.bias, state.v_bias, state.u_bias, state.tally, *state[-3:], *memory.others]
        saved = [weights[touched].copy() for weights in big] + [numbers.copy() for numbers in small]

        def undo() -> None:
            for weights, before in zip(big, saved, strict=False):
                weights[touched] = before
            for numbers, before in zip(small, saved[len(big) :], strict=True):
                numbers[...] = before
            self.memory = memory
            self.state = state
            for label in self.classes[classes:]:
                del self.class_number[label]
            del self.classes[classes:]
            if undo_support is not None:
                undo_support()

        return undo

    # ---- scores before learning ----

    def note_scores(self) -> None:
        """From now on, note the scores given to examples before they are learned. Nothing else changes.

        Votes are not noted, because each takes as long as all updates so far; nor are scores of an average in single precision,
        whose sums have double precision.
        """
        noted = self.readout == "last" or (self.readout == "average" and self.dtype == np.float64)
        if self.notes_scores or not noted:
            return
        self.notes_scores = True
        self.state = self._state._replace(**named_past(empty_past(self.vectors)))

    def stop_noting(self) -> None:
        """Forget the scores that were noted, and note no more."""
        if self.notes_scores:
            self.notes_scores = False
            self._calibrated = None
            self.state = self._state._replace(**named_past(NO_PAST))

    def noted_calibration(self) -> Calibration | None:
        """The probabilities that follow from the scores that were noted; None without any, or with fewer than two classes."""
        if not self.notes_scores or len(self.classes) < 2:
            return None
        key = len(self.classes), int(self._state.past_counts[1])
        if self._calibrated is None or self._calibrated[0] != key:
            self._calibrated = key, calibration_of(self._state)
        return self._calibrated[1]

    # ---- predict ----

    @property
    def vectors(self) -> int:
        """Number of weight vectors: one for two classes, else one for each class."""
        return self._state.v_bias.size

    def last(self) -> tuple[NDArray[Any], Floats]:
        """The last weights of the run, feature-major, and the biases."""
        state, scale = self._state, self.memory.scale
        if scale is None and self.divisor == 1.0:
            return state.w, state.bias
        if scale is None:
            return state.w / self.dtype.type(self.divisor), state.bias / self.divisor
        inside, outside = self.memory.unscaled(state.bias)
        return (state.w * padded(scale, state.w)).astype(self.dtype, copy=False), inside * scale + outside

    def weights(self) -> tuple[NDArray[Any], Floats]:
        """The weights used for predictions, feature-major, and the biases."""
        state = self._state
        if self.readout != "average":
            return self.last()
        if self._averaged is None:
            examples = float(state.counters.age)
            if isinstance(self.memory, ScaleFactors | PenaltyMemory):
                mean, bias = self.memory.average(state, examples)
            else:
                mean, bias = average(state.w, state.u, examples), average(state.bias, state.u_bias, examples)
            self._averaged = mean.astype(self.dtype, copy=False), bias
        return self._averaged

    def scoring(self) -> tuple[NDArray[Any], Floats, Any]:
        """Weights, biases and factors of which `scores` computes (<w, x> + bias) · factor; None for no factor."""
        if self.readout == "last" and self.memory.scale is not None:
            return self._state.w, self._state.bias, self.memory.scale
        return *self.weights(), None

    def coef(self) -> tuple[NDArray[Any], Floats]:
        """The same weights in the layout of scikit-learn: one row for each weight vector, and the intercepts."""
        w, bias = self.weights()
        w = w[: self.n_features]
        return (w[None, :].copy() if w.ndim == 1 else np.array(w[:, : self.vectors].T, order="C")), bias.copy()

    def parts(self) -> list[tuple[NDArray[Any], Floats, Any, Any]]:
        """Weights, biases, factors and offsets: the score of the readout is the sum of factor · (<w, x> + bias) + offset."""
        state, memory, age = self._state, self.memory, float(self._state.counters.age)
        bias, offset = memory.unscaled(state.bias)
        if self.readout != "average" or not age:
            return [(state.w, bias, 1.0 if memory.scale is None else memory.scale, offset)]
        total = memory.total / age if isinstance(memory, ScaleFactors | PenaltyMemory) else 1.0
        return [(state.w, bias, total, offset), (state.u, state.u_bias, -1.0 / age, 0.0)]

    def scores(self, table: Table, jobs: int = 1) -> Floats:
        """One score for each row and weight vector, computed in at most `jobs` threads; votes for a voted model."""
        if self.readout == "vote" and self.support is not None:
            separate = self._settings.scheme == ONE_VS_REST
            self._check_finite(table)
            return self.support.votes(table, float(self._state.counters.age), self._settings.bias, separate)
        if self.readout == "last" and self.memory.scale is not None:  # the same arithmetic as in learning, bit for bit
            inside, outside = self.memory.unscaled(self._state.bias)
            scores: Floats = self.raw_scores(table, self._state.w, inside, jobs=jobs) * self.memory.scale + outside
            return scores
        return self.raw_scores(table, *self.weights(), jobs=jobs)

    def raw_scores(
        self, table: Table, w: NDArray[Any], bias: Floats, order: Codes | None = None, jobs: int = 1
    ) -> Floats:
        """<w, x> + bias for each row and weight vector, in the order of summation of learning."""
        w = w.astype(table.dtype, copy=False)
        order = np.arange(len(table)) if order is None else order
        out = np.empty((order.size, bias.size))
        score = score_two if w.ndim == 1 else score_many
        wrong: list[int] = []

        def part(start: int, stop: int) -> None:
            for rows, local, within in table.chunks(order[start:stop]):
                scores = out[start + within.start : start + within.stop]
                bad = score(w, bias, rows, local, scores[:, 0] if w.ndim == 1 else scores)
                if bad >= 0:
                    wrong.append(start + within.start + int(bad))
                    return

        in_row_threads(part, order.size, table.entries * bias.size // _PRODUCTS, jobs)
        if wrong:
            raise ValueError(table.describe_bad_row(int(order[min(wrong)])))
        return out

    def _check_finite(self, table: Table) -> None:
        values = table.rows.values if table.sparse else table.rows
        if not np.isfinite(values).all():
            rows = table.as_scipy() if table.sparse else table.rows
            sums = np.asarray(rows.sum(axis=1)) if table.sparse else np.isfinite(rows).all(axis=1)
            bad = np.flatnonzero(~np.isfinite(sums)) if table.sparse else np.flatnonzero(~sums)
            raise ValueError(table.describe_bad_row(int(bad[0])))

    # ---- one example at a time ----

    def learn_one(self, x: Any, label: Any, weight: float = 1.0) -> Any:
        """Predict one example, then learn it; return the prediction, None before the first label."""
        if not 0.0 <= weight < math.inf:
            raise ValueError(
                f"The weight of an example must be a finite number of at least 0; got {weight!r}. 1 counts it once, 0 ignores it."
            )
        code = self.class_number.get(label)
        if code is None or self.readout != "last" or len(self.classes) < 2:
            return self._learn_one_slowly(x, label, weight)
        # Fast path for most calls: a dict of known features, or an array of the right type.
        added: list[Hashable] = []
        kind = type(x)
        if kind is dict and self.features is not None:
            row = self._dict_row or self._new_dict_row()
            try:
                row.fill(x, self.features)
            except (KeyError, struct.error, OverflowError):
                outcome, added = self._learn_row(x, code, weight)
            else:
                outcome = self._learn_sparse(
                    self._address, self._state.w, row.indices_address, row.values_address, row.count, code, weight
                )
        elif kind is np.ndarray and x.dtype is self.dtype and x.shape == self._row_shape and x.flags.carray:
            outcome = self._learn_dense(self._address, self._state.w, x, code, weight)
        else:
            outcome, added = self._learn_row(x, code, weight)
        if outcome >= 0:
            return self.classes[outcome]
        guess = self._decide(self._state.scores, len(self.classes))
        self._after_one(outcome, x, added)
        return guess

    def _learn_one_slowly(self, x: Any, label: Any, weight: float) -> Any:
        """`learn_one` with a separate prediction: for new classes, fewer than two classes, averages and votes."""
        guess = self.predict_one(x) if self.n_features else (self.classes[0] if self.classes else None)
        self.teach(x, label, weight)
        return guess

    def teach(self, x: Any, label: Any, weight: float = 1.0) -> None:
        """Learn one example without predicting it."""
        undo = None
        if label not in self.class_number:
            # An example that cannot be learned changes no weights: only the class must be removed again. The first two classes
            # share the arrays that exist, and linked weights are computed again.
            apart = len(self.classes) > 2 and not self.memory.spreads
            undo = self._snapshot((self._changed_rows() if self.linked else slice(0)) if apart else slice(None))
            self.add_class(label)
        added: list[Hashable] = []
        try:
            outcome, added = self._learn_row(x, self.class_number[label], weight)
            self._averaged = None
            self._after_one(outcome, x, added)
        except ValueError:
            if undo is not None:
                undo()
            raise
        if undo is not None and self.linked and len(self.classes) > 2 and isinstance(x, Mapping) and self._dict_row:
            self._changed = int(self.state.counters.updates), self._dict_row.arrays()[0]

    def _learn_row(self, x: Any, code: int, weight: float) -> tuple[int, list[Hashable]]:
        """Learn one example; return its predicted class, or a negative return code, and the new features."""
        if isinstance(x, Mapping):
            row, added = self._encode_dict(x, grow=True)
            addresses = row.indices_address, row.values_address
            return self._learn_sparse(self._address, self._state.w, *addresses, row.count, code, weight), added
        x = self._encode_array(x, grow=True)  # first, because it may replace the arrays of the model
        return self._learn_dense(self._address, self._state.w, x, code, weight), []

    def _after_one(self, outcome: int, x: Any, added: list[Hashable]) -> None:
        if -outcome == BAD_VALUE:
            reason = self._describe_bad_row(self._row_table(x), 0).replace("Row 0 of X", "The example")
            self._forget_features(added)
            raise ValueError(reason.replace("; row 0, feature", "; feature").replace("row 0 of X", "the example"))
        self._attend(max(-outcome, DONE))
        if self.support is not None:
            self.support.absorb(self._row_table(x))

    def _row_table(self, x: Any) -> Table:
        """One example as a table, without unknown features of a dict."""
        if not isinstance(x, Mapping):
            return Table.of_row(self._encode_array(x, grow=False).reshape(1, -1), self.n_features, self.dtype)
        row, _ = self._encode_dict(x, grow=False)
        indices, values = row.arrays()
        order = np.argsort(indices, kind="stable")
        csr = CSR(np.array([0, order.size], np.int64), indices[order].astype(np.int32), values[order])
        return Table.of_row(csr, self.n_features, self.dtype)

    def predict_one(self, x: Any) -> Any:
        """Predict the class of one example; None before the first label.

        A model trained with dicts ignores unknown features; a model trained with a frame raises an error.
        """
        if not self.classes:
            return None
        if type(x) is dict and self.features is not None and self._plain and len(self.classes) > 1:
            guess = self._guess_at_once(x, self.features)
            if guess >= 0:
                return self.classes[guess]
        return self._decide(self.scores(self._row_table(x))[0], len(self.classes))

    def _guess_at_once(self, x: dict[Any, Any], vocabulary: dict[Hashable, int]) -> int:
        """Fast path: the class number of a dict of known features; -1 for any other dict."""
        row, state = self._dict_row or self._new_dict_row(), self._state
        try:
            row.fill(x, vocabulary)
        except (KeyError, struct.error, OverflowError):
            return -1
        guess_class = guess_two if state.w.ndim == 1 else guess_many
        guess: int = guess_class(state.w, state.bias, row.indices_address, row.values_address, row.count)
        return guess

    @property
    def _plain(self) -> bool:
        """Whether predictions use the last weights without a scale."""
        return self.readout == "last" and self.memory.scale is None

    def _decide(self, scores: Floats, classes: int) -> Any:
        if classes == 0:
            return None
        if classes == 1:
            return self.classes[0]
        return self.classes[predicted_class(scores)]

    # ---- features ----

    def _encode_array(self, x: Any, grow: bool) -> NDArray[Any]:
        """One example as a contiguous vector."""
        if type(x) is not np.ndarray:
            x = np.asarray(x)
        if self.features is not None and not self.frozen:
            if not self.features and x.ndim == 1 and grow:
                self.features, self.frozen = None, True
                self.add_features(x.size)
            elif self.features:
                raise ValueError(
                    "This model was trained with dicts and needs dicts; got an array. Pass {feature: value} for each example."
                )
        if x.shape != (self.n_features,):
            raise ValueError(
                f"One example must be a 1-D array of {self.n_features} features or a dict; got an array of shape {x.shape}. "
                "Use partial_fit or predict for many rows."
            )
        flags = x.flags
        if x.dtype != self.dtype or not flags.c_contiguous or not flags.aligned or not flags.writeable:
            x = np.array(x, dtype=self.dtype)
        vector: NDArray[Any] = x
        return vector

    def _encode_dict(self, x: Mapping[Any, Any], grow: bool) -> tuple[DictRow, list[Hashable]]:
        """One example as columns and values, and its new features."""
        vocabulary = self.features
        if vocabulary is None:
            raise ValueError(
                f"This model was trained with arrays of {self.n_features} features without names and needs such arrays; got a "
                "dict. Train with a DataFrame or with dicts to use names."
            )
        unknown = [name for name in x if name not in vocabulary]
        if unknown and self.frozen:
            raise ValueError(
                f"This model was trained with a frame and needs its columns; got the unknown feature {unknown[0]!r}. "
                "Train with dicts from the start to allow new features."
            )
        added: list[Hashable] = unknown if grow else []
        if unknown and not grow:
            x = {name: value for name, value in x.items() if name in vocabulary}
        for name in added:
            vocabulary[name] = len(vocabulary)
        try:
            row = self._dict_row or self._new_dict_row()
            row.fill(x, vocabulary)
        except (struct.error, OverflowError):
            self._forget_features(added)
            wrong = next(name for name, value in x.items() if not is_number(value))
            raise ValueError(
                f"The features of an example must be numbers; {wrong!r} is {x[wrong]!r}. Make a feature for each category, "
                f"for instance {{{f'{wrong}={x[wrong]}'!r}: 1}}."
            ) from None
        self.add_features(len(vocabulary))
        return row, added

    def _forget_features(self, added: list[Hashable]) -> None:
        if added and self.features is not None:
            for name in added:
                del self.features[name]
            self.n_features = len(self.features)


def kind_of_label(label: Any) -> str:
    """Return the type of a label, string or number (including booleans); raise an error for other types."""
    if isinstance(label, str | np.str_):
        return "string"
    if isinstance(label, bool | int | float | np.bool_ | np.integer | np.floating) and math.isfinite(label):
        return "number"
    raise ValueError(
        f"A label must be a string, a boolean or a finite number; got {label!r}. Remove examples without a label, or "
        "give them a separate class."
    )
