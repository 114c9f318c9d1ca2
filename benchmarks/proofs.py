"""Benchmarks of the proofs: the cost of a certificate, and the time to decide and verify separability."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, diags, hstack, random_array
from sklearn.datasets import load_svmlight_file

import rosenblatt
from rosenblatt.estimators import certificate as proving
from rosenblatt.experiments import committee_mistakes
from rosenblatt.theory.bounds import committee_winnow
from rosenblatt.theory.run import RunCertificate
from rosenblatt.training.cycles import CycleWatch

from . import data
from .core import fitting
from .harness import SMALLER, Options, Row, compare

NO_DATA = "needs --data FOLDER with the real sets"


def certificate(options: Options) -> Iterator[Row]:
    """The cost of the certificate: a fit, compared with the same fit without the certificate."""
    nothing = RunCertificate("undecided", 0, 0, 0, 0.0, (0.0, 0.0), None)
    for name, (X, y) in (
        ("200,000×100 dense", data.dense(options.size(200_000), 100)),
        ("200,000×50,000 CSR", data.sparse(options.size(200_000), 75, 50_000)),
    ):

        def bare(X: Any = X, y: Any = y) -> Any:
            with contextlib.ExitStack() as stack:
                stack.enter_context(mock.patch.object(CycleWatch, "proof", return_value=None))
                stack.enter_context(mock.patch.object(rosenblatt.Perceptron, "_certificate", return_value=nothing))
                stack.enter_context(mock.patch.object(proving, "smallest_margin", return_value=0.0))
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
    """The status alone, compared with SciPy's LP, on twenty random sets and on five real ones."""
    for name, X, y in (*random_sets(), *real_sets(options.data)):
        found, peer = rosenblatt.certify(X, y, tol=None), _linear_program(X, y)()
        if not found.verify():
            raise RuntimeError(f"{name}: {found.status}, not verified")
        yield compare(
            name,
            lambda X=X, y=y: rosenblatt.certify(X, y, tol=None),  # type: ignore[misc]
            _linear_program(X, y),
            options,
            bar=1.5,
            kind=SMALLER,
            ours="certify(tol=None)",
            peer="SciPy's LP",
            note=f"{found.status}, verified; the LP says {peer}",
        )


def committee(options: Options) -> Iterator[Row]:
    """A hundred thousand experts, a panel of five: the most mistakes of Winnow over twenty seeds, compared with its bound."""
    experts, panel, rounds = options.size(100_000), 5, 4_000
    mistakes = [
        float(committee_mistakes(experts, panel, rounds, seed, learners=("winnow",))["winnow"]) for seed in range(20)
    ]
    bound = committee_winnow(experts, panel)
    yield Row(
        f"p = {experts:,}, k = {panel}, {rounds:,} rounds, 20 seeds",
        "Winnow, the most",
        "2k² ln(p/k)",
        "mistakes",
        max(mistakes),
        bound,
        SMALLER,
        max(mistakes) / bound,
        (min(mistakes) / bound, max(mistakes) / bound),
        bar=1.0,
        met=max(mistakes) <= bound,
        note="the smallest and largest numbers instead of quartiles",
        ours_all=mistakes,
    )


def random_sets() -> Iterator[tuple[str, Any, Any]]:
    """Separable or not, noisy, at the threshold n = 2d where random labels stop being separable, sparse, badly scaled."""
    rng = np.random.default_rng(2024)

    def normal(n: int, d: int) -> Any:
        return rng.standard_normal((n, d))

    def linear(X: Any, noise: float = 0.0, classes: int = 2) -> Any:
        labels = (X @ rng.standard_normal((X.shape[1], classes))).argmax(axis=1)
        return np.where(rng.random(len(labels)) < noise, rng.integers(0, classes, len(labels)), labels)

    def toss(X: Any, classes: int = 2) -> Any:
        return rng.integers(0, classes, X.shape[0])

    for n, d in ((20, 5), (400, 100), (5_000, 20)):
        X = normal(n, d)
        yield f"separable, {n:,}×{d}", X, linear(X)
    for n, d in ((100, 20), (2_000, 100)):
        X = normal(n, d)
        yield f"2% noise, {n:,}×{d}", X, linear(X, 0.02)
    X = rng.integers(-3, 4, (400, 100)).astype(float)
    yield "integers, 2% noise, 400×100", X, linear(X, 0.02)
    for n, d in ((24, 10), (42, 20), (91, 50), (112, 50), (202, 100)):
        X = normal(n, d)
        yield f"random labels at the threshold, {n}×{d}", X, toss(X)
    X = normal(1_000, 3)
    yield "random labels, 1,000×3", X, toss(X)
    X = normal(50, 1_000)
    yield "random labels, 50×1,000", X, toss(X)
    X = normal(150, 4)
    yield "3 classes, separable, 150×4", X, linear(X, classes=3)
    X = normal(100, 20)
    yield "5 classes, random labels, 100×20", X, toss(X, 5)
    X = normal(300, 10)
    yield "4 classes, 2% noise, 300×10", X, linear(X, 0.02, 4)
    X = random_csr(1_000, 300, 15 / 300, rng)
    yield "sparse, separable, 1,000×300", X, linear(X)
    X = random_csr(500, 200, 8 / 200, rng)
    yield "sparse, random labels, 500×200", X, toss(X)
    for n, d, words in ((300, 20, "separable"), (80, 30, "random labels")):
        X = normal(n, d)
        y = linear(X) if words == "separable" else toss(X)
        yield f"columns from 1e-4 to 1e4, {words}, {n}×{d}", X * 10.0 ** rng.integers(-4, 5, d), y


def random_csr(n: int, d: int, density: float, rng: np.random.Generator) -> Any:
    """Rows with uniform values at random positions."""
    return csr_matrix(random_array((n, d), density=density, rng=rng, format="csr"))


def real_sets(folder: Path | None) -> Iterator[tuple[str, Any, Any]]:
    """Five sets from the data folder; none without it."""
    if folder is None:
        return
    yield "a9a", *_svmlight(folder / "a9a" / "a9a")
    yield "mushrooms", *_svmlight(folder / "mushrooms" / "mushrooms")
    tiny = folder / "tiny"
    table = np.genfromtxt(tiny / "banknote_authentication.csv", delimiter=",", skip_header=1)
    yield "banknote", table[:, :-1], table[:, -1]
    rows = [line.split(",") for line in (tiny / "sonar.csv").read_text().split()]
    yield "sonar", np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])
    table = np.genfromtxt(folder / "svmguide3" / "svmguide3.csv", delimiter=",", skip_header=1)
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
    """Is there a w with <w, z> >= 1 for every row z = yx, or for Kesler's rows of many classes? The rows are made in advance."""
    classes, target = np.unique(y, return_inverse=True)
    rows = hstack([csr_matrix(X), np.ones((X.shape[0], 1))]).tocsr()
    if len(classes) == 2:
        signed = diags(2.0 * target - 1.0) @ rows
    else:
        identity = np.eye(len(classes))
        gaps = [identity[own] - identity[c] for own in target for c in range(len(classes)) if c != own]
        wide = rows[np.repeat(np.arange(len(target)), len(classes) - 1)]
        signed = hstack([diags(np.array(gaps)[:, c]) @ wide for c in range(len(classes))]).tocsr()
    constraints = signed if hasattr(X, "tocsr") else signed.toarray()
    width = constraints.shape[1]

    def solve() -> str:
        found = linprog(np.zeros(width), A_ub=-constraints, b_ub=-np.ones(constraints.shape[0]), bounds=(None, None))
        return {0: "separable", 2: "inseparable"}.get(found.status, "nothing: numerical difficulties")

    return solve


BENCHMARKS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "certificate": certificate,
    "certify": certify,
    "status": status,
    "committee": committee,
}
