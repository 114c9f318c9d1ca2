"""The plain core model: classes and features in the order they arrived, weights, counts; predict, learn, grow.

It knows nothing of scikit-learn. The estimators are a thin coat over it, and what streams uses it directly.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import loop
from rosenblatt.engine.rows import TILE
from rosenblatt.engine.state import State, pack

from .matrix import Table
from .one_example import SingleExamples
from .records import DictRow, kind_of_label
from .rule import Rule
from .scores import margins
from .vote_log import Support

__all__ = ["Model", "Rule"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_NO_WEIGHT = np.zeros(0)


class Model(SingleExamples):
    """Weights that learn.

    Parameters
    ----------
    rule : Rule
        What to learn by.
    readout : {"last", "average", "vote"}, default="last"
        What predictions are made from.
    n_features : int or None, default=None
        How many features examples have; None: they are dicts, and features are added as they come.
    dtype : dtype, default=float64
        The float type of the weights.
    max_support : int or None, default=None
        How many updates a vote remembers at most.
    """

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
        self._dict_row = DictRow(self.dtype)
        self._kernels = rule.kernels()
        self.memory = rule.memory(1, self.n_features)
        self.state = self._new_state(1, self.n_features)

    def __getstate__(self) -> dict[str, Any]:
        compiled = {"_dict_row", "_kernels", "_kept", "_packed", "_pass", "_learn_dense", "_learn_sparse"}
        return {name: value for name, value in self.__dict__.items() if name not in compiled}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._dict_row = DictRow(self.dtype)
        self._kernels = self.rule.kernels()
        state = self._state
        if self.rule.link == "identity":  # two names for one array, which a copy has torn apart
            state = state._replace(v=state.w, v_bias=state.bias)
        self.state = state

    # ---- shape ----

    @property
    def state(self) -> State:
        """All that learning changes, as arrays."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        numbers = np.array(self.rule.params, dtype=np.float64), np.array(self._settings, dtype=np.float64)
        single = np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.int64)
        self._kept = (
            *state[1:],
            *numbers,
            *single,
            *self.memory.arrays,
        )  # the addresses are good as long as the arrays are kept
        self._packed = pack(self._kept, self.rule.address())
        kernels, many = self._kernels, state.v.ndim == 2
        self._pass = kernels.many_classes if many else kernels.two_classes
        self._row_shape = None if self.features is not None and not self.frozen else (self.n_features,)
        self._learn_dense = kernels.many_classes_dense if many else kernels.two_classes_dense
        self._learn_sparse = kernels.many_classes_sparse if many else kernels.two_classes_sparse

    def _new_state(self, vectors: int, capacity: int) -> State:
        shape = (capacity,) if vectors == 1 else (capacity, -(-vectors // 4) * 4)
        v, v_bias = np.zeros(shape, self.dtype), np.zeros(vectors)
        linked = self.rule.link != "identity"
        w, bias = (np.empty_like(v), np.empty_like(v_bias)) if linked else (v, v_bias)
        averaging = self.readout == "average"
        log = 1024 if self.readout == "vote" else 0
        state = State(
            w, bias, v, v_bias,
            np.zeros(shape if averaging else (0,) * len(shape)), np.zeros(vectors),
            np.zeros(7, np.int64), np.zeros(5), np.zeros(vectors),
            np.zeros(log, np.int64), np.zeros(log), np.zeros((log, vectors)),
            np.zeros((TILE, shape[-1] if vectors > 1 else 0), self.dtype),
            np.zeros(vectors, np.int64), np.zeros(vectors), np.zeros(vectors),
        )  # fmt: skip
        if linked:
            self._relink(state)
        return state

    def add_class(self, *labels: Any) -> None:
        """Let classes take part from now on. A third one turns w into -w and +w for the first two."""
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
            self._reshape(len(self.classes), self.state.w.shape[0])

    def add_features(self, count: int) -> None:
        """Make room for so many features in all; the room is doubled, so that growing one by one stays cheap."""
        self.n_features = max(count, self.n_features)
        if count > self.state.w.shape[0]:
            self._reshape(self.vectors, max(count, 2 * self.state.w.shape[0], 16))

    def _reshape(self, vectors: int, capacity: int) -> None:
        memory = self.memory.grown(vectors, capacity)  # first, because it may be refused
        old, new = self.state, self._new_state(vectors, capacity)
        for before, after in ((old.v, new.v), (old.u, new.u)):
            if before.ndim == after.ndim:
                after[tuple(slice(size) for size in before.shape)] = before
            elif before.size:
                after[: before.size, 0], after[: before.size, 1] = -before, before
        for before, after in ((old.v_bias, new.v_bias), (old.u_bias, new.u_bias)):
            after[: before.size] = before
            if before.size == 1 < after.size:
                after[0], after[1] = -before[0], before[0]
        np.copyto(new.counts, old.counts)
        np.copyto(new.sums, old.sums)
        if self.rule.link != "identity":
            self._relink(new)
        if self.support is not None:
            self.support.widen(vectors)
        self.memory = memory
        self.state = new
        self._averaged = None

    def _relink(self, state: State) -> None:
        """Recompute all linked weights, scaled by exp(-shift)."""
        shift = state.sums[loop.SHIFT]
        for weights, logs in ((state.w, state.v), (state.bias, state.v_bias)):
            negative = np.exp(-logs - shift) if self.rule.link == "balanced" else 0.0
            np.copyto(weights, np.exp(logs - shift) - negative)
        if not self.rule.fit_intercept:
            state.bias[:] = 0.0

    def start_from(self, coef: NDArray[Any], intercept: NDArray[Any]) -> None:
        """Set the starting weights: one row of `coef` for each weight vector."""
        state = self.state
        if self.rule.link == "exp":
            if not ((coef > 0).all() and (not self.rule.fit_intercept or (intercept > 0).all())):
                raise ValueError(
                    "The starting weights of a rule that learns logarithms must be greater than 0; got some that are not. "
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
        if self.rule.link != "identity":
            self._relink(state)
        self.memory.started(state.w, state.bias)
        if self.support is not None:
            self.support.start_from(np.asarray(coef, dtype=np.float64), state.v_bias.copy())

    def last_margins(self, table: Table, y: Codes, rows: Codes) -> Floats:
        """The margins of some examples by the last weights, whatever the readout."""
        return margins(self.raw_scores(table, *self.last(), rows), y[rows])

    def resume(self, other: "Model") -> None:
        """Begin with the weights that another model ended with."""
        weights = other.state[:4] if other.memory.scale is None else other.last() * 2
        for mine, theirs in zip(self.state[:4], weights, strict=True):
            mine[...] = theirs[: mine.shape[0]]
        self.memory.started(self.state.w, self.state.bias)
        self.state.sums[loop.SHIFT] = other.state.sums[loop.SHIFT]
        if self.support is not None:
            w, bias = other.state.w[: self.n_features], other.state.bias
            self.support.start_from((w[None, :] if w.ndim == 1 else w[:, : bias.size].T).astype(np.float64), bias)

    # ---- learn ----

    def run(
        self, table: Table, y: Codes, weight: Floats, order: Codes, on_run: Callable[[], None] | None = None
    ) -> None:
        """Learn rows of a table in the given order; y holds class numbers, `weight` one number per row or nothing.

        A bad value raises ValueError and leaves the model half-taught: `learn` undoes that, a training run throws
        its model away. `on_run` is called when as many examples as ``counts[GOAL]`` in a row needed no update.
        """
        self._averaged = None
        counts = self.state.counts
        for rows, local, part in table.chunks(order):
            numbers = None if table.in_place else order[part]
            labels = y if numbers is None else y[numbers]
            importance = weight if numbers is None or not weight.size else weight[numbers]
            counts[loop.POSITION] = 0
            reason = None
            while reason != loop.DONE:
                reason = self._pass(self._packed, self.state.w, rows, labels, importance, local)
                if reason == loop.BAD_VALUE:
                    raise ValueError(self._describe_bad_row(table, int(order[part][counts[loop.POSITION]])))
                self._attend(reason, numbers)
                if reason == loop.RUN_REACHED and on_run is not None:
                    on_run()

    def guess_and_learn(self, table: Table, y: Codes, order: Codes) -> Codes:
        """Predict each row with the average so far, then learn it; the class numbers predicted. Needs float64 and two classes."""
        self._averaged = None
        kernel = self._kernels.two_classes_averaged if self.vectors == 1 else self._kernels.many_classes_averaged
        guesses = np.empty(order.size, np.int64)
        for rows, local, part in table.chunks(order):
            labels = y if table.in_place else y[order[part]]
            reason = kernel(self._packed, self.state.w, rows, labels, _NO_WEIGHT, local, guesses[part])
            if reason != loop.DONE:
                place = int(self.state.counts[loop.POSITION])
                raise ValueError(self._describe_bad_row(table, int(order[part][place])))
        return guesses

    def _describe_bad_row(self, table: Table, number: int) -> str:
        """Why a row could not be learned: a bad value, one too large, or a step that no rule may take."""
        with np.errstate(over="ignore", invalid="ignore"):
            row = table.take(np.array([number]))
            values = np.asarray(row.data if table.sparse else row, dtype=np.float64)
            sound = np.isfinite(self.state.scores).all() and np.isfinite(np.sum(values * values))
        if not sound:
            return table.describe_bad_row(number)
        return (
            f"The step of a rule must be a finite number of at least 0; `{self.rule.step.__name__}` gave another for row "
            f"{number} of X. Check what the step function returns, or whether it raises, for such margins and norms."
        )

    def _attend(self, reason: int, numbers: Codes | None = None) -> None:
        """What a pass leaves to do: bring linked weights back to scale, empty the log of updates."""
        state = self.state
        if reason == loop.OUT_OF_SCALE:
            top = max(float(np.max(logs, initial=-np.inf)) for logs in (state.v, state.v_bias))
            if self.rule.link == "balanced":
                top = max(top, *(-float(np.min(logs, initial=np.inf)) for logs in (state.v, state.v_bias)))
            state.sums[loop.SHIFT] = top
            self._relink(state)
        logged = int(state.counts[loop.LOGGED])
        if self.support is not None and logged:
            rows = state.log_rows[:logged]
            rows = rows.copy() if numbers is None else numbers[rows]
            self.support.note(rows, state.log_ages[:logged], state.log_steps[:logged])
            state.counts[loop.LOGGED] = 0

    def learn(self, table: Table, labels: Sequence[Any], places: Codes, weight: Floats = _NO_WEIGHT) -> None:
        """Learn examples in the order received; a class never seen before takes part from its first example on.

        `places` holds for each example the place of its label in `labels`, which are all in use. The result is the same as that
        of `learn_one` for one after the other. If an example cannot be learned, ValueError is raised and the model is as it was
        before the call.
        """
        numbers = np.array([self.class_number.get(label, -1) for label in labels], np.int64)
        arrivals = sorted((int(np.argmax(places == new)), new) for new in np.flatnonzero(numbers < 0).tolist())
        # A new class gives the model new arrays, and linked weights may be scaled all together.
        everything = arrivals or self.rule.link != "identity" or self.memory.spreads
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
        """A function that puts the model back as it is now; of the weights it remembers those of the touched features."""
        state, memory, classes = self.state, self.memory, len(self.classes)
        undo_support = self.support.snapshot() if self.support is not None else None
        big = [weights for weights in {id(a): a for a in (state.w, state.v, state.u)}.values() if weights.size]
        big += memory.by_feature
        small = [state.bias, state.v_bias, state.u_bias, state.counts, state.sums, *memory.others]
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
