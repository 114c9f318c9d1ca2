"""Benchmarks of the core: each is a function that yields rows. A `fit` is always complete, with validation."""

import dataclasses
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

import rosenblatt
from rosenblatt.engine.native import LIBRARY
from rosenblatt.model.matrix import Table

from . import bare, data, loops
from .harness import SMALLER, Options, Row, compare, measure

EPOCHS = 5
NO_MNIST = "needs --data FOLDER with MNIST's files in FOLDER/mnist"


def fitting(estimator: Any, X: Any, y: Any, **parameters: Any) -> Callable[[], Any]:
    """A complete fit that must run all its epochs."""
    parameters = {"max_iter": EPOCHS, "tol": None, "shuffle": False, **parameters}

    def fit() -> Any:
        fitted = estimator(**parameters).fit(X, y)
        if fitted.n_iter_ != EPOCHS:
            raise RuntimeError(f"{estimator.__name__} stopped after {fitted.n_iter_} epochs instead of {EPOCHS}")
        return fitted

    return fit


def against_sklearn(what: str, X: Any, y: Any, options: Options, bar: float | None, **parameters: Any) -> Row:
    """Compare the two Perceptrons; the note has the training accuracies, which show that both were trained."""
    ours = fitting(rosenblatt.Perceptron, X, y, **parameters)
    peer = fitting(sklearn.linear_model.Perceptron, X, y, **parameters)
    note = f"training accuracy {ours().score(X, y):.4f} and {peer().score(X, y):.4f}"
    return compare(what, ours, peer, options, bar=bar, ours="Perceptron", peer="sklearn Perceptron", note=note)


def repeat(work: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        work()


def looping(X: Any, y: Any) -> Callable[[], int]:
    """The epochs of a fit without all that is before and after them; returns the number of mistakes."""
    table, codes, order = Table(X), y.astype(np.int64), np.arange(X.shape[0])
    no_weight = np.zeros(0)

    def loop() -> int:
        model = rosenblatt.Perceptron()._new_model(X.shape[1], table.dtype)
        model.add_class(0, 1)
        for _ in range(EPOCHS):
            model.run(table, codes, no_weight, order)
        return int(model.state.counters.mistakes)

    return loop


def dense(options: Options) -> Iterator[Row]:
    """Dense rows in order, compared with the speed of reading X and with scikit-learn."""
    for rows, features, times_faster in ((200_000, 100, 2.5), (50_000, 784, 3.0)):
        X, y = data.dense(options.size(rows), features)
        what = f"{X.shape[0]:,}×{features} float64, {EPOCHS} epochs"
        yield from against_reading(what, X, y, options)
        yield against_sklearn(what, X, y, options, times_faster)


def against_reading(what: str, X: Any, y: Any, options: Options) -> Iterator[Row]:
    """The loop without and with updates, and a whole fit, compared with a loop in C that only reads X."""
    scores = X @ np.random.default_rng(0).normal(size=X.shape[1])
    far = np.abs(scores) > np.quantile(np.abs(scores), 0.3)
    for part, labels, name, fit in (
        (np.ascontiguousarray(X[far]), (scores > 0.0)[far], "separable rows, the loop", False),
        (X, y, "the loop", False),
        (X, y, "whole fit", True),
    ):
        try:
            reading = bare.reading(part, EPOCHS)
        except bare.NoCompilerError as error:
            yield Row(f"{what}, of the speed of reading", note=str(error))
            return
        loop = looping(part, labels)
        updates = f"updates after {loop() / (EPOCHS * len(part)):.1%} of the rows"
        yield compare(
            f"{what}, of the speed of reading, {name}",
            fitting(rosenblatt.Perceptron, part, labels) if fit else loop,
            reading,
            options,
            bar=0.95,
            ours="Perceptron" if fit else "the loop of Perceptron",
            peer=f"bare C, X read {EPOCHS} times",
            note=f"{EPOCHS * part.nbytes / 1e9:.2f} GB are read; {updates}",
        )


def shuffled(options: Options) -> Iterator[Row]:
    """Dense rows in a new random order each epoch."""
    for rows, features in ((200_000, 100), (50_000, 784)):
        X, y = data.dense(options.size(rows), features)
        what = f"{X.shape[0]:,}×{features} float64, {EPOCHS} epochs, shuffled"
        yield against_sklearn(what, X, y, options, 1.5, shuffle=True, random_state=0)


def sparse(options: Options) -> Iterator[Row]:
    """CSR rows, compared with bare loops in C and with scikit-learn."""
    X, y = data.sparse(options.size(200_000), 75, 50_000)
    what = f"{X.shape[0]:,}×{X.shape[1]:,} CSR, 75 non-zeros, {EPOCHS} epochs"
    yield from against_bare(what, X, y, options)
    yield against_sklearn(what, X, y, options, 1.3)
    yield against_sklearn(f"{what}, shuffled", X, y, options, 1.4, shuffle=True, random_state=0)


def against_bare(what: str, X: Any, y: Any, options: Options) -> Iterator[Row]:
    """The loop, and a whole fit, compared with the epochs in C."""
    try:
        one_sum, eight = (bare.training(f"epoch_{name}", X, y, EPOCHS) for name in ("one_sum", "eight_slots"))
    except bare.NoCompilerError as error:
        yield Row(f"{what}, a bare loop in C", note=str(error))
        return
    loop = looping(X, y)
    mistakes, others = loop(), eight()
    if mistakes != others:
        raise RuntimeError(f"the loop made {mistakes} mistakes and bare.c, which adds in the same order, {others}")
    note = f"{mistakes:,} mistakes; with one sum {one_sum():,}"
    for ours, work, peer, bare_loop, bar in (
        ("the loop of Perceptron", loop, "bare C, one running sum", one_sum, 1.1),
        ("the loop of Perceptron", loop, "bare C, eight sums by index", eight, 1.1),
        ("Perceptron, whole fit", fitting(rosenblatt.Perceptron, X, y), "bare C, one running sum", one_sum, None),
    ):
        yield compare(
            f"{what}, of a bare loop", work, bare_loop, options, bar=bar, kind=SMALLER, ours=ours, peer=peer, note=note
        )


def classes(options: Options) -> Iterator[Row]:
    """Ten classes: MNIST, dense and sparse. Ours trains ten weight vectors in one pass; scikit-learn makes ten passes."""
    digits = data.mnist(options.data)
    if digits is None:
        from sklearn.datasets import load_digits

        yield Row("MNIST", note=NO_MNIST + "; scikit-learn's small digits stand in for it below, without bars")
        X, y = load_digits(return_X_y=True)
        X, y, name = np.tile(X, (10, 1)), np.tile(y, 10), "digits, ten times over,"
        bars: tuple[float | None, float | None] = (None, None)
    else:
        X, y = digits
        X, y, name, bars = X[: options.size(len(y))], y[: options.size(len(y))], "MNIST", (8.0, 4.0)
    for table, form, bar in ((X, "dense", bars[0]), (csr_matrix(X), "CSR", bars[1])):
        what = f"{name} {X.shape[0]:,}×{X.shape[1]} {form}, {EPOCHS} epochs"
        yield against_sklearn(f"{what}, one core each", table, y, options, bar)
        row = compare(
            f"{what}, scikit-learn on all cores",
            fitting(rosenblatt.Perceptron, table, y),
            fitting(sklearn.linear_model.Perceptron, table, y, n_jobs=-1),
            options,
            ours="Perceptron",
            peer="sklearn, n_jobs=-1",
        )
        yield row


def jobs(options: Options) -> Iterator[Row]:
    """Predictions in threads on all cores, compared with one thread."""
    rng = np.random.default_rng(0)
    digits = rng.random((options.size(60_000), 784)) * (rng.random((options.size(60_000), 784)) < 0.2)
    sets: list[tuple[str, Any, Any]] = [
        ("dense", *data.dense(options.size(200_000), 100)),
        ("CSR", *data.sparse(options.size(200_000), 75, 50_000)),
        ("dense, 10 classes", digits, rng.integers(0, 10, len(digits))),
        ("CSR, 10 classes", csr_matrix(digits), rng.integers(0, 10, len(digits))),
    ]
    for form, X, y in sets:
        one = rosenblatt.Perceptron(max_iter=1, tol=None, n_jobs=1).fit(X, y)
        every = rosenblatt.Perceptron(max_iter=1, tol=None, n_jobs=-1).fit(X, y)
        if (one.decision_function(X) != every.decision_function(X)).any():
            raise RuntimeError("the scores depend on n_jobs")
        yield compare(
            f"predict {X.shape[0]:,}×{X.shape[1]:,} {form}",
            functools.partial(every.predict, X),
            functools.partial(one.predict, X),
            options,
            ours="Perceptron, n_jobs=-1",
            peer="Perceptron (ours), n_jobs=1",
        )


def averaged(options: Options) -> Iterator[Row]:
    """The cost of the average, compared with the last weights."""
    sets: list[tuple[str, Any, Any]] = [
        ("dense", *data.dense(options.size(200_000), 100)),
        ("CSR", *data.sparse(options.size(200_000), 75, 50_000)),
    ]
    for form, X, y in sets:
        yield compare(
            f"{X.shape[0]:,}×{X.shape[1]:,} {form}, {EPOCHS} epochs",
            fitting(rosenblatt.AveragedPerceptron, X, y),
            fitting(rosenblatt.Perceptron, X, y),
            options,
            bar=1.3,
            kind=SMALLER,
            ours="AveragedPerceptron",
            peer="Perceptron (ours)",
        )


def voted(options: Options) -> Iterator[Row]:
    """The vote of all weight vectors, compared with the matrix product that it needs."""
    mistakes = options.size(5_000)
    X, y = data.random_labels(4 * mistakes, 100)
    learner = rosenblatt.VotedPerceptron(max_iter=1, tol=None, shuffle=False)
    needed = int(learner.fit(X, y).survived_[:mistakes].sum()) + 1
    learner.fit(X[:needed], y[:needed])
    if learner.mistakes_ != mistakes:
        raise RuntimeError(f"VotedPerceptron made {learner.mistakes_} mistakes but its log has {mistakes}")
    steps = np.ascontiguousarray(learner.support_[learner.mistake_rows_].T)
    rows = np.random.default_rng(1).standard_normal((options.size(10_000), 100))
    products = np.empty((rows.shape[0], steps.shape[1]))
    for threads in (None, 1):
        with threadpool_limits(threads, user_api="blas"):
            yield compare(
                f"predict {rows.shape[0]:,} rows, {learner.mistakes_:,} mistakes, 100 features, "
                + ("BLAS on one core" if threads else "BLAS as it is"),
                functools.partial(learner.predict, rows),
                functools.partial(np.matmul, rows, steps, out=products),
                options,
                bar=2.0,
                kind=SMALLER,
                ours="VotedPerceptron",
                peer="X @ S.T into an array at hand",
            )


def one_by_one(options: Options) -> Iterator[Row]:
    """Predict, then learn, one example at a time: one call here, two calls in river."""
    from river.linear_model import Perceptron as RiverPerceptron

    X, labels = data.dense(options.size(20_000), 20)
    y = [bool(label) for label in labels]
    names = [f"feature {number}" for number in range(20)]
    records: list[dict[Hashable, Any]] = [dict(zip(names, row.tolist(), strict=True)) for row in X]
    rows = list(X)

    def ours(examples: list[Any]) -> int:
        learn_one = rosenblatt.Perceptron().learn_one
        return sum(learn_one(x, label) is label for x, label in zip(examples, y, strict=True))

    def river_on_dicts() -> int:
        model = RiverPerceptron()
        predict_one, learn_one, right = model.predict_one, model.learn_one, 0
        for x, label in zip(records, y, strict=True):
            right += predict_one(x) is label
            learn_one(x, label)
        return right

    def river_on_arrays() -> int:
        # river accepts only dicts; this is the fastest conversion of an array.
        model = RiverPerceptron()
        predict_one, learn_one, right = model.predict_one, model.learn_one, 0
        for x, label in zip(rows, y, strict=True):
            record: dict[Hashable, Any] = dict(enumerate(x.tolist()))
            right += predict_one(record) is label
            learn_one(record, label)
        return right

    for form, examples, peer, bar in (("dicts", records, river_on_dicts, 2.0), ("arrays", rows, river_on_arrays, 5.0)):
        yield compare(
            f"{len(y):,} examples, 20 features, {form}",
            functools.partial(ours, examples),
            peer,
            options,
            bar=bar,
            ours="learn_one",
            peer="river predict_one, learn_one",
            note=f"right: ours {ours(examples) / len(y):.4f}, river {peer() / len(y):.4f}",
        )


@rosenblatt.rule
def OwnPerceptron(margin: float, eta0: float = 1.0) -> float:  # noqa: N802 - the name of a class
    """The perceptron as a user-defined rule."""
    return eta0 if margin <= 0 else 0.0


def rule(options: Options) -> Iterator[Row]:
    """A user-defined rule, compared with the same built-in rule."""
    sets: list[tuple[str, Any, Any]] = [
        ("dense", *data.dense(options.size(200_000), 100)),
        ("CSR", *data.sparse(options.size(200_000), 75, 50_000)),
    ]
    digits = data.mnist(options.data)
    if digits is not None:
        X, y = digits
        sets.append(("MNIST (10 classes)", X[: options.size(len(y))], y[: options.size(len(y))]))
    for form, X, y in sets:
        yield compare(
            f"{X.shape[0]:,}×{X.shape[1]:,} {form}, {EPOCHS} epochs",
            fitting(OwnPerceptron, X, y),
            fitting(rosenblatt.Perceptron, X, y),
            options,
            bar=1.1,
            kind=SMALLER,
            ours="@rosenblatt.rule",
            peer="Perceptron (ours)",
        )


def passive_aggressive(options: Options) -> Iterator[Row]:
    """PA-I."""
    sets: list[tuple[str, Any, Any, float | None]] = [
        ("dense", *data.dense(options.size(200_000), 100), None),
        ("CSR", *data.sparse(options.size(200_000), 75, 50_000), 1.3),
    ]
    for form, X, y, bar in sets:
        ours = fitting(rosenblatt.PassiveAggressive, X, y)
        peer = fitting(
            sklearn.linear_model.SGDClassifier, X, y, loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0
        )
        yield compare(
            f"{X.shape[0]:,}×{X.shape[1]:,} {form}, {EPOCHS} epochs",
            ours,
            peer,
            options,
            bar=bar,
            ours="PassiveAggressive",
            peer="sklearn SGDClassifier pa1",
            note=f"training accuracy {ours().score(X, y):.4f} and {peer().score(X, y):.4f}",
        )


def fresh(task: str, library: str, kind: str, rows: int, **variables: str) -> dict[str, float]:
    """The result of `benchmarks.fresh` in a new process, with additional environment variables."""
    command = [sys.executable, "-m", "benchmarks.fresh", task, library, kind, "--rows", str(rows)]
    folder = Path(__file__).parent.parent
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def first_fit(options: Options) -> Iterator[Row]:
    """The first fit of a process with compiled code on disk, after the imports; and both together."""
    for kind in ("dense", "csr", "classes"):
        answers: list[dict[str, float]] = []

        def ours(kind: str = kind, answers: list[dict[str, float]] = answers) -> float:
            answers.append(fresh("first-fit", "ours", kind, 1000))
            return answers[-1]["first"]

        def peer(kind: str = kind) -> float:
            return fresh("first-fit", "scikit-learn", kind, 1000)["first"]

        row = measure(
            f"first fit, 1,000×20 {kind}",
            ours,
            peer,
            options,
            bar=0.015,
            bar_unit="s",
            kind=SMALLER,
            ours="Perceptron",
            peer="sklearn Perceptron",
        )
        imports, cpu, others = (
            np.median([answer[key] for answer in answers[1:]]) for key in ("imports", "cpu", "extensions")
        )
        row.note = f"{cpu * 1e3:.1f} ms by CPU time; the imports before it take {imports:.2f} s"
        if others:
            row.note += f"; {others * 1e3:.0f} ms to load what other installed packages add to Numba"
        yield row

    def whole(library: str) -> float:
        answer = fresh("first-fit", library, "dense", 1000)
        return answer["imports"] + answer["first"]

    yield measure(
        "imports and first fit, 1,000×20 dense",
        functools.partial(whole, "ours"),
        functools.partial(whole, "scikit-learn"),
        options,
        bar=1.0,
        kind=SMALLER,
        ours="Perceptron",
        peer="sklearn Perceptron",
    )


def nothing_cached(options: Options) -> Iterator[Row]:
    """The first fit of a process with an empty cache folder: a rule of one's own, and without the library."""
    few = dataclasses.replace(options, repeats=min(3, options.repeats))
    cases = [("a rule of one's own", "own-rule", "dense", "", 0.5)]
    cases += [
        (f"without the library, {kind}", "ours", kind, "off", bar) for kind, bar in (("dense", 3.6), ("classes", 5.8))
    ]
    library = "off" if LIBRARY.module is None else LIBRARY.module.__spec__.origin

    def cold(learner: str, kind: str, variable: str) -> float:
        with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as cache:
            variables = {"ROSENBLATT_CACHE_DIR": cache, "ROSENBLATT_LIBRARY": variable or library}
            return fresh("first-fit", learner, kind, 1000, **variables)["first"]

    for what, learner, kind, variable, bar in cases:
        yield measure(
            f"first fit, nothing cached, {what}",
            functools.partial(cold, learner, kind, variable),
            lambda kind=kind: fresh("first-fit", "scikit-learn", kind, 1000)["first"],  # type: ignore[misc]
            few,
            bar=bar,
            bar_unit="s",
            kind=SMALLER,
            ours="@rosenblatt.rule" if learner == "own-rule" else "Perceptron by Numba",
            peer="sklearn Perceptron",
        )


def memory(options: Options) -> Iterator[Row]:
    """The increase of peak memory by a fit, relative to the size of X: far below 1 means that X was not copied."""
    rows = options.size(200_000)
    for kind in ("dense", "csr", "classes"):
        sizes: list[float] = []

        def ours(kind: str = kind, sizes: list[float] = sizes) -> float:
            answer = fresh("memory", "ours", kind, rows)
            sizes.append(answer["bytes"])
            return answer["growth"] / 1e6

        def of_x(sizes: list[float] = sizes) -> float:
            return sizes[-1] / 1e6

        growth = fresh("memory", "scikit-learn", kind, rows)["growth"] / 1e6
        yield measure(
            f"peak added by a fit of {rows:,}×200 float64 {kind}",
            ours,
            of_x,
            dataclasses.replace(options, repeats=min(3, options.repeats)),
            bar=0.1,
            kind=SMALLER,
            unit="MB",
            ours="Perceptron",
            peer="X itself",
            note=f"scikit-learn's Perceptron adds {growth:.1f} MB",
        )


BENCHMARKS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "dense": dense,
    "shuffled": shuffled,
    "sparse": sparse,
    "classes": classes,
    "jobs": jobs,
    "averaged": averaged,
    "voted": voted,
    "one-by-one": one_by_one,
    "rule": rule,
    "passive-aggressive": passive_aggressive,
    "loops": loops.loops,
    "first-fit": first_fit,
    "nothing-cached": nothing_cached,
    "memory": memory,
}
