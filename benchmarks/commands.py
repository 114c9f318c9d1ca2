"""Benchmarks of the command line: whole processes, as started from a shell."""

import dataclasses
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .files import folder_of_files, write_sparse
from .harness import SMALLER, Options, Row, compare, measure

OURS = (sys.executable, "-m", "rosenblatt.cli")
SKLEARN = """
import sys
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")  # fit accepts no others
Perceptron(max_iter=10, tol=None).fit(X, y)
"""
SKLEARN_CSV = """
import sys
import numpy as np
from sklearn.linear_model import Perceptron
table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
Perceptron(max_iter=10, tol=None).fit(table[:, :-1], table[:, -1])
"""


def run(*command: str) -> None:
    """Run a process, which may keep compiled Python files as it does for users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, capture_output=True, env=environment)


def seconds(*command: str) -> float:
    """Time of a process from its start to its end."""
    start = time.perf_counter()
    run(*command)
    return time.perf_counter() - start


def starting(options: Options) -> Iterator[Row]:
    """Whole processes with little work: the help, and training on 1,000 lines, with compiled code on disk."""
    yield measure(
        "rosenblatt --help",
        functools.partial(seconds, *OURS, "--help"),
        functools.partial(seconds, sys.executable, "-c", "import sklearn.linear_model"),
        options,
        kind=SMALLER,
        unit="s",
        bar=0.25,
        bar_unit="s",
        ours="the command",
        peer="import sklearn.linear_model",
    )
    with folder_of_files() as folder:
        svmlight, _ = write_sparse(folder, 1)
        svmlight.write_text("".join(svmlight.read_text().splitlines(keepends=True)[:1000]))
        csv = folder / "some.csv"
        rng = np.random.default_rng(0)
        rows = np.column_stack([rng.standard_normal((1000, 20)).round(3), rng.integers(0, 2, 1000)]).tolist()
        header = ",".join([*(f"f{number}" for number in range(20)), "label"])
        csv.write_text("\n".join([header, *(",".join(map(str, row[:-1])) + f",{row[-1]:.0f}" for row in rows), ""]))
        for path, form, bar, script in ((svmlight, "svmlight", 0.35, SKLEARN), (csv, "CSV", 0.45, SKLEARN_CSV)):
            yield measure(
                f"train on 1,000 lines of {form}",
                functools.partial(seconds, *OURS, "train", str(path), "-m", str(folder / "model"), "--quiet"),
                functools.partial(seconds, sys.executable, "-c", script, str(path)),
                options,
                kind=SMALLER,
                unit="s",
                bar=bar,
                bar_unit="s",
                ours="rosenblatt train",
                peer="sklearn load + Perceptron",
            )
        yield measure(
            "the same of svmlight without the library, nothing cached",
            functools.partial(_by_numba, "train", str(svmlight), "-m", str(folder / "model"), "--quiet"),
            functools.partial(seconds, sys.executable, "-c", SKLEARN, str(svmlight)),
            dataclasses.replace(options, repeats=min(3, options.repeats)),
            kind=SMALLER,
            unit="s",
            bar=7.5,
            bar_unit="s",
            ours="rosenblatt train, by Numba",
            peer="sklearn load + Perceptron",
        )


def _by_numba(*arguments: str) -> float:
    """Time of a command that compiles all that it needs."""
    with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as cache:
        variables = {"ROSENBLATT_LIBRARY": "off", "ROSENBLATT_CACHE_DIR": cache}
        start = time.perf_counter()
        subprocess.run([*OURS, *arguments], check=True, capture_output=True, env={**os.environ, **variables})
        return time.perf_counter() - start


def file_to_model(options: Options) -> Iterator[Row]:
    """From svmlight text to a model on disk in one pass, as whole processes, compared with VW on its own format."""
    with folder_of_files() as folder:
        parts = write_sparse(folder, 100)
        model = str(folder / "model")
        for times, bar in ((1, 1.5), (options.size(10), 2.0)):
            svmlight, vw = (str(_repeated(part, times)) for part in parts)
            ours = ("train", svmlight, "-m", model, "--epochs", "1", "--algorithm", "perceptron", "--quiet")
            peer = ("-m", "vowpalwabbit", "-d", vw, "--loss_function", "hinge", "--quiet", "-f", model)
            yield compare(
                f"{Path(svmlight).stat().st_size / 1e9:.1f} GB, one pass, whole processes",
                functools.partial(run, *OURS, *ours),
                functools.partial(run, sys.executable, *peer),
                options,
                bar=bar,
                ours="rosenblatt train --epochs 1",
                peer="VW, hinge, its own text",
            )


def _repeated(path: Path, times: int) -> Path:
    """A file with the content repeated, read once so that it is in the file cache."""
    large = path.with_name(f"large{path.suffix}")
    with large.open("wb") as file:
        for _ in range(times):
            file.write(path.read_bytes())
    return large


BENCHMARKS = {"starting": starting, "command-file-to-model": file_to_model}
