"""Benchmarks of reading: parsing alone, and from a file to a model, compared with VW, scikit-learn and pandas.

The files are generated with a fixed seed, written to a temporary folder and read once before measuring, so that all
sides read them from the file cache.
"""

import contextlib
import csv
import functools
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy.sparse import hstack
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer

from rosenblatt.data import open_stream

from . import data
from .harness import SMALLER, Options, Row, compare, measure
from .one_pass import learn

NONZEROS, FEATURES = 75, 50_000
COLUMNS = ["age", "income", "job", "text", "label"]


# ---- files ----


def write_sparse(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """Write the same rows as svmlight and as VW text: 75 non-zeros of 50,000 features, values with four decimals."""
    X, y = data.sparse(megabytes * 1090, NONZEROS, FEATURES)
    svmlight, vw = folder / "rows.svm", folder / "rows.vw"
    with svmlight.open("w") as first, vw.open("w") as second:
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            row = " ".join(f"{j}:{v:.4f}" for j, v in zip((X.indices[part] + 1).tolist(), X.data[part].tolist()))
            first.write(f"{2 * y[i] - 1} {row}\n")
            second.write(f"{2 * y[i] - 1} | {row}\n")
    return svmlight, vw


def write_table(folder: Path, megabytes: int) -> Path:
    """Write rows of two numbers, a category and thirteen words with natural frequencies; the labels depend on all of them."""
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"w{k:x}" for k in range(50_000)])
    weights = rng.standard_normal(vocabulary.size)
    jobs = np.array([f"job {k}" for k in range(40)])
    path = folder / "table.csv"
    with path.open("w") as file:
        file.write(",".join(COLUMNS) + "\n")
        while file.tell() < megabytes * 1_000_000:
            words = (vocabulary.size * rng.random((5000, 12)) ** 4).astype(int)
            scores = weights[words].sum(axis=1)
            age, income, job = rng.integers(18, 90, 5000), rng.lognormal(10, 1, 5000), rng.choice(jobs, 5000)
            for k in range(5000):
                text = " ".join(vocabulary[words[k]].tolist())
                label = "yes" if scores[k] > 0 else "no"
                file.write(f'{age[k]},{income[k]:.2f},{job[k]},"{text}, indeed",{label}\n')
    return path


def write_records(table: Path) -> Path:
    """Write the rows of a table as JSON lines."""
    path = table.with_suffix(".jsonl")
    with table.open(newline="") as rows, path.open("w") as file:
        for row in csv.DictReader(rows):
            record = {**row, "age": int(row["age"]), "income": float(row["income"])}
            file.write(json.dumps(record) + "\n")
    return path


@contextlib.contextmanager
def folder_of_files() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as name:
        yield Path(name)


# ---- work ----


def parse(path: Path, threads: int) -> None:
    for _ in open_stream(path, threads=threads):
        pass


def learn_with_vw(path: Path) -> None:
    import vowpalwabbit  # type: ignore[import-not-found]

    vowpalwabbit.Workspace(data=str(path), loss_function="hinge", quiet=True).finish()


def learn_with_sklearn(path: Path) -> Any:
    X, y = load_svmlight_file(str(path))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # fit accepts no others
    return sklearn.linear_model.Perceptron(max_iter=1, tol=None, shuffle=False).fit(X, y)


def learn_with_pandas(path: Path) -> Any:
    """The usual code for a table, or for JSON lines, that do not fit in memory."""
    import pandas as pd

    read = pd.read_csv if path.suffix == ".csv" else functools.partial(pd.read_json, lines=True)
    words = HashingVectorizer(alternate_sign=False, norm=None)
    jobs = HashingVectorizer(alternate_sign=False, norm=None, analyzer=lambda job: [job], n_features=1 << 10)
    learner = sklearn.linear_model.SGDClassifier(loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0)
    for chunk in read(path, chunksize=20_000):
        numbers = chunk[["age", "income"]].to_numpy()
        X = hstack([numbers, jobs.transform(chunk["job"]), words.transform(chunk["text"])], format="csr")
        learner.partial_fit(X, chunk["label"], classes=["no", "yes"])
    return learner


def seconds_per_gigabyte(work: Callable[[], Any], size: int, cpu: list[float]) -> Callable[[], float]:
    def timed() -> float:
        gc.collect()
        start, start_cpu = time.perf_counter(), time.process_time()
        work()
        cpu.append((time.process_time() - start_cpu) * 1e9 / size)
        return (time.perf_counter() - start) * 1e9 / size

    return timed


def megabytes_of_process(path: Path) -> float:
    """Peak memory of a process that learns from a file."""
    command = [sys.executable, "-m", "benchmarks.one_pass", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    return float(done.stdout) / 1e6


# ---- benchmarks ----


def parsing(options: Options) -> Iterator[Row]:
    """Parsing svmlight and VW text without learning: seconds per gigabyte, on one and two threads."""
    with folder_of_files() as folder:
        path, vw = write_sparse(folder, options.size(100))
        size = path.stat().st_size
        for threads, bar in ((1, 1.0), (2, 1 / 1.7)):
            cpu: list[float] = []
            row = measure(
                f"svmlight, {size / 1e6:.0f} MB, {threads} thread{'s' * (threads > 1)}",
                seconds_per_gigabyte(functools.partial(parse, path, threads), size, cpu),
                seconds_per_gigabyte(functools.partial(load_svmlight_file, str(path)), size, []),
                options,
                kind=SMALLER,
                unit="s/GB",
                bar=round(bar, 3),
                bar_unit="s/GB",
                ours=f"open_stream, threads={threads}",
                peer="sklearn load_svmlight_file",
            )
            row.note = f"{np.median(cpu[1:]):.3g} s/GB of processor time in all, {min(cpu):.3g} at best"
            yield row
        yield rate(f"VW text, {vw.stat().st_size / 1e6:.0f} MB", vw, functools.partial(parse, vw, 2), options, 2.5)


def rate(what: str, path: Path, work: Callable[[], Any], options: Options, bar: float, peer: Any = None) -> Row:
    """Seconds per gigabyte of some work on a file."""
    cpu: list[float] = []
    size = path.stat().st_size
    row = measure(
        what,
        seconds_per_gigabyte(work, size, cpu),
        seconds_per_gigabyte(peer or functools.partial(parse, path, 1), size, []),
        options,
        kind=SMALLER,
        unit="s/GB",
        bar=bar,
        bar_unit="s/GB",
        ours="two threads",
        peer="one thread" if peer is None else "pandas + HashingVectorizer + SGD",
    )
    row.note = f"{np.median(cpu[1:] or cpu):.3g} s/GB of processor time in all, {min(cpu):.3g} at best"
    return row


def file_to_model(options: Options) -> Iterator[Row]:
    """From svmlight text to a model in one pass, compared with VW and scikit-learn."""
    with folder_of_files() as folder:
        path, vw = write_sparse(folder, options.size(100))
        what = f"{path.stat().st_size / 1e6:.0f} MB, one pass"
        ours = functools.partial(learn, path)
        peers: list[tuple[str, Callable[[], Any], float]] = [
            ("VW, hinge, its own text", functools.partial(learn_with_vw, vw), 3.0),
            ("sklearn load + Perceptron", functools.partial(learn_with_sklearn, path), 30.0),
        ]
        for name, peer, bar in peers:
            yield compare(what, ours, peer, options, bar=bar, ours="open_stream + perceptron", peer=name)


def table_to_model(options: Options) -> Iterator[Row]:
    """From CSV and JSON lines with numbers, categories and words to a model in one pass, compared with pandas and hashing."""
    with folder_of_files() as folder:
        path = write_table(folder, options.size(500))
        what = f"CSV, {path.stat().st_size / 1e6:.0f} MB"
        few = Options(min(2, options.repeats), options.quick, options.data)  # pandas takes 90 seconds
        ours = functools.partial(learn, path)
        hashed = functools.partial(learn, path, bits=20)
        pandas, name = functools.partial(learn_with_pandas, path), "pandas + HashingVectorizer + SGD"
        yield compare(what, ours, pandas, few, bar=12.0, ours="open_stream + perceptron", peer=name)
        yield rate(f"{what}, one pass", path, ours, few, 1000 / 150)
        prepared = functools.partial(learn, path, standardize=True, word_weights="log")
        yield compare(what, prepared, ours, few, ours="the same, scaled and weighted as by train", peer="not scaled")
        yield compare(what, hashed, ours, few, ours="the same, hashed to 2^20 places", peer="with its vocabulary")
        path = write_records(write_table(folder, options.size(100)))
        what = f"JSON lines, {path.stat().st_size / 1e6:.0f} MB"
        ours, pandas = functools.partial(learn, path), functools.partial(learn_with_pandas, path)
        yield rate(f"{what}, one pass", path, ours, few, 1000 / 100, pandas)


def memory(options: Options) -> Iterator[Row]:
    """The peak memory of a process that learns from a large file, its imports included."""
    few = Options(1, options.quick, options.data)
    with folder_of_files() as folder:
        table = write_table(folder, options.size(500))
        part, _ = write_sparse(folder, 100)
        large = folder / "large.svm"
        with large.open("wb") as file:
            for _ in range(options.size(40)):
                file.write(part.read_bytes())
        for what, path in (("CSV", table), ("svmlight", large)):
            yield measure(
                f"{what}, {path.stat().st_size / 1e9:.1f} GB",
                functools.partial(megabytes_of_process, path),
                functools.partial(megabytes_of_process, part),
                few,
                kind=SMALLER,
                unit="MB",
                bar=400.0,
                bar_unit="MB",
                ours="one pass",
                peer="one pass, svmlight, 0.1 GB",
            )


BENCHMARKS = {
    "parsing": parsing,
    "file-to-model": file_to_model,
    "table-to-model": table_to_model,
    "file-memory": memory,
}
