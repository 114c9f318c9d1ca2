"""Comparison with other libraries on the same rows: training time, and accuracy on unseen rows.

Two sets: a generated dense one, and a9a if the data folder is given, otherwise generated sparse rows of its shape. Only the
fit is timed, from the preferred format of each library: arrays, dicts, a `problem` of LIBLINEAR, an ARFF file that Weka has
read. VW reads its text format, and ours the same rows as svmlight text. A library that is not installed gets a row with a note.
"""

import dataclasses
import functools
import importlib.util
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import rosenblatt

from . import data
from .harness import Options, Row, compare, measure

WEKA = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))
"""Path of Weka's JAR file, from the Debian package `weka` or the source distribution of `python-weka-wrapper3` on PyPI."""
WEKA_ROWS = 4_000
"""Fewer rows for Weka's voted perceptron, whose time grows with their square."""

Accuracy = Callable[[Any], float]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Training and test rows."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any

    def accuracy(self, model: Any) -> float:
        """Test accuracy of a model with the interface of scikit-learn."""
        return float(np.mean(model.predict(self.X_test) == self.y_test))

    @functools.cached_property
    def dicts(self) -> tuple[list[dict[Any, float]], list[dict[Any, float]]]:
        """Training and test rows as dicts of non-zero values, for river."""
        return _dicts(self.X), _dicts(self.X_test)


def _dicts(X: Any) -> list[dict[Any, float]]:
    rows = csr_matrix(X)
    return [
        dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


def _sets(options: Options) -> Iterator[Rows]:
    size = options.size(20_000)
    X, y = data.dense(2 * size, 50)
    yield Rows(f"dense {size:,}×50", X[:size], y[:size], X[size:], y[size:])
    folder = options.data / "a9a" if options.data is not None else None
    if folder is not None and (folder / "a9a.t").exists():
        parts = [load_svmlight_file(str(folder / name), n_features=123) for name in ("a9a", "a9a.t")]
        (X, y), (X_test, y_test) = [(_narrow(X), (y > 0).astype(int)) for X, y in parts]
        size = options.size(len(y))
        yield Rows(f"a9a {size:,}×123", X[:size], y[:size], X_test, y_test)
    else:
        size = options.size(32_000)
        X, y = data.sparse(2 * size, 14, 123)
        yield Rows(f"CSR {size:,}×123, 14 non-zeros", X[:size], y[:size], X[size:], y[size:])


def _narrow(X: Any) -> Any:
    """The rows with 32-bit indices, which scikit-learn and LIBLINEAR need."""
    return csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def row(
    what: str,
    fit: Callable[[], Any],
    fit_peer: Callable[[], Any],
    options: Options,
    scores: tuple[float, float],
    /,
    **names: str,
) -> Row:
    """Time both sides, with the accuracies."""
    made = compare(what, fit, fit_peer, options, **names)
    made.ours_score, made.peer_score = scores
    return made


def ours(rows: Rows, learner: str, **parameters: Any) -> tuple[Callable[[], Any], float]:
    """A function that trains one pass in the given order, and the accuracy of its model."""
    parameters = {"max_iter": 1, "tol": None, "shuffle": False, **parameters}

    def fit() -> Any:
        return getattr(rosenblatt, learner)(**parameters).fit(rows.X, rows.y)

    return fit, rows.accuracy(fit())


def missing(name: str, package: str) -> Row | None:
    """A row for a library that is not installed, otherwise None."""
    if importlib.util.find_spec(package) is not None:
        return None
    return Row(name, note=f"{name} is not installed: pip install rosenblatt[bench]")


# ---- scikit-learn and Dask-ML ----


def against_sklearn(options: Options) -> Iterator[Row]:
    """One pass of the same rule in scikit-learn: Perceptron, and PA-I with SGDClassifier."""
    once = {"max_iter": 1, "tol": None, "shuffle": False}
    pa = {**once, "loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 1.0}
    sgd = functools.partial(sklearn.linear_model.SGDClassifier, **pa)
    for rows in _sets(options):
        for learner, peer, name in (
            ("Perceptron", functools.partial(sklearn.linear_model.Perceptron, **once), "sklearn Perceptron"),
            ("PassiveAggressive", sgd, "sklearn SGDClassifier pa1"),
        ):
            fit, score = ours(rows, learner)

            def fit_peer(peer: Any = peer, rows: Rows = rows) -> Any:
                return peer().fit(rows.X, rows.y)

            scores = score, rows.accuracy(fit_peer())
            yield row(f"{rows.name}, one pass", fit, fit_peer, options, scores, ours=learner, peer=name)


def against_dask_ml(options: Options) -> Iterator[Row]:
    """One pass of Dask-ML's Incremental over chunks of an array in memory; clusters are measured separately."""
    if (absent := missing("Dask-ML", "dask_ml")) is not None:
        yield absent
        return
    import dask
    import dask.array
    from dask_ml.wrappers import Incremental

    rows = next(_sets(options))
    chunk = len(rows.y) // 4
    X, y = dask.array.from_array(rows.X, chunks=(chunk, -1)), dask.array.from_array(rows.y, chunks=chunk)
    fit, score = ours(rows, "Perceptron")

    def fit_peer() -> Any:
        inner = sklearn.linear_model.Perceptron(shuffle=False)
        with dask.config.set(scheduler="synchronous"):
            return Incremental(inner, shuffle_blocks=False).fit(X, y, classes=[0, 1])

    scores = score, rows.accuracy(fit_peer().estimator_)
    yield row(
        f"{rows.name}, one pass, four chunks", fit, fit_peer, options, scores, ours="Perceptron",
        peer="Dask-ML Incremental, sklearn Perceptron",
    )  # fmt: skip


# ---- river ----


def against_river(options: Options) -> Iterator[Row]:
    """One pass: river one example at a time, ours in one call; creating the dicts is not counted."""
    if (absent := missing("river", "river")) is not None:
        yield absent
        return
    from river import linear_model

    few = dataclasses.replace(options, repeats=min(5, options.repeats))
    for rows in _sets(options):
        train, test = rows.dicts
        labels = [bool(label) for label in rows.y]
        for learner, make, name in (
            ("Perceptron", linear_model.Perceptron, "river Perceptron"),
            ("PassiveAggressive", functools.partial(linear_model.PAClassifier, C=1.0, mode=1), "river PAClassifier"),
            ("ALMA", linear_model.ALMAClassifier, "river ALMAClassifier"),
        ):
            fit, score = ours(rows, learner)

            def fit_peer(make: Any = make, train: Any = train, labels: Any = labels) -> Any:
                model = make()
                for x, label in zip(train, labels, strict=True):
                    model.learn_one(x, label)
                return model

            fitted = fit_peer()
            right = [fitted.predict_one(x) == bool(label) for x, label in zip(test, rows.y_test, strict=True)]
            scores = score, float(np.mean(right))
            yield row(f"{rows.name}, one pass", fit, fit_peer, few, scores, ours=learner, peer=name)


# ---- LIBLINEAR ----


def against_liblinear(options: Options) -> Iterator[Row]:
    """AROW in one pass, compared with LIBLINEAR's linear SVM, which trains until convergence."""
    if (absent := missing("LIBLINEAR", "liblinear")) is not None:
        yield absent
        return
    from liblinear import liblinearutil

    for rows in _sets(options):
        problem = liblinearutil.problem(rows.y, rows.X, bias=1.0)
        fit, score = ours(rows, "AROW")
        for solver, name in (("-s 3", "LIBLINEAR L1-loss SVM, dual"), ("-s 2", "LIBLINEAR L2-loss SVM, primal")):
            setting = liblinearutil.parameter(f"{solver} -c 1 -q")
            fit_peer = functools.partial(liblinearutil.train, problem, setting)
            _, (accuracy, _, _), _ = liblinearutil.predict(rows.y_test, rows.X_test, fit_peer(), "-q")
            scores = score, accuracy / 100
            yield row(rows.name, fit, fit_peer, options, scores, ours="AROW, one pass", peer=name)


# ---- Vowpal Wabbit ----


def against_vw(options: Options) -> Iterator[Row]:
    """From text to a model in one pass: VW with the hinge loss and with its defaults; ours reads the same rows as svmlight."""
    if (absent := missing("VW", "vowpalwabbit")) is not None:
        yield absent
        return
    from vowpalwabbit import Workspace

    for rows in _sets(options):
        with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as name:
            folder = Path(name)
            dump_svmlight_file(rows.X, 2 * rows.y - 1, str(folder / "rows.svm"), zero_based=False)
            lines = (folder / "rows.svm").read_text().splitlines()
            (folder / "rows.vw").write_text("".join(f"{line.replace(' ', ' | ', 1)}\n" for line in lines))
            test = [f"| {' '.join(f'{key + 1}:{value:.16g}' for key, value in x.items())}" for x in rows.dicts[1]]
            for learner, settings, kind in (
                ("Perceptron", {"loss_function": "hinge"}, "hinge loss"),
                ("AROW", {}, "as it comes: squared loss, adaptive"),
            ):
                _, score = ours(rows, learner)

                def fit(learner: str = learner, folder: Path = folder) -> Any:
                    X, y = rosenblatt.read(folder / "rows.svm")
                    return getattr(rosenblatt, learner)(max_iter=1, tol=None, shuffle=False).fit(X, y)

                def fit_peer(settings: Any = settings, folder: Path = folder) -> None:
                    model = str(folder / "model.vw")
                    Workspace(data=str(folder / "rows.vw"), quiet=True, final_regressor=model, **settings).finish()

                fit_peer()
                judge = Workspace(initial_regressor=str(folder / "model.vw"), testonly=True, quiet=True)
                right = np.mean([(judge.predict(x) > 0) == label for x, label in zip(test, rows.y_test, strict=True)])
                judge.finish()
                yield row(
                    f"{rows.name}, text to model", fit, fit_peer, options, (score, float(right)),
                    ours=f"read + {learner}", peer=f"VW, {kind}",
                )  # fmt: skip


# ---- Weka ----


def _arff(path: Path, X: Any, y: Any) -> str:
    lines = [
        "@relation rows",
        *(f"@attribute f{k} numeric" for k in range(X.shape[1])),
        "@attribute label {0,1}",
        "@data",
    ]
    lines += [",".join([*map(repr, x), str(label)]) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def against_weka(options: Options) -> Iterator[Row]:
    """Weka's voted perceptron, timed by Weka itself, without starting Java and reading the file."""
    if not WEKA.exists():
        yield Row("Weka", note="Weka was not found: install Debian's package weka, or name its file with WEKA_JAR")
        return
    rows = next(_sets(options))
    count = options.size(WEKA_ROWS)
    learner = rosenblatt.VotedPerceptron(max_iter=1, tol=None, shuffle=False)
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as folder:
        train = _arff(Path(folder, "train.arff"), rows.X[:count], rows.y[:count])
        test = _arff(Path(folder, "test.arff"), rows.X_test[:count], rows.y_test[:count])
        command = ["java", "-cp", str(WEKA), "weka.classifiers.functions.VotedPerceptron", "-I", "1"]

        def fit() -> float:
            start = time.perf_counter()
            learner.fit(rows.X[:count], rows.y[:count])
            return time.perf_counter() - start

        def weka() -> float:
            done = subprocess.run([*command, "-t", train, "-T", test], check=True, capture_output=True, text=True)
            said.append(done.stdout)
            return float(_said(r"Time taken to build model: ([\d.]+)", done.stdout))

        few = dataclasses.replace(options, repeats=min(3, options.repeats), quick=True)
        made = measure(
            f"dense {count:,}×50, one pass",
            fit,
            weka,
            few,
            ours="VotedPerceptron",
            peer=f"Weka {_weka_version()} VotedPerceptron",
        )
    made.ours_score = float(np.mean(learner.predict(rows.X_test[:count]) == rows.y_test[:count]))
    made.peer_score = float(_said(r"Correctly Classified Instances\s+\d+\s+([\d.]+)", said[-1])) / 100
    made.note = "Weka's time is its own, in steps of 0.01 s"
    yield made


def _said(pattern: str, text: str) -> str:
    """The last match; if there are two, the last one is for the test data."""
    found = re.findall(pattern, text)
    if not found:
        raise RuntimeError(f"Weka's answer must contain {pattern!r}; got {text!r}")
    return str(found[-1])


def _weka_version() -> str:
    done = subprocess.run(["java", "-cp", str(WEKA), "weka.core.Version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


BENCHMARKS = {
    "scikit-learn": against_sklearn,
    "dask-ml": against_dask_ml,
    "river": against_river,
    "liblinear": against_liblinear,
    "vw": against_vw,
    "weka": against_weka,
}
