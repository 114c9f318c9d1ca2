"""Data of the benchmarks: generated sets with a fixed seed, and MNIST from a folder."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Labelled = tuple[Any, NDArray[np.int64]]


def dense(rows: int, features: int, seed: int = 0) -> Labelled:
    """Normal rows, C-contiguous float64; a linear rule with noise, so that about 6% of the labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    w = rng.standard_normal(features)
    scores = X @ w + 0.2 * np.linalg.norm(w) * rng.standard_normal(rows)
    return X, (scores > 0).astype(np.int64)


def sparse(rows: int, nonzeros: int, features: int, seed: int = 0) -> Labelled:
    """Sorted float64 CSR rows with int32 indices, frequent and rare features as in text, and noisy labels.

    Feature j is drawn with a density proportional to 1/√j; a repeated draw within a row takes the next free column, so that each
    row has the same number of non-zeros.
    """
    rng = np.random.default_rng(seed)
    indices = np.sort((features * rng.random((rows, nonzeros)) ** 2).astype(np.int32), axis=1)
    steps = np.arange(nonzeros, dtype=np.int32)
    indices = np.maximum.accumulate(indices - steps, axis=1) + steps
    indices = np.minimum(indices, features - nonzeros + steps)
    values = rng.random(rows * nonzeros) + 0.5
    boundaries = np.arange(0, rows * nonzeros + 1, nonzeros, dtype=np.int32)
    X = csr_matrix((values, indices.ravel(), boundaries), shape=(rows, features))
    scores = X @ rng.standard_normal(features)
    return X, (scores + 0.2 * scores.std() * rng.standard_normal(rows) > 0).astype(np.int64)


def random_labels(rows: int, features: int, seed: int = 0) -> Labelled:
    """Rows with independent labels, so that about half of the predictions are mistakes."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, features)), rng.integers(0, 2, rows)


def mnist(folder: Path | None, part: str = "train") -> Labelled | None:
    """The 60,000 training digits, or the 10,000 of part "t10k", as float64 in [0, 1]; None if they are not in the folder."""
    if folder is None:
        return None
    images, labels = (folder / "mnist" / f"{part}-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1"))
    if not (images.exists() and labels.exists()):
        return None
    pixels = np.frombuffer(gzip.decompress(images.read_bytes()), np.uint8, offset=16)
    digits = np.frombuffer(gzip.decompress(labels.read_bytes()), np.uint8, offset=8)
    return pixels.reshape(-1, 784) / 255.0, digits.astype(np.int64)
