"""Measurements that need a new process: the time of its first fit, and the memory that a fit adds.

    python -m benchmarks.fresh {first-fit,memory} {ours,own-rule,scikit-learn} {dense,csr,classes} [--rows N]

Prints one JSON object. Run by the benchmarks `first-fit` and `memory`.
"""

import argparse
import json
import sys
import time
from typing import Any

from .peak_memory import peak

started = time.perf_counter()

import numpy as np  # noqa: E402 - the imports are timed


def learner(library: str) -> Any:
    """The perceptron class of a library; imports only that library."""
    if library == "ours":
        from rosenblatt import Perceptron

        return Perceptron
    if library == "own-rule":
        from rosenblatt import rule

        @rule
        def Own(margin: float, eta0: float = 1.0) -> float:  # noqa: N802 - the name of a class
            """The perceptron as a rule of the user's own."""
            return eta0 if margin <= 0 else 0.0

        return Own
    from sklearn.linear_model import Perceptron as Peer

    return Peer


def csr(parts: Any, **options: Any) -> Any:
    """A CSR matrix of SciPy, which neither library needs for dense rows."""
    from scipy.sparse import csr_matrix

    return csr_matrix(parts, **options)


def fit(make: Any, X: Any, y: Any) -> None:
    make(max_iter=5, tol=None, shuffle=False).fit(X, y)


def first_fit(make: Any, kind: str, rows: int) -> dict[str, float]:
    """The time of the imports, and the wall and CPU time of the first fit.

    On its first use Numba loads extensions of other installed packages. This is part of the first fit, and also given separately.
    """
    imports = time.perf_counter() - started
    rng = np.random.default_rng(0)
    X: Any = rng.standard_normal((rows, 20))
    y = rng.integers(0, 10 if kind == "classes" else 2, rows)
    if kind == "csr":
        X = csr(X)
    start, start_cpu = time.perf_counter(), time.process_time()
    extensions = 0.0
    if "numba" in sys.modules:
        from numba.core import entrypoints

        entrypoints.init_all()
        extensions = time.perf_counter() - start
    fit(make, X, y)
    first, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return {"imports": imports, "first": first, "cpu": cpu, "extensions": extensions}


def memory(make: Any, kind: str, rows: int) -> dict[str, float]:
    """The increase of the peak memory by a fit, and the size of X in bytes."""
    # All arrays are filled in place: a temporary array would raise the peak before the fit.
    rng = np.random.default_rng(0)
    columns = 200
    values = np.empty((rows, columns))
    rng.standard_normal(out=values)
    X: Any = values
    if kind == "csr":
        indices = np.empty((rows, columns), np.int32)
        indices[:] = 7 * np.arange(columns, dtype=np.int32)
        boundaries = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
        X = csr((values.ravel(), indices.ravel(), boundaries), shape=(rows, 7 * columns))
    y = rng.integers(0, 10 if kind == "classes" else 2, rows)
    fit(make, X[:100], y[:100])  # loads the code, or compiles it if it is not cached
    before = peak()
    fit(make, X, y)
    growth = peak() - before
    size = values.nbytes + (indices.nbytes if kind == "csr" else 0)
    copy = X.copy()
    if peak() - before < 0.9 * size:
        raise RuntimeError("the measured peak does not grow with a copy of X, so it is wrong")
    del copy
    return {"growth": float(growth), "bytes": float(size)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["first-fit", "memory"])
    parser.add_argument("library", choices=["ours", "own-rule", "scikit-learn"])
    parser.add_argument("kind", choices=["dense", "csr", "classes"])
    parser.add_argument("--rows", type=int, default=1000)
    chosen = parser.parse_args()
    task = first_fit if chosen.task == "first-fit" else memory
    print(json.dumps(task(learner(chosen.library), chosen.kind, chosen.rows)))


if __name__ == "__main__":
    main()
