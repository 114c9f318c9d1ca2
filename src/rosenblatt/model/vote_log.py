"""The updates of a voted model in order, stored instead of its weight vectors.

Every weight vector of the run is a running sum of updates, so its scores are a running sum of inner products with the
support rows: one matrix product and one sweep give the votes of all of them.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.entries import score_many, sparse_products, vote_many, vote_two

from .matrix import Table
from .scores import in_row_threads

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK_ENTRIES = 1 << 20
"""Number of inner products that each thread keeps while voting."""

_COLUMNS = 12
"""Examples that the dense products take together."""


class Support:
    """Updates in the order they were made.

    Parameters
    ----------
    max_updates : int or None
        When there are more, the older half is folded into the starting weights: those vectors lose their votes.

    Attributes
    ----------
    rows : array or CSR array of shape (support rows, features)
        The examples that caused an update; in one training run each occurs once.
    entries, ages, steps : arrays
        For each update its row in `rows`, the number of earlier examples (by weight), and the step of each weight vector.
    """

    def __init__(self, max_updates: int | None = None) -> None:
        self.max_updates = max_updates
        self.start_coef: Floats | None = None
        self.start_bias: Floats = np.zeros(1)
        self.start_age = 0.0
        self.blocks: list[Any] = []
        self.entries: Integers = np.zeros(0, np.int64)
        self.ages: Floats = np.zeros(0)
        self.steps: Floats = np.zeros((0, 1))
        self._noted: list[tuple[Integers, Floats, Floats]] = []

    def __len__(self) -> int:
        return self.entries.size

    @property
    def rows(self) -> Any:
        """The support rows as one matrix."""
        if len(self.blocks) > 1:
            width = max(block.shape[1] for block in self.blocks)
            self.blocks = [_stack([_widened(block, width) for block in self.blocks])]
        return self.blocks[0] if self.blocks else np.zeros((0, 0))

    def start_from(self, coef: Floats, bias: Floats) -> None:
        """Set the starting weights, one row for each weight vector."""
        self.start_coef, self.start_bias = coef.copy(), bias.copy()

    def widen(self, vectors: int) -> None:
        """Turn the log of one weight vector into that of -w, +w and zeros, or add vectors without updates."""
        if vectors == self.steps.shape[1]:
            return
        self.steps = _more_vectors(self.steps, vectors)
        self._noted = [(rows, ages, _more_vectors(steps, vectors)) for rows, ages, steps in self._noted]
        self.start_bias = _more_vectors(self.start_bias[None, :], vectors)[0]
        if self.start_coef is not None:
            self.start_coef = np.ascontiguousarray(_more_vectors(self.start_coef.T, vectors).T)

    def note(self, rows: Integers, ages: Floats, steps: Floats) -> None:
        """Store updates by the numbers of their rows; `absorb` then copies the rows."""
        self._noted.append((rows, ages.copy(), steps.copy()))

    def noted(self) -> tuple[Integers, Floats]:
        """The rows and steps of the updates noted since the last `absorb`, in order."""
        rows, _, steps = (np.concatenate(parts) for parts in zip(*self._noted, strict=True))
        return rows, steps

    def snapshot(self) -> Callable[[], None]:
        """A function that restores the present state; updates noted but not absorbed are dropped."""
        before = dict(vars(self), _noted=[])
        return lambda: vars(self).update(before)

    def absorb(self, table: Table) -> None:
        """Copy the rows of the noted updates, each of them once."""
        if not self._noted:
            return
        rows, ages, steps = (np.concatenate(parts) for parts in zip(*self._noted, strict=True))
        self._noted.clear()
        distinct, entries = np.unique(rows, return_inverse=True)
        have = sum(block.shape[0] for block in self.blocks)
        self.blocks.append(table.take(distinct))
        self.entries = np.concatenate([self.entries, entries + have])
        self.ages = np.concatenate([self.ages, ages])
        self.steps = np.concatenate([self.steps, steps])
        if self.max_updates is not None and len(self) > self.max_updates:
            self._fold(self.max_updates)

    def _fold(self, most: int) -> None:
        """Make the older half of the updates part of the starting weights, as often as it takes to keep at most `most`.

        Each time `most` + 1 updates are divided, as if they had arrived one by one.
        """
        rows, vectors = self.rows, self.steps.shape[1]
        coef = np.zeros((vectors, 0)) if self.start_coef is None else self.start_coef
        coef, bias = _widened(coef, rows.shape[1]).copy(), self.start_bias
        done, count = 0, most + 1 - most // 2
        while len(self) - done > most:
            part = slice(done, done + count)
            moved = rows[self.entries[part]].T
            coef += Products(moved, np.float64).with_rows(np.ascontiguousarray(self.steps[part].T)).T
            bias = bias + np.cumsum(self.steps[part], axis=0)[-1]
            done += count
        warnings.warn(
            f"The vote has reached max_support={most} updates: the oldest {done} lose their votes and become part of the "
            "starting weights. Raise max_support to keep more, or use AveragedPerceptron, whose memory does not grow.",
            UserWarning,
            stacklevel=5,
        )
        self.start_coef, self.start_bias, self.start_age = coef, bias, float(self.ages[done - 1])
        kept, entries = np.unique(self.entries[done:], return_inverse=True)
        self.blocks = [rows[kept]]
        self.entries, self.ages, self.steps = entries, self.ages[done:], self.steps[done:]

    def survived(self, examples: float) -> Floats:
        """Number of examples (by weight) for which each weight vector was in use, the starting one first."""
        return np.diff(np.concatenate([[self.start_age], self.ages, [examples]]))

    def votes(self, table: Table, examples: float, bias: float, separate: bool) -> Floats:
        """Σ survived · vote for each example and weight vector; for two classes Σ survived · sign(score).

        The vote for an example does not depend on the others, nor on whether they are stored sparsely. All cores take part.
        """
        vectors = self.steps.shape[1]
        survived = self.survived(examples)
        support = Products(_widened(self.rows, table.shape[1]), table.dtype)
        start = None if self.start_coef is None else Products(_widened(self.start_coef, table.shape[1]), np.float64)
        out = np.zeros((table.shape[0], vectors))
        size = min(max(1, _BLOCK_ENTRIES // max(1, support.count) // _COLUMNS), 8) * _COLUMNS
        size *= 16 if support.sparse and table.sparse else 1
        X = table.as_scipy() if table.sparse else table.rows
        wrong: list[int] = []

        def part(first: int, stop: int) -> None:
            for begin in range(first, stop, size):
                block = X[begin : min(begin + size, stop)]
                products = support.with_rows(block)
                scores = np.zeros((vectors, block.shape[0]))
                scores += (self.start_bias * bias)[:, None]
                if start is not None:
                    scores += start.with_rows(block)
                votes = np.zeros_like(scores)
                if vectors == 1:
                    votes += survived[0] * np.sign(scores)
                    vote_two(products, self.entries, self.steps, survived[1:], bias, scores, votes)
                else:
                    none = (np.zeros((1, block.shape[0])), np.zeros(1, np.int64), np.zeros((1, vectors)))
                    vote_many(*none, survived[:1], 0.0, separate, scores, votes)
                    vote_many(products, self.entries, self.steps, survived[1:], bias, separate, scores, votes)
                out[begin : begin + block.shape[0]] = votes.T
                bad = np.flatnonzero(~np.isfinite(scores).all(axis=0))  # a score stays infinite after an overflow
                if bad.size:
                    wrong.append(begin + int(bad[0]))
                    return

        in_row_threads(part, table.shape[0], table.shape[0] * len(self))
        if wrong:
            raise ValueError(table.describe_bad_row(min(wrong)))
        return out


class Products:
    """Inner products of the rows of a matrix with rows of others. Each sum has the order of the features.

    BLAS and SciPy add in an order that depends on the number of rows and on whether they are stored sparsely. Here an inner
    product has the same bits in all cases.

    Parameters
    ----------
    rows : array or CSR array
        The rows.
    dtype : dtype
        The float type of the sums.
    """

    def __init__(self, rows: Any, dtype: Any) -> None:
        self.sparse = hasattr(rows, "tocsr")
        self.count, self._dtype = rows.shape[0], dtype
        self._rows = Table(rows if self.sparse else np.ascontiguousarray(rows, dtype=dtype), dtype).rows
        self._order = np.arange(self.count)

    def with_rows(self, others: Any) -> Floats:
        """The inner product of each row with each of the `others`, an array or CSR array with the same features."""
        count = others.shape[0]
        if not (self.sparse and hasattr(others, "tocsr")):
            columns = np.zeros((others.shape[1], -(-count // 4) * 4), self._dtype)
            columns[:, :count] = (others.toarray() if hasattr(others, "tocsr") else others).T
            made = np.empty((self.count, count))
            score_many(columns, np.zeros(count), self._rows, self._order, made)
            return made
        mine, theirs = self._rows, Table(others.T.tocsr(), self._dtype).rows
        index = np.promote_types(mine.indices.dtype, theirs.indices.dtype)
        sums = np.zeros((self.count, count), self._dtype)
        mine, theirs = (part._replace(indices=part.indices.astype(index, copy=False)) for part in (mine, theirs))
        sparse_products(*mine, *theirs, sums)
        return sums.astype(np.float64, copy=False)


def _more_vectors(steps: Floats, vectors: int) -> Floats:
    """Columns for more weight vectors: one becomes -w, +w, and new ones are zero."""
    have = np.concatenate([-steps, steps], axis=1) if steps.shape[1] == 1 else steps
    return np.concatenate([have, np.zeros((have.shape[0], vectors - have.shape[1]))], axis=1)


def _widened(rows: Any, features: int) -> Any:
    """The same rows with zeros for features that were added later."""
    if rows.shape[1] == features:
        return rows
    if hasattr(rows, "tocsr"):
        rows = rows.copy()
        rows.resize((rows.shape[0], features))
        return rows
    return np.concatenate([rows, np.zeros((rows.shape[0], features - rows.shape[1]))], axis=1)


def _stack(blocks: list[Any]) -> Any:
    if hasattr(blocks[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate([block.toarray() if hasattr(block, "toarray") else block for block in blocks])
