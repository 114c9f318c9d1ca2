"""One example at a time, as a stream brings them: dicts whose features may be new, vectors, labels that may be new."""

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import loop
from rosenblatt.engine.codegen import shared_kernels
from rosenblatt.engine.csr import CSR

from .matrix import Table
from .records import DictRow, is_number
from .scoring import Scoring

__all__ = ["SingleExamples"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class SingleExamples(Scoring, ABC):
    """What the core model does with single examples; the model itself keeps the weights and learns tables of rows."""

    classes: list[Any]
    class_number: dict[Any, int]
    features: dict[Hashable, int] | None
    frozen: bool
    _packed: Any
    _row_shape: Any
    _dict_row: DictRow
    _learn_dense: Any
    _learn_sparse: Any

    @abstractmethod
    def add_class(self, *labels: Any) -> None:
        """Make room for further classes."""

    @abstractmethod
    def add_features(self, count: int) -> None:
        """Make room for so many features in all."""

    @abstractmethod
    def _snapshot(self, touched: Any) -> Callable[[], None]: ...

    @abstractmethod
    def _attend(self, reason: int, numbers: Codes | None = None) -> None: ...

    @abstractmethod
    def _describe_bad_row(self, table: Table, number: int) -> str: ...

    def learn_one(self, x: Any, label: Any, weight: float = 1.0) -> Any:
        """Predict one example, then learn it: gives the prediction, None before any label was seen."""
        if not 0.0 <= weight < math.inf:
            raise ValueError(
                f"The weight of an example must be a finite number of at least 0; got {weight!r}. 1 counts it once, 0 not at all."
            )
        code = self.class_number.get(label)
        if code is None or self.readout != "last" or len(self.classes) < 2:
            return self._learn_one_slowly(x, label, weight)
        # What most calls are is done at once: a dict of known features, or an array that is as it should be.
        added: list[Hashable] = []
        kind = type(x)
        if kind is dict and self.features is not None:
            row = self._dict_row
            try:
                row.fill(x, self.features)
            except (KeyError, struct.error, OverflowError):
                outcome, added = self._learn_row(x, code, weight)
            else:
                outcome = self._learn_sparse(
                    self._packed, self._state.w, row.indices_address, row.values_address, row.count, code, weight
                )
        elif kind is np.ndarray and x.dtype is self.dtype and x.shape == self._row_shape and x.flags.carray:
            outcome = self._learn_dense(self._packed, self._state.w, x, code, weight)
        else:
            outcome, added = self._learn_row(x, code, weight)
        if outcome >= 0:
            return self.classes[outcome]
        guess = self._decide(self._state.scores, len(self.classes))
        self._after_one(outcome, x, added)
        return guess

    def _learn_one_slowly(self, x: Any, label: Any, weight: float) -> Any:
        """The same where the prediction must be made apart: new classes, few classes, averages and votes."""
        guess = self.predict_one(x) if self.n_features else (self.classes[0] if self.classes else None)
        self.teach(x, label, weight)
        return guess

    def teach(self, x: Any, label: Any, weight: float = 1.0) -> None:
        """Learn one example without predicting it, for those whose prediction was made before."""
        undo = None
        if label not in self.class_number:
            undo = self._snapshot(slice(None))
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

    def _learn_row(self, x: Any, code: int, weight: float) -> tuple[int, list[Hashable]]:
        """Learn one example: the class predicted for it, or, negative, why it needs attention; and the features it added."""
        if isinstance(x, Mapping):
            row, added = self._encode_dict(x, grow=True)
            addresses = row.indices_address, row.values_address
            return self._learn_sparse(self._packed, self._state.w, *addresses, row.count, code, weight), added
        x = self._encode_array(x, grow=True)  # first, because it may give the model new arrays
        return self._learn_dense(self._packed, self._state.w, x, code, weight), []

    def _after_one(self, outcome: int, x: Any, added: list[Hashable]) -> None:
        if -outcome == loop.BAD_VALUE:
            reason = self._describe_bad_row(self._row_table(x), 0).replace("Row 0 of X", "The example")
            self._forget_features(added)
            raise ValueError(reason.replace("; row 0, feature", "; feature").replace("row 0 of X", "the example"))
        self._attend(max(-outcome, loop.DONE))
        if self.support is not None:
            self.support.absorb(self._row_table(x))

    def _row_table(self, x: Any) -> Table:
        """One example as a table; features that a dict holds and the model does not know are left out."""
        if not isinstance(x, Mapping):
            return Table.of_row(self._encode_array(x, grow=False).reshape(1, -1), self.n_features, self.dtype)
        row, _ = self._encode_dict(x, grow=False)
        indices, values = row.arrays()
        order = np.argsort(indices, kind="stable")
        csr = CSR(np.array([0, order.size], np.int64), indices[order].astype(np.int32), values[order])
        return Table.of_row(csr, self.n_features, self.dtype)

    def predict_one(self, x: Any) -> Any:
        """The class of one example, or None before any label was seen.

        A model that grew with dicts ignores features that it does not know; one that learned from a frame refuses them.
        """
        if not self.classes:
            return None
        if type(x) is dict and self.features is not None and self._plain and len(self.classes) > 1:
            guess = self._guess_at_once(x, self.features)
            if guess >= 0:
                return self.classes[guess]
        return self._decide(self.scores(self._row_table(x))[0], len(self.classes))

    def _guess_at_once(self, x: dict[Any, Any], vocabulary: dict[Hashable, int]) -> int:
        """The class number of a dict of known features, as most are; -1 if it needs a closer look."""
        row, state, kernels = self._dict_row, self._state, shared_kernels()
        try:
            row.fill(x, vocabulary)
        except (KeyError, struct.error, OverflowError):
            return -1
        kernel = kernels.guess_two if state.w.ndim == 1 else kernels.guess_many
        guess: int = kernel(state.w, state.bias, row.indices_address, row.values_address, row.count)
        return guess

    @property
    def _plain(self) -> bool:
        """Whether predictions are made from the weights as they are."""
        return self.readout == "last" and self.memory.scale is None

    def _decide(self, scores: Floats, classes: int) -> Any:
        if classes == 0:
            return None
        if classes == 1:
            return self.classes[0]
        if classes == 2:
            return self.classes[1 if scores[0] >= 0 else 0]
        return self.classes[int(np.argmax(scores))]

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
                    "This model has learned from dicts and takes dicts; got an array. Pass {feature: value} for each example."
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
        """One example as columns and values, and the features that it added."""
        vocabulary = self.features
        if vocabulary is None:
            raise ValueError(
                f"This model has learned from arrays of {self.n_features} features without names and takes such arrays; got a "
                "dict. Train with a DataFrame or with dicts to use names."
            )
        unknown = [name for name in x if name not in vocabulary]
        if unknown and self.frozen:
            raise ValueError(
                f"This model has learned from a frame and takes its columns; got the unknown feature {unknown[0]!r}. "
                "Train with dicts from the start to let features come as they will."
            )
        added: list[Hashable] = unknown if grow else []
        if unknown and not grow:
            x = {name: value for name, value in x.items() if name in vocabulary}
        for name in added:
            vocabulary[name] = len(vocabulary)
        try:
            self._dict_row.fill(x, vocabulary)
        except (struct.error, OverflowError):
            self._forget_features(added)
            wrong = next(name for name, value in x.items() if not is_number(value))
            raise ValueError(
                f"The features of an example must be numbers; {wrong!r} is {x[wrong]!r}. Turn a category into a feature of its "
                f"own, for instance {{{f'{wrong}={x[wrong]}'!r}: 1}}."
            ) from None
        self.add_features(len(vocabulary))
        return self._dict_row, added

    def _forget_features(self, added: list[Hashable]) -> None:
        if added and self.features is not None:
            for name in added:
                del self.features[name]
            self.n_features = len(self.features)
            self._dict_row = DictRow(self.dtype)
