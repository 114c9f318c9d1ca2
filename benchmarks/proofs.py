"""The benchmarks of the proofs: what a certificate costs, and how fast separability is decided and verified."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, diags, hstack
from sklearn.datasets import load_svmlight_file

import rosenblatt
from rosenblatt import training
from rosenblatt.theory.run import RunCertificate

from . import data
from .core import fitting
from .harness import SMALLER, Options, Row, compare

__all__ = ["BENCHMARKS"]

NO_DATA = "needs --data FOLDER with the real sets"


def certificate(options: Options) -> Iterator[Row]:
    """What the certificate of a fit adds to it: the same fit with everything that only serves the certificate left out."""
    nothing = RunCertificate("undecided", 0, 0, 0, 0.0, (0.0, 0.0), None)
    for name, (X, y) in (
        ("200,000×100 dense", data.dense(options.size(200_000), 100)),
        ("200,000×50,000 CSR", data.sparse(options.size(200_000), 75, 50_000)),
    ):

        def bare(X: Any = X, y: Any = y) -> Any:
            with contextlib.ExitStack() as stack:
                stack.enter_context(mock.patch.object(training._CycleWatch, "returned", return_value=False))
                stack.enter_context(mock.patch.object(rosenblatt.Perceptron, "_certificate", return_value=nothing))
                return fitting(rosenblatt.Perceptron, X, y)()

        yield compare(
            f"{name}, 5 epochs",
            fitting(rosenblatt.Perceptron, X, y),
            bare,
            options,
            bar=1.03,
            kind=SMALLER,
            ours="Perceptron",
            peer="without certificate_",
        )


def certify(options: Options) -> Iterator[Row]:
    """Real sets: decide, prove, and verify in exact arithmetic."""
    if options.data is None or not (options.data / "a9a" / "a9a").exists():
        yield Row("a9a and mushrooms", note=NO_DATA)
        return
    a9a, mushrooms = _svmlight(options.data / "a9a" / "a9a"), _svmlight(options.data / "mushrooms" / "mushrooms")
    for name, (X, y), tol, bar in (
        ("a9a, 32,561×123", a9a, None, 10.0),
        ("a9a without contradictory duplicates", _without_contradictions(*a9a), None, 10.0),
        ("mushrooms, margin within 1%", mushrooms, 0.01, 20.0),
    ):

        def prove(X: Any = X, y: Any = y, tol: Any = tol) -> None:
            found = rosenblatt.certify(X, y, tol=tol)
            if found.status == "undecided" or not found.verify():
                raise RuntimeError(f"{found.status}, not verified")

        yield compare(
            name,
            prove,
            _linear_program(X, y),
            options,
            bar=bar,
            bar_unit="s",
            kind=SMALLER,
            ours="certify and verify",
            peer="SciPy's LP, status alone",
            note=f"status: {rosenblatt.certify(X, y, tol=None).status}",
        )


def status(options: Options) -> Iterator[Row]:
    """The status alone against SciPy's LP alone, on twenty random sets and on the real ones."""
    for name, X, y in _status_sets(options):
        ours, peer = rosenblatt.certify(X, y, tol=None).status, _linear_program(X, y)()
        yield compare(
            name,
            lambda X=X, y=y: rosenblatt.certify(X, y, tol=None),  # type: ignore[misc]
            _linear_program(X, y),
            options,
            bar=1.5,
            kind=SMALLER,
            ours="certify(tol=None)",
            peer="SciPy's LP",
            note=f"{ours}; the LP says {peer}",
        )


def _status_sets(options: Options) -> Iterator[tuple[str, Any, Any]]:
    rng = np.random.default_rng(2024)
    for number in range(20):
        n, d = [(20, 5), (100, 50), (400, 100), (2_000, 100), (5_000, 20)][number % 5]
        X = rng.standard_normal((n, d))
        y = np.where(X @ rng.standard_normal(d) > 0, 1, -1)
        kind = ("separable", "2% noise", "random labels", "integers, 2% noise")[number // 5]
        if kind.startswith("integers"):
            X = rng.integers(-3, 4, (n, d)).astype(float)
            y = np.where(X @ rng.standard_normal(d) > 0, 1, -1)
        if "noise" in kind:
            y[rng.random(n) < 0.02] *= -1
        if kind == "random labels":
            y = np.where(rng.random(n) < 0.5, 1, -1)
        yield f"{kind}, {n:,}×{d}", X, y
    if options.data is None:
        return
    yield "a9a", *_svmlight(options.data / "a9a" / "a9a")
    yield "mushrooms", *_svmlight(options.data / "mushrooms" / "mushrooms")
    tiny = options.data / "tiny"
    table = np.genfromtxt(tiny / "banknote_authentication.csv", delimiter=",", skip_header=1)
    yield "banknote", table[:, :-1], table[:, -1]
    rows = [line.split(",") for line in (tiny / "sonar.csv").read_text().split()]
    yield "sonar", np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])
    table = np.genfromtxt(options.data / "svmguide3" / "svmguide3.csv", delimiter=",", skip_header=1)
    yield "svmguide3", table[:, 1:], table[:, 0]


def _svmlight(path: Path) -> tuple[Any, Any]:
    X, y = load_svmlight_file(str(path))
    return csr_matrix(X), y


def _without_contradictions(X: Any, y: Any) -> tuple[Any, Any]:
    seen: dict[bytes, set[float]] = {}
    keys = [X.indices[X.indptr[i] : X.indptr[i + 1]].tobytes() for i in range(X.shape[0])]
    for key, label in zip(keys, y.tolist(), strict=True):
        seen.setdefault(key, set()).add(label)
    kept = np.array([len(seen[key]) == 1 for key in keys])
    return X[kept], y[kept]


def _linear_program(X: Any, y: Any) -> Callable[[], str]:
    """Is there a w with y <w, x> >= 1 for every example?"""
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    rows = csr_matrix(X) if hasattr(X, "tocsr") else np.asarray(X)
    if hasattr(rows, "tocsr"):
        signed = diags(signs) @ hstack([rows, np.ones((rows.shape[0], 1))]).tocsr()
    else:
        signed = signs[:, None] * np.hstack([rows, np.ones((rows.shape[0], 1))])
    width = signed.shape[1]

    def solve() -> str:
        found = linprog(np.zeros(width), A_ub=-signed, b_ub=-np.ones(signed.shape[0]), bounds=(None, None))
        return {0: "separable", 2: "inseparable"}.get(found.status, f"status {found.status}")

    return solve


BENCHMARKS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "certificate": certificate,
    "certify": certify,
    "status": status,
}
