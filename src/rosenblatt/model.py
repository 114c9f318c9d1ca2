"""The plain core model: classes and features in the order they arrived, weights, counts; predict, learn, grow.

It knows nothing of scikit-learn. The estimators are a thin coat over it, and what streams uses it directly.
"""

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import protocol
from .compiling import compile_step, shared_kernels
from .multiclass import ONE_VS_REST, SCHEMES
from .protocol import Settings, State
from .readouts import average
from .rows import BALANCED, CSR, EXP, IDENTITY
from .support import Support
from .table import Table

__all__ = ["LINKS", "Model", "Rule"]

LINKS = {"identity": IDENTITY, "exp": EXP, "balanced": BALANCED}

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_NO_WEIGHT = np.zeros(0)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A learning rule with its numbers, and the conventions it runs under.

    Parameters
    ----------
    step : callable
        ``step(margin, [sq_norm,] *params) -> tau``: how far to move.
    params : tuple of float
        The values of its hyperparameters, in the order of its arguments.
    target : float, default=inf
        Examples with a larger margin are left alone without asking `step`; the loss is ``max(0, target - margin)``
        (``max(0, -margin)`` where the target is infinite).
    link : {"identity", "exp", "balanced"}, default="identity"
        Whether steps are added to the weights or to their logarithms.
    on_zero, multiclass, fit_intercept
        As in the estimators.
    """

    step: Callable[..., float]
    params: tuple[float, ...] = ()
    target: float = np.inf
    link: str = "identity"
    on_zero: str = "update"
    multiclass: str = "max"
    fit_intercept: bool = True

    def settings(self) -> Settings:
        """The conventions as the numbers that kernels take."""
        return Settings(
            float(self.target),
            1.0 if self.fit_intercept else 0.0,
            protocol.ON_ZERO[self.on_zero],
            SCHEMES[self.multiclass],
            LINKS[self.link],
        )


class Model:
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
        self.state = self._new_state(1, self.n_features)
        self._kernels = compile_step(rule.step)
        self._settings = rule.settings()
        self._averaged: tuple[NDArray[Any], Floats] | None = None
        self._one_row = _RowBuffer()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kernels"}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        state = self.state
        if self.rule.link == "identity":  # two names for one array, which a copy has torn apart
            self.state = state._replace(v=state.w, v_bias=state.bias)
        self._kernels = compile_step(self.rule.step)

    # ---- shape ----

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
            np.zeros(7, np.int64), np.zeros(4), np.zeros(vectors),
            np.zeros(log, np.int64), np.zeros(log), np.zeros((log, vectors)),
        )  # fmt: skip
        if linked:
            self._relink(state)
        return state

    @property
    def vectors(self) -> int:
        """How many weight vectors there are: one for two classes, else one for each."""
        return self.state.v_bias.size

    def add_class(self, *labels: Any) -> None:
        """Let classes take part from now on. A third one turns w into -w and +w for the first two."""
        for label in labels:
            self.class_number[label] = len(self.classes)
            self.classes.append(label)
        if len(self.classes) > 2:
            self._reshape(len(self.classes), self.state.w.shape[0])

    def add_features(self, count: int) -> None:
        """Make room for so many features in all; the room is doubled, so that growing one by one stays cheap."""
        if count > self.state.w.shape[0]:
            self._reshape(self.vectors, max(count, 2 * self.state.w.shape[0], 16))
        self.n_features = max(count, self.n_features)

    def _reshape(self, vectors: int, capacity: int) -> None:
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
        self.state = new
        self._averaged = None

    def _relink(self, state: State) -> None:
        """Recompute all linked weights, scaled so that the largest logarithm in use gives 1 once it has become too large."""
        shift = state.sums[protocol.SHIFT]
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
        if self.support is not None:
            self.support.start_from(np.asarray(coef, dtype=np.float64), state.v_bias.copy())

    def resume(self, other: "Model") -> None:
        """Begin with the weights that another model ended with."""
        for mine, theirs in zip(self.state[:4], other.state[:4], strict=True):
            mine[...] = theirs[: mine.shape[0]]
        self.state.sums[protocol.SHIFT] = other.state.sums[protocol.SHIFT]
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
        kernel = self._kernels.two_classes if self.state.v.ndim == 1 else self._kernels.many_classes
        for rows, local, part in table.chunks(order):
            numbers = None if table.in_place else order[part]
            labels = y if numbers is None else y[numbers]
            importance = weight if numbers is None or not weight.size else weight[numbers]
            counts[protocol.POSITION] = 0
            reason = None
            while reason != protocol.DONE:
                reason = kernel(self.rule.params, self.state, self._settings, rows, labels, importance, local)
                if reason == protocol.BAD_VALUE:
                    raise ValueError(table.describe_bad_row(int(order[part][counts[protocol.POSITION]])))
                self._attend(reason, numbers)
                if reason == protocol.RUN_REACHED and on_run is not None:
                    on_run()

    def _attend(self, reason: int, numbers: Codes | None = None) -> None:
        """What a pass leaves to do: scale down linked weights that grew too large, empty the log of updates."""
        state = self.state
        if reason == protocol.TOO_LARGE:
            top = max(float(np.max(logs, initial=-np.inf)) for logs in (state.v, state.v_bias))
            if self.rule.link == "balanced":
                top = max(top, *(-float(np.min(logs, initial=np.inf)) for logs in (state.v, state.v_bias)))
            state.sums[protocol.SHIFT] = top
            self._relink(state)
        logged = int(state.counts[protocol.LOGGED])
        if self.support is not None and logged:
            rows = state.log_rows[:logged]
            rows = rows.copy() if numbers is None else numbers[rows]
            self.support.note(rows, state.log_ages[:logged], state.log_steps[:logged])
            state.counts[protocol.LOGGED] = 0

    def learn(self, table: Table, labels: Sequence[Any], weight: Floats = _NO_WEIGHT) -> None:
        """Learn examples in the order received; a class never seen before takes part from its first example on.

        The result is the same as that of `learn_one` for one after the other. If an example cannot be learned, ValueError
        is raised and the model is as it was before the call.
        """
        known = self.class_number
        codes = np.array([known.get(label, -1) for label in labels], np.int64)
        arrivals = np.flatnonzero(codes < 0)
        undo = self._snapshot(slice(None) if arrivals.size else table.touched())
        try:
            start = 0
            for t in arrivals.tolist():
                if labels[t] not in known:
                    self.run(table, codes, weight, np.arange(start, t))
                    start = t
                    self.add_class(labels[t])
                codes[t] = known[labels[t]]
            self.run(table, codes, weight, np.arange(start, len(labels)))
        except BaseException:
            undo()
            raise
        if self.support is not None:
            self.support.absorb(table)

    def _snapshot(self, touched: Any) -> Callable[[], None]:
        """A function that puts the model back as it is now; of the weights it remembers those of the touched features."""
        state, classes = self.state, len(self.classes)
        big = [array for array in {id(a): a for a in (state.w, state.v, state.u)}.values() if array.size]
        small = [state.bias, state.v_bias, state.u_bias, state.counts, state.sums]
        saved = [array[touched].copy() for array in big] + [array.copy() for array in small]

        def undo() -> None:
            for array, before in zip(big, saved, strict=False):
                array[touched] = before
            for array, before in zip(small, saved[len(big) :], strict=True):
                array[...] = before
            self.state = state
            for label in self.classes[classes:]:
                del self.class_number[label]
            del self.classes[classes:]
            if self.support is not None:
                self.support.forget_noted()

        return undo

    def learn_one(self, x: Any, label: Any, weight: float = 1.0) -> Any:
        """Predict one example, then learn it: gives the prediction, None before any label was seen."""
        rows, added = self._encode(x, grow=True)
        known = len(self.classes)
        new_class = label not in self.class_number
        ahead = self.readout != "last" or new_class
        guess = self._predict_row(rows) if ahead else None
        undo = None
        if new_class:
            undo = self._snapshot(slice(None))
            self.add_class(label)
        buffer = self._one_row
        buffer.label[0] = self.class_number[label]
        buffer.weight[0] = weight
        counts = self.state.counts
        counts[protocol.POSITION] = 0
        kernel = self._kernels.two_classes if self.state.v.ndim == 1 else self._kernels.many_classes
        reason = kernel(
            self.rule.params, self.state, self._settings, rows, buffer.label,
            _NO_WEIGHT if weight == 1.0 else buffer.weight, buffer.order,
        )  # fmt: skip
        if reason == protocol.BAD_VALUE:
            if undo is not None:
                undo()
            self._forget_features(added)
            raise ValueError(
                Table.of_row(rows, self.state.w.shape[0], self.dtype)
                .describe_bad_row(0)
                .replace("Row 0 of X", "The example")
            )
        if reason != protocol.DONE or self.support is not None:
            self._attend(reason)
            if self.support is not None:
                self.support.absorb(Table.of_row(rows, self.state.w.shape[0], self.dtype))
        self._averaged = None
        return guess if ahead else self._decide(self.state.scores, known)

    def predict_one(self, x: Any) -> Any:
        """The class of one example, or None before any label was seen; unknown features of a dict are ignored."""
        rows, _ = self._encode(x, grow=False)
        return self._predict_row(rows)

    def _predict_row(self, rows: Any) -> Any:
        if not self.classes:
            return None
        return self._decide(self.scores(Table.of_row(rows, self.state.w.shape[0], self.dtype))[0], len(self.classes))

    def _decide(self, scores: Floats, classes: int) -> Any:
        if classes == 0:
            return None
        if classes == 1:
            return self.classes[0]
        if classes == 2:
            return self.classes[1 if scores[0] >= 0 else 0]
        return self.classes[int(np.argmax(scores))]

    # ---- features ----

    def _encode(self, x: Any, grow: bool) -> tuple[Any, list[Hashable]]:
        """One example as a row that kernels take, and the features that it added."""
        if isinstance(x, Mapping):
            return self._encode_dict(x, grow)
        x = np.asarray(x)
        if self.features is not None and not self.frozen:
            if not self.features and x.ndim == 1 and grow:
                self.features, self.frozen = None, True
                self.add_features(x.size)
            elif self.features:
                raise ValueError(
                    "This model has learned from dicts and takes dicts; got an array. Pass {feature: value} for each example."
                )
        if x.shape != (self.n_features,):
            raise ValueError(
                f"One example must be a 1-D array of {self.n_features} features or a dict; got an array of shape {x.shape}. "
                "Use partial_fit or predict for many rows."
            )
        if x.dtype != self.dtype or not x.flags.c_contiguous or not x.flags.aligned:
            x = np.ascontiguousarray(x, dtype=self.dtype)
        return x.reshape(1, -1), []

    def _encode_dict(self, x: Mapping[Any, Any], grow: bool) -> tuple[CSR, list[Hashable]]:
        vocabulary = self.features
        if vocabulary is None:
            raise ValueError(
                f"This model has learned from arrays of {self.n_features} features without names and takes such arrays; got a "
                "dict. Train with a DataFrame or with dicts to use names."
            )
        added: list[Hashable] = []
        try:
            indices = [vocabulary[name] for name in x]
            values = list(x.values())
        except KeyError:
            if self.frozen:
                unknown = next(name for name in x if name not in vocabulary)
                raise ValueError(
                    f"This model has learned from a frame and takes its columns; got the unknown feature {unknown!r}. "
                    "Train with dicts from the start to let features come as they will."
                ) from None
            if grow:
                added = [name for name in x if name not in vocabulary]
                for name in added:
                    vocabulary[name] = len(vocabulary)
                self.add_features(len(vocabulary))
            pairs = [(vocabulary[name], value) for name, value in x.items() if name in vocabulary]
            indices, values = [index for index, _ in pairs], [value for _, value in pairs]
        try:
            return self._one_row.fill(indices, values, self.dtype), added
        except (TypeError, ValueError):
            self._forget_features(added)
            wrong = next(name for name, value in x.items() if not _is_number(value))
            raise ValueError(
                f"The features of an example must be numbers; {wrong!r} is {x[wrong]!r}. Turn a category into a feature of its "
                f"own, for instance {{{f'{wrong}={x[wrong]}'!r}: 1}}."
            ) from None

    def _forget_features(self, added: list[Hashable]) -> None:
        if added and self.features is not None:
            for name in added:
                del self.features[name]
            self.n_features = len(self.features)

    # ---- read out ----

    def weights(self) -> tuple[NDArray[Any], Floats]:
        """The weights that predictions are made from, feature-major, and the biases."""
        state = self.state
        if self.readout != "average":
            return state.w, state.bias
        if self._averaged is None:
            examples = float(state.sums[protocol.AGE])
            mean = average(state.w, state.u, examples).astype(self.dtype, copy=False)
            self._averaged = mean, average(state.bias, state.u_bias, examples)
        return self._averaged

    def coef(self) -> tuple[NDArray[Any], Floats]:
        """The same as scikit-learn has them: one row of features for each weight vector, and the intercepts."""
        w, bias = self.weights()
        w = w[: self.n_features]
        return (w[None, :].copy() if w.ndim == 1 else np.ascontiguousarray(w[:, : self.vectors].T)), bias.copy()

    def scores(self, table: Table) -> Floats:
        """One score for each row and weight vector; votes for a voted model."""
        if self.readout == "vote" and self.support is not None:
            separate = self._settings.scheme == ONE_VS_REST
            self._check_finite(table)
            return self.support.votes(table, float(self.state.sums[protocol.AGE]), self._settings.bias, separate)
        return self.raw_scores(table, *self.weights())

    def raw_scores(self, table: Table, w: NDArray[Any], bias: Floats, order: Codes | None = None) -> Floats:
        """<w, x> + bias for each row and weight vector, in the order of summation of the learning kernels."""
        w = w.astype(table.dtype, copy=False)
        order = np.arange(len(table)) if order is None else order
        kernels = shared_kernels()
        out = np.empty((order.size, bias.size))
        for rows, local, part in table.chunks(order):
            if w.ndim == 1:
                bad = kernels.score_two(w, bias, rows, local, out[part, 0])
            else:
                bad = kernels.score_many(w, bias, rows, local, out[part])
            if bad >= 0:
                raise ValueError(table.describe_bad_row(int(order[part.start + int(bad)])))
        return out

    def _check_finite(self, table: Table) -> None:
        values = table.rows.values if table.sparse else table.rows
        if not np.isfinite(values).all():
            rows = table.as_scipy() if table.sparse else table.rows
            sums = np.asarray(rows.sum(axis=1)) if table.sparse else np.isfinite(rows).all(axis=1)
            bad = np.flatnonzero(~np.isfinite(sums)) if table.sparse else np.flatnonzero(~sums)
            raise ValueError(table.describe_bad_row(int(bad[0])))


class _RowBuffer:
    """Room for one example, used again and again."""

    def __init__(self) -> None:
        self.label = np.zeros(1, np.int64)
        self.weight = np.ones(1)
        self.order = np.zeros(1, np.int64)
        self.boundaries = np.zeros(2, np.int64)

    def fill(self, indices: list[int], values: list[Any], dtype: Any) -> CSR:
        """One sparse row, sorted."""
        count = len(indices)
        numbers = np.array(values) if count else np.zeros(0)
        if numbers.dtype.kind not in "bfiu" or numbers.shape != (count,):
            raise TypeError("not numbers")
        row = CSR(self.boundaries, np.array(indices, np.int64), numbers.astype(dtype, copy=False))
        self.boundaries[1] = count
        shared_kernels().sort_row(row.indices, row.values, count)
        return row


def _is_number(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "bfiu" and np.ndim(value) == 0
