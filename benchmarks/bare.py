"""Compile bare.c on this machine, for this machine, and call it."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parent / "bare.c"
# Without contraction a product is rounded before it is added, as in our loops: the number of mistakes must be the same.
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


class NoCompilerError(RuntimeError):
    """There is no C compiler, or it does not compile bare.c."""


def _array(kind: type) -> Any:
    return np.ctypeslib.ndpointer(kind, ndim=1, flags="C_CONTIGUOUS")


@functools.cache
def library() -> Any:
    """The compiled loops; they are built into a temporary folder once per process."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoCompilerError("needs a C compiler: none of cc, gcc and clang was found")
    with tempfile.TemporaryDirectory(prefix="rosenblatt-bare-") as folder:
        target = Path(folder) / "bare.so"
        command = [compiler, *FLAGS, str(SOURCE), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoCompilerError(f"{compiler} did not compile bare.c: {' '.join(done.stderr.split())[:200]}")
        made = ctypes.CDLL(str(target))
    floats, longs, ints = _array(np.float64), _array(np.int64), _array(np.int32)
    for epoch in (made.epoch_one_sum, made.epoch_eight_slots):
        epoch.argtypes = [longs, ints, floats, longs, ctypes.c_int64, floats, floats]
        epoch.restype = ctypes.c_int64
    made.read_all.argtypes, made.read_all.restype = [floats, ctypes.c_int64], ctypes.c_double
    return made


def training(name: str, X: Any, y: Any, epochs: int) -> Callable[[], int]:
    """A function that runs some epochs on a CSR matrix from zero weights and returns the number of mistakes.

    `name` is "epoch_one_sum" or "epoch_eight_slots".
    """
    epoch = getattr(library(), name)
    indptr, indices = X.indptr.astype(np.int64), np.ascontiguousarray(X.indices, np.int32)
    values, labels = np.ascontiguousarray(X.data, np.float64), np.ascontiguousarray(y, np.int64)

    def train() -> int:
        w, bias = np.zeros(X.shape[1]), np.zeros(1)
        return sum(epoch(indptr, indices, values, labels, X.shape[0], w, bias) for _ in range(epochs))

    return train


def reading(X: Any, times: int) -> Callable[[], None]:
    """A function that reads a dense C-contiguous float64 matrix some times."""
    read, flat = library().read_all, X.ravel()

    def read_all() -> None:
        for _ in range(times):
            read(flat, flat.size)

    return read_all
