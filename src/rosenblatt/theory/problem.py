"""The separation problem: which vectors must have a positive inner product with the weights.

Every question in `rosenblatt.theory` has one form: is there a vector w with ⟨z, w⟩ > 0 for every row z?
For two classes the rows are y·x. For many classes w stacks one block per class and the rows are Kesler's: x in the
block of the true class and −x in the block of a rival. One class against the rest puts ±x in one block at a time.
The rows are never stored; `Problem` computes with them from the examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.scores import is_label, positive_first, sign_of

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = Any
"""A C-ordered float64 array or a SciPy CSR matrix of float64."""

LARGEST_EXACT_INTEGER = 2**53


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy matrix. Does not import SciPy, which takes a third of a second, unless X may be one."""
    return type(X).__module__.startswith("scipy.sparse") and hasattr(X, "tocsr")


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows z of a problem: a separator w has ⟨z, w⟩ > 0 for all of them.

    Attributes
    ----------
    base : ndarray or CSR matrix, shape (n, p)
        The examples, with a last column of ones if there is a bias.
    target : ndarray of int64, shape (n,)
        The block of each example's class. With a single block, 0 is the positive class and 1 the negative one.
    blocks : int
        Number of stacked weight vectors: 1 for two classes.
    stacked : bool
        Kesler's rows (x in the true block, −x in a rival's) if true, else ±x in one block.
    fit_intercept : bool
        Whether the last column is the bias feature.
    classes : ndarray
        The labels, in the order of the blocks; for two classes the negative one first.
    name : str
        Description of the problem.

    Row number ``i * blocks + c`` belongs to example i and block c. Kesler's problem has no row for the true class.
    """

    base: Matrix
    target: Integers
    blocks: int
    stacked: bool
    fit_intercept: bool
    classes: NDArray[Any]
    name: str

    @property
    def examples(self) -> int:
        """Number of examples."""
        return int(self.base.shape[0])

    @property
    def width(self) -> int:
        """The length of one block, bias included."""
        return int(self.base.shape[1])

    @property
    def dimension(self) -> int:
        """The length of the stacked weight vector."""
        return self.blocks * self.width

    @cached_property
    def signs(self) -> Floats:
        """+1 where a block belongs to the example's class, else −1, one row per example."""
        return np.where(self.target[:, None] == np.arange(self.blocks), 1.0, -1.0)

    @cached_property
    def norms(self) -> Floats:
        """The length of each example, rounded up for use in error bounds."""
        with np.errstate(over="ignore"):  # infinity is a correct bound
            squares = self.base.multiply(self.base).sum(axis=1) if is_sparse(self.base) else (self.base**2).sum(axis=1)
        return (
            np.sqrt(np.asarray(squares, dtype=np.float64).ravel()) * (1 + (self.width + 4) * np.finfo(np.float64).eps)
            + 1e-160
        )

    def scores(self, w: NDArray[Any]) -> NDArray[Any]:
        """⟨z, w⟩ for every row, in the precision of w; infinity where Kesler's problem has no row."""
        blocks = np.asarray(self.base @ w.reshape(self.blocks, self.width).T)
        if not self.stacked:
            return np.asarray(blocks * self.signs).ravel()
        own = np.arange(self.examples)
        gaps = blocks[own, self.target][:, None] - blocks
        gaps[own, self.target] = np.inf
        return np.asarray(gaps).ravel()

    def score_errors(self, w: NDArray[Any]) -> Floats:
        """Upper bound on the error of `scores`, one number per example.

        The error of a sum of p products in any order is at most about p·ε·|z|·|w| (Higham 2002, chapter 3), bounded by the
        lengths (Cauchy-Schwarz); the constants here are larger than necessary, and the last term covers underflow.
        """
        length = float(np.linalg.norm(w.astype(np.float64)))
        unit = (4 * self.width + 16) * float(np.finfo(w.dtype).eps)
        return unit * self.norms * length + 1e-300 * self.width * (1 + length)

    def rows(self, numbers: Integers) -> tuple[Integers, list[list[tuple[int, int]]]]:
        """The examples behind some rows and, for each row, its (block, sign) pairs."""
        examples, blocks = np.divmod(numbers, self.blocks)
        parts: list[list[tuple[int, int]]] = []
        for i, c in zip(examples.tolist(), blocks.tolist()):
            own = int(self.target[i])
            if self.stacked:
                parts.append([(own, 1), (c, -1)])
            else:
                parts.append([(c, 1 if own == c else -1)])
        return examples, parts

    def arrays(self) -> tuple[Floats, NDArray[np.uint32], Integers, Integers, bool]:
        """(values, indices, starts, target, stacked) for compiled code; a dense array has no indices."""
        if is_sparse(self.base):
            values, indices, starts = self.base.data, self.base.indices.astype(np.uint32), self.base.indptr
        else:
            values, indices = self.base.ravel(), np.empty(0, np.uint32)
            starts = np.arange(self.examples + 1) * self.width
        return values, indices, starts.astype(np.int64), self.target, self.stacked


def read_examples(X: Any, fit_intercept: bool) -> Matrix:
    """Convert user input to a float64 array or CSR matrix, with a last column of ones if there is a bias."""
    if is_sparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        values = X.data
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"`X` must have two dimensions; got {X.ndim}. Give one row per example.")
        values = X
    if values.dtype == object:
        values = values.astype(np.float64)
    if not np.issubdtype(values.dtype, np.number) and values.dtype != np.bool_:
        raise TypeError(f"`X` must hold numbers; got {values.dtype}. Convert words and categories to numbers first.")
    if np.issubdtype(values.dtype, np.complexfloating):
        raise TypeError(
            f"`X` must hold real numbers; got {values.dtype}. Split real and imaginary parts into two columns."
        )
    if np.issubdtype(values.dtype, np.integer) and values.size:
        largest = max(int(values.max()), -int(values.min()))
        if largest > LARGEST_EXACT_INTEGER:
            raise ValueError(
                f"`X` must hold integers of at most 2**53 in size, which floats can hold exactly; got {largest}. "
                "Divide the column by a power of two or subtract a constant."
            )
    if X.shape[0] == 0 or X.shape[1] + fit_intercept == 0:
        raise ValueError(
            f"`X` must have at least one example and one feature; got shape {X.shape}. Check how it was read."
        )
    if not np.isfinite(values.astype(np.float64)).all():
        raise ValueError("`X` must hold finite numbers; got NaN or infinity. Drop or fill these examples first.")
    if is_sparse(X):
        import scipy.sparse as sp

        base = sp.csr_matrix(X, dtype=np.float64)
        base.eliminate_zeros()
        return sp.hstack([base, np.ones((base.shape[0], 1))], format="csr") if fit_intercept else base
    dense = np.empty((X.shape[0], X.shape[1] + fit_intercept))
    dense[:, : X.shape[1]] = X
    if fit_intercept:
        dense[:, -1] = 1.0
    return dense


def make_problem(X: Any, y: Any, fit_intercept: bool = True, problem: str = "stacked", positive: Any = None) -> Problem:
    """Read examples and labels and set up the separation problem.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)
        The examples.
    y : array, shape (n,)
        Their labels; two classes make a binary problem. A single class is taken as the positive one, unless it is −1 or "-".
    fit_intercept : bool, default=True
        Add the bias feature.
    problem : {"stacked", "one-vs-rest"}, default="stacked"
        How many classes are compared; ignored for two classes.
    positive : label or None, default=None
        The positive one of two classes; None: the second in sorted order, and + of signs written as text.

    Returns
    -------
    Problem
    """
    if problem not in {"stacked", "one-vs-rest"}:
        raise ValueError(
            f'`problem` must be "stacked" or "one-vs-rest"; got {problem!r}. Stacked is the multiclass rule.'
        )
    base = read_examples(X, bool(fit_intercept))
    labels = np.asarray(y)
    if labels.shape != (base.shape[0],):
        raise ValueError(
            f"`y` must have one label per example, shape {(base.shape[0],)}; got {labels.shape}. Pass the labels of X."
        )
    if np.issubdtype(labels.dtype, np.floating) and np.isnan(labels).any():
        raise ValueError("`y` must hold labels; got NaN. Drop the examples without a label first.")
    classes, index = np.unique(labels, return_inverse=True)
    index = index.astype(np.int64)
    bias = "with bias" if fit_intercept else "through the origin"
    if len(classes) != 1 and positive_first(classes, positive):
        classes, index = classes[::-1], 1 - index
    if len(classes) > 2:
        stacked = problem == "stacked"
        words = "Kesler's stacked problem" if stacked else "each class against the rest"
        return Problem(
            base, index, len(classes), stacked, bool(fit_intercept), classes, f"{words}, {len(classes)} classes, {bias}"
        )
    if len(classes) == 1:
        negative = sign_of(str(classes[0])) == -1 if positive is None else not is_label(classes[0], positive)
        target = np.full(len(labels), int(negative), dtype=np.int64)
        return Problem(base, target, 1, False, bool(fit_intercept), classes, f"one class on one side, {bias}")
    return Problem(base, 1 - index, 1, False, bool(fit_intercept), classes, f"two classes, {bias}")
