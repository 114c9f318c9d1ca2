"""Kernel functions on two blocks of examples.

Every kernel returns float64 values. Inner products are computed in float32 if both blocks are float32 and short enough
for integers to stay exact (|x·z| <= 2**24), which doubles the speed of the matrix product; otherwise in float64.
Powers are repeated products, so that integer data give exact kernel values up to 2**53.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from rosenblatt.dual.rows import Array, Block, Floats
from rosenblatt.engine.entries import power
from rosenblatt.model.scores import in_row_threads

KERNELS = ("poly", "rbf", "linear", "sigmoid", "precomputed")

_EXACT_FLOAT32 = 2.0**48  # (2**24)**2: the square of the largest inner product that float32 holds exactly
_DENSE_SHARE = 0.05  # above this fraction of non-zeros a dense product is faster than a sparse one
_DENSE_WIDTH = 20_000  # with more features than this, a block is never converted to a dense one


class Kernel(Protocol):
    """A function of two blocks that returns a float64 matrix, with one row per example of the first block."""

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        ...


def inner_products(a: Block, b: Block, may_be_short: bool = True) -> Array:
    """Inner products of the rows of two blocks; in float32 only if allowed and exact for integers."""
    if len(a) == 0 or len(b) == 0:
        return np.zeros((len(a), len(b)))
    x, z = _same_width(a.rows, b.rows)
    short = may_be_short and a.sq_norms.max() * b.sq_norms.max() <= _EXACT_FLOAT32
    dtype = np.float32 if short and x.dtype == np.float32 and z.dtype == np.float32 else np.float64
    x, z = x.astype(dtype, copy=False), z.astype(dtype, copy=False)
    if sp.issparse(x) and sp.issparse(z):
        if x.shape[1] > _DENSE_WIDTH or x.nnz < _DENSE_SHARE * x.shape[0] * x.shape[1]:
            return np.asarray((x @ z.T).toarray())
        x, z = x.toarray(), z.toarray()
    if sp.issparse(z):
        return np.ascontiguousarray((z @ x.T).T)
    return np.asarray(x @ z.T)


def _same_width(x: Any, z: Any) -> tuple[Any, Any]:
    """Widen the narrower of two sparse blocks: a stream of dicts may have added features since it was created."""
    width = max(x.shape[1], z.shape[1])
    return _widened(x, width), _widened(z, width)


def _widened(rows: Any, width: int) -> Any:
    if rows.shape[1] == width or not sp.issparse(rows):
        return rows
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


@dataclass(frozen=True)
class Polynomial:
    """(gamma x·z + coef0)^degree; Freund & Schapire's kernel with gamma = coef0 = 1."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        products = inner_products(a, b)
        out = np.empty(products.shape)

        def part(start: int, stop: int) -> None:
            power(products[start:stop], self.gamma, self.coef0, self.degree, out[start:stop])

        in_row_threads(part, len(a), out.size)
        return out


@dataclass(frozen=True)
class Linear:
    """x·z without a bias; the polynomial kernel of degree 1 has a bias."""

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        return inner_products(a, b).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Gaussian:
    """exp(-gamma |x - z|^2), the radial basis function."""

    gamma: float = 1.0

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        # Distances are small differences of large numbers, for which float32 is not precise enough.
        distances = inner_products(a, b, may_be_short=False)
        distances *= -2.0
        distances += a.sq_norms[:, None]
        distances += b.sq_norms[None, :]
        # Rounding can make the distance of a point to itself slightly negative, and its kernel value larger than 1.
        np.maximum(distances, 0.0, out=distances)
        distances *= -self.gamma
        return np.exp(distances, out=distances)


@dataclass(frozen=True)
class Sigmoid:
    """tanh(gamma x·z + coef0); not positive definite, so the mistake bounds do not hold."""

    gamma: float = 1.0
    coef0: float = 1.0

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        values = inner_products(a, b).astype(np.float64)
        values *= self.gamma
        values += self.coef0
        return np.tanh(values, out=values)


@dataclass(frozen=True)
class Precomputed:
    """Rows that already contain kernel values; the columns of the second block's examples are selected."""

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        picked = a.rows[:, b.ids]
        return np.ascontiguousarray(picked.toarray() if sp.issparse(picked) else picked, dtype=np.float64)


@dataclass(frozen=True)
class UserKernel:
    """A Python function of two blocks of rows; its result is checked for shape and type."""

    function: Callable[[Any, Any], Any]

    def __call__(self, a: Block, b: Block) -> Floats:
        """Kernel values of every row of a with every row of b."""
        if len(a) == 0 or len(b) == 0:
            return np.zeros((len(a), len(b)))
        answer = self.function(a.rows, b.rows)
        values = np.asarray(answer.toarray() if sp.issparse(answer) else answer, dtype=np.float64)
        if values.shape != (len(a), len(b)):
            raise ValueError(
                f"`kernel` of KernelPerceptron must return one value per pair of rows, shape ({len(a)}, {len(b)}); "
                f"got shape {values.shape}. Return a matrix for two blocks of rows, as X @ Z.T does."
            )
        return np.ascontiguousarray(values)


def make_kernel(
    kernel: str | Callable[[Any, Any], Any], degree: int = 3, gamma: float = 1.0, coef0: float = 1.0
) -> Kernel:
    """Create a kernel from its name or from a function.

    Parameters
    ----------
    kernel : {"poly", "rbf", "linear", "sigmoid", "precomputed"} or callable
        A callable takes two blocks of rows and returns a matrix.
    degree : int, default=3
        Power of the polynomial kernel, at least 1; a higher one gives a more curved boundary.
    gamma : float, default=1.0
        Scale of the inner product or the distance, greater than 0; a larger value makes the kernel more local.
    coef0 : float, default=1.0
        Constant of the polynomial and sigmoid kernels; a larger one gives more weight to the lower powers.
    """
    if callable(kernel):
        return UserKernel(kernel)
    if kernel not in KERNELS:
        raise ValueError(
            f"`kernel` of KernelPerceptron must be one of {', '.join(KERNELS)} or a function; got {kernel!r}. "
            "Pass a function of two blocks of rows for any other kernel."
        )
    if kernel == "poly" and (isinstance(degree, bool) or int(degree) != degree or degree < 1):
        raise ValueError(
            f"`degree` of KernelPerceptron must be a whole number of at least 1; got {degree!r}. "
            "Degree 1 is the linear perceptron with a bias."
        )
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(
            f"`gamma` of KernelPerceptron must be a finite number greater than 0; got {gamma!r}. "
            "Smaller values make the kernel smoother."
        )
    if not np.isfinite(coef0):
        raise ValueError(
            f"`coef0` of KernelPerceptron must be a finite number; got {coef0!r}. Use 1 for Freund & Schapire's kernel."
        )
    if kernel == "poly":
        return Polynomial(int(degree), float(gamma), float(coef0))
    if kernel == "rbf":
        return Gaussian(float(gamma))
    if kernel == "sigmoid":
        return Sigmoid(float(gamma), float(coef0))
    return Linear() if kernel == "linear" else Precomputed()


def resolve_gamma(kernel: str | Callable[[Any, Any], Any], gamma: float | str | None, rows: Any) -> float:
    """The scale of a kernel as a number; see `gamma` of `KernelPerceptron`."""
    if gamma is None:
        gamma = "auto" if kernel in ("rbf", "sigmoid") else 1.0
    if gamma == "auto":
        return 1.0 / max(int(rows.shape[1]), 1)
    if gamma == "scale":
        mean = float(rows.mean())
        variance = float((rows.multiply(rows) if sp.issparse(rows) else rows * rows).mean()) - mean * mean
        return 1.0 / (int(rows.shape[1]) * variance) if variance > 0 else 1.0
    if isinstance(gamma, str):
        raise ValueError(
            f'`gamma` of KernelPerceptron must be a number above 0, "auto", "scale" or None; got {gamma!r}. '
            "None is 1 for the polynomial kernel."
        )
    return float(gamma)
