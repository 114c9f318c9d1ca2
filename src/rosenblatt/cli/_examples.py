"""Examples of files for several epochs: kept in memory if they fit, otherwise read again in each epoch.

Data that fit into memory are one block and are visited in the same order as by `fit`. Larger data are shuffled within the batches
of the reader, which costs nothing.
"""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli._errors import Usage
from rosenblatt.data.batch import compact, join
from rosenblatt.data.sources import Opened
from rosenblatt.engine.conventions import CSR
from rosenblatt.model.linear import Model
from rosenblatt.model.scores import ordered
from rosenblatt.training.loop import Block

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

MEMORY = 64 << 20
"""Largest size in bytes of the examples that are kept between epochs."""


MANY = 200
"""A larger number of classes is seldom meant."""


def refuse_fractions(labels: Iterable[Any]) -> None:
    """Raise an error if a label is a fraction, and so not the number of a class."""
    fractions = [label for label in labels if isinstance(label, float)]
    if fractions:
        raise Usage(
            f"A label must be the name or the number of a class; got {len(fractions):,} different fractions, such as "
            f"{fractions[0]}. If it is a quantity to predict, give --regression; else name another column with --label."
        )


def class_factors(weights: Mapping[Any, float], classes: Sequence[Any], complete: bool) -> Floats:
    """The weight of each class, 1 for one that is not named; with `complete` every name must be that of a class."""
    by_text = {str(name): float(weight) for name, weight in weights.items()}
    strange = [name for name in by_text if name not in map(str, classes)]
    if strange and complete:
        from rosenblatt.data.errors import did_you_mean

        raise Usage(
            f"class_weight must name classes ({', '.join(map(str, classes[:10]))}); got {strange[0]!r}. "
            f"{did_you_mean(strange[0], map(str, classes))}"
        )
    return np.array([by_text.get(str(label), 1.0) for label in classes])


Item = TypeVar("Item")


class _Waiting(KeyboardInterrupt):
    """Interrupt during the wait for a live source, when all data received so far have been passed on."""


class Interrupt:
    """Record Ctrl-C or SIGTERM instead of stopping at once, so that the model can be saved."""

    def __init__(self) -> None:
        self.asked = False
        self.abort_message = ""  # if set, there is nothing to save yet: an interrupt stops at once with this message
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for kind in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[kind] = signal.signal(kind, self._note)
            except ValueError:  # signals can be handled in the main thread only
                break
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked or self.abort_message:
            raise KeyboardInterrupt(self.abort_message)  # the second request stops at once
        self.asked = True
        if frame is not None and frame.f_code is Opened._read_some.__code__:
            raise _Waiting

    def before_end(self, batches: Iterable[Item], held: Callable[[], bool] = lambda: False) -> Iterator[Item]:
        """Yield the batches of a live source until an interrupt, which also ends the wait for the next batch.

        While `held()` is true, there are batches that have been received before.
        """
        try:
            for batch in batches:
                yield batch
                if self.asked and not held():
                    return
        except _Waiting:
            return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, handler in self._before.items():
            signal.signal(name, handler)


class Mixture:
    """Whether the batches of a file have its classes in about the same shares, as those of a shuffled file."""

    def __init__(self) -> None:
        self._counts = np.zeros(0)
        self._different = self._pairs = 0.0

    def add(self, codes: Codes) -> None:
        """Count the classes of a batch, and the pairs of its examples that differ in class."""
        counts = np.bincount(codes[codes >= 0], minlength=self._counts.size).astype(np.float64)
        size = counts.sum()
        self._different += size * size - np.square(counts).sum()
        self._pairs += size * (size - 1)
        self._counts = np.pad(self._counts, (0, counts.size - self._counts.size)) + counts

    @property
    def is_sorted(self) -> bool:
        """Whether two examples of a batch differ in class less than half as often as two examples of the file."""
        size = self._counts.sum()
        different = size * size - np.square(self._counts).sum()
        return bool(self._different * size * (size - 1) < 0.5 * different * self._pairs)


class Examples:
    """Examples of a stream for several epochs.

    Parameters
    ----------
    stream : Stream
        Source of the examples.
    model : Model
        Model to which new classes and features are added when they appear.
    class_weight : dict, "balanced" or None, default=None
        Factor for the weights of the examples of each class; "balanced" only if all examples fit into memory.
    limit : int
        Number of bytes that may be kept in memory.
    interrupt : Interrupt or None, default=None
        Ends the reading of standard input early.
    order : callable, default=ordered
        All classes of a new model, in their order, from the first labels.

    Attributes
    ----------
    mixture : Mixture
        The classes of the batches, if the examples do not fit into memory.
    """

    def __init__(
        self,
        stream: Any,
        model: Model,
        class_weight: Any = None,
        limit: int = MEMORY,
        *,
        interrupt: Interrupt | None = None,
        order: Callable[[list[Any]], list[Any]] = ordered,
    ) -> None:
        self.stream, self.model, self.limit, self.interrupt, self.order = stream, model, limit, interrupt, order
        self.class_weight = class_weight
        self.whole: Block | None = None
        self.mixture = Mixture()
        self._places = np.zeros(0, np.int64)
        self._kept: list[Any] | None = []

    @property
    def read_once(self) -> bool:
        """Whether a second pass is impossible, as with standard input that does not fit into memory."""
        return self.whole is None and self.stream.bytes_total is None

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of one pass."""
        if self.whole is not None:
            yield self.whole
            return
        kept, size, first, batches = self._kept, 0, 0, iter(self.stream)
        first_pass = kept is not None
        if self.stream.bytes_total is None and self.interrupt is not None:
            batches = self.interrupt.before_end(batches, lambda: self.stream.holds)
        self._kept = None
        if kept is not None:  # the first pass: keep the examples if they fit
            for batch in batches:
                kept.append(compact(batch))
                size += _bytes(kept[-1])
                if size > self.limit:
                    break
            else:
                self._check_labels(sum(batch.size for batch in kept))
                self._add_new(sort=True)
                self.whole = self._join(kept)
                yield self.whole
                return
            self._check_labels(sum(batch.size for batch in kept))
            self._add_new(sort=True)
            kept.reverse()  # to free them one by one
            while kept:
                block = self._block(kept.pop(), first)
                first += len(block.table)
                self._count(block.codes)
                yield block
        for batch in batches:
            self._add_new(sort=False)
            block = self._block(batch, first)
            first += len(block.table)
            if first_pass:
                self._count(block.codes)
            yield block

    def _check_labels(self, examples: int) -> None:
        """Raise an error if the label column seems to hold texts or measurements."""
        labels = self.stream.labels
        refuse_fractions(labels)
        if len(labels) > max(100, examples / 2):
            shown = str(labels[0]) if len(str(labels[0])) <= 40 else str(labels[0])[:39] + "…"
            number = (
                "If it is a quantity to predict, give --regression; else name" if type(labels[0]) is int else "Name"
            )
            raise Usage(
                f"The label should have few different values; got {len(labels):,} of them in {examples:,} examples, such as "
                f"{shown if type(labels[0]) is int else repr(shown)}. {number} its column with --label."
            )

    def _add_new(self, sort: bool) -> None:
        """Add new classes and features to the model; with `sort`, the classes of a new model are in the order of `fit`."""
        model = self.model
        new = [label for label in self.stream.labels[self._places.size :] if label not in model.class_number]
        if new:
            model.add_class(*(new if not sort else sorted(new) if model.classes else self.order(new)))
        if self._places.size < len(self.stream.labels):
            self._places = np.array([model.class_number[label] for label in self.stream.labels], np.int64)
        if self.stream.encoder.n_features > model.n_features:
            model.add_features(self.stream.encoder.n_features)

    def _count(self, codes: Codes) -> None:
        """Note the classes of a batch in the first of several passes."""
        self.mixture.add(codes)

    def _weights(self, codes: Codes, weights: Floats, whole: bool) -> Floats:
        if self.class_weight is None:
            return weights
        classes = self.model.classes
        if isinstance(self.class_weight, str):
            if not whole:
                raise Usage(
                    "class_weight must be a dict or None for data larger than memory, as class sizes are known too late; got "
                    f"{self.class_weight!r}. Give the examples weights instead, or train on a sample."
                )
            counts = np.bincount(codes[codes >= 0], minlength=len(classes))
            factors = float(counts.sum()) / (len(classes) * np.maximum(1, counts))
        else:
            factors = class_factors(self.class_weight, classes, whole)
        own = factors[codes]
        return own * weights if weights.size else own

    def _codes(self, codes: Codes) -> Codes:
        places = np.append(self._places, -1)  # -1, which means no label, stays -1
        return places[codes]

    def _block(self, batch: Any, first: int, whole: bool = False) -> Block:
        codes = self._codes(batch.codes)
        table = batch.table(self.model.n_features, self.model.dtype)
        return Block(table, codes, self._weights(codes, batch.weights, whole), first, whole)

    def _join(self, batches: list[Any]) -> Block:
        return self._block(join(batches), 0, whole=True)


def _bytes(batch: Any) -> int:
    """Size of a batch in memory."""
    parts = batch.rows if isinstance(batch.rows, CSR) else (batch.rows,)
    return sum(int(part.nbytes) for part in parts) + 8 * int(batch.codes.size + batch.weights.size)
