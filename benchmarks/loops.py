"""The main loops of the compiled library, compared with the same loops compiled by Numba for the same level of processors.

    python -m benchmarks.loops

is a worker: it reads the name of a loop from standard input, runs it, and prints its processor time in seconds; it ends with its
input. Both workers wait while the other runs.
"""

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .harness import SMALLER, Options, Row, measure

EPOCHS = 3

LOOPS = {
    "dense, perceptron": ("dense", "Perceptron"),
    "dense, averaged": ("dense", "AveragedPerceptron"),
    "dense, float32, perceptron": ("float32", "Perceptron"),
    "dense, ALMA": ("dense", "ALMA"),
    "dense, AROW": ("dense", "AROW"),
    "dense, ten classes, perceptron": ("classes", "Perceptron"),
    "CSR, perceptron": ("csr", "Perceptron"),
    "CSR, averaged": ("csr", "AveragedPerceptron"),
    "CSR, passive-aggressive": ("csr", "PassiveAggressive"),
    "CSR, AROW": ("csr", "AROW"),
    "CSR, ten classes, perceptron": ("csr classes", "Perceptron"),
    "svmlight text": ("text", ""),
}
"""Loops by name: the rows, and the learner."""


LEVEL = "x86-64-v3"
FEATURES = "+sse2,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
"""The instructions of the level, as LLVM names them."""


# ---- the worker ----


@functools.cache
def rows(kind: str, quick: bool) -> Any:
    """Generated rows and class numbers."""
    shrink = 10 if quick else 1
    if "classes" in kind:
        rng = np.random.default_rng(0)
        X: Any = rng.random((20_000 // shrink, 784)) * (rng.random((20_000 // shrink, 784)) < 0.2)
        y = (X @ rng.standard_normal((784, 10))).argmax(axis=1)
        if kind.startswith("csr"):
            from scipy.sparse import csr_matrix

            X = csr_matrix(X)
        return X, y
    if kind == "csr":
        return data.sparse(100_000 // shrink, 75, 50_000)
    X, y = data.dense(100_000 // shrink, 100)
    return X.astype(np.float32 if kind == "float32" else np.float64), y


def parsing(quick: bool) -> Callable[[], None]:
    """A function that parses a megabyte of svmlight text into the same arrays again and again.

    Reading a file would measure the allocator, too: importing Numba and LLVM raises the limit up to which the C library keeps
    freed memory, so that the arrays of each part of the file need no new pages.
    """
    from rosenblatt.data.svmlight import COLUMN_LIMIT, _arrays
    from rosenblatt.engine.entries import parse_svmlight

    from .files import write_sparse

    with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as folder:
        text = write_sparse(Path(folder), 1)[0].read_bytes()
    size = text.rindex(b"\n", 0, 2**20) + 1
    padded, arrays = np.frombuffer(text[:size] + bytes(b"\n" * 32), np.uint8), _arrays(size)
    settings, report = np.array([0, COLUMN_LIMIT, 0, 0, 1]), np.zeros(7, np.int64)

    def parse() -> None:
        for _ in range(10 if quick else 100):
            parse_svmlight(padded, size, *arrays, settings, report)

    return parse


@functools.cache
def loop(name: str, quick: bool) -> Callable[[], None]:
    """A function that runs the epochs of a loop without all that a fit does before and after them."""
    import rosenblatt
    from rosenblatt.model.matrix import Table

    kind, learner = LOOPS[name]
    if kind == "text":
        return parsing(quick)
    X, y = rows(kind, quick)
    table, codes, order, no_weight = Table(X), y.astype(np.int64), np.arange(X.shape[0]), np.zeros(0)

    def run() -> None:
        model = getattr(rosenblatt, learner)()._new_model(X.shape[1], table.dtype)
        model.add_class(*range(int(y.max()) + 1))
        for _ in range(EPOCHS):
            model.run(table, codes, no_weight, order)

    return run


def work() -> None:
    """Run the loops that standard input names."""
    from rosenblatt.engine.native import LIBRARY

    print(LIBRARY.level, flush=True)
    for line in sys.stdin:
        name, _, quick = line.rstrip("\n").partition("\t")
        run = loop(name, quick == "quick")
        start = time.thread_time()
        run()
        print(time.thread_time() - start, flush=True)


# ---- the benchmark ----


def loops(options: Options) -> Iterator[Row]:
    """The main loops of the library, compared with Numba's machine code for the same level, by processor time."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "ROSENBLATT_"))}
    numba = {"ROSENBLATT_LIBRARY": "off", "NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": FEATURES}
    with tempfile.TemporaryDirectory(prefix="rosenblatt-bench-") as cache:
        library = _start({**kept, "ROSENBLATT_CPU_LEVEL": LEVEL})
        jit = _start({**kept, **numba, "ROSENBLATT_CACHE_DIR": cache})
        try:
            found = _answer(library), _answer(jit)
            if found != (LEVEL, "None"):
                yield Row("loops", note=f"needs the compiled library and a processor of level {LEVEL}; found {found}")
                return
            for name in LOOPS:
                yield measure(
                    name,
                    functools.partial(_ask, library, name, options),
                    functools.partial(_ask, jit, name, options),
                    options,
                    kind=SMALLER,
                    bar=1.03,
                    ours="the library",
                    peer=f"Numba for {LEVEL}",
                    note="processor time",
                )
        finally:
            for worker in (library, jit):
                worker.stdin.close()
                worker.wait()


def _start(environment: dict[str, str]) -> Any:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.loops"],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent,
    )  # fmt: skip


def _ask(worker: Any, name: str, options: Options) -> float:
    worker.stdin.write(f"{name}\t{'quick' if options.quick else ''}\n")
    worker.stdin.flush()
    return float(_answer(worker))


def _answer(worker: Any) -> str:
    line: str = worker.stdout.readline().strip()
    if not line:
        raise RuntimeError("a worker of the benchmark ended")
    return line


if __name__ == "__main__":
    work()
