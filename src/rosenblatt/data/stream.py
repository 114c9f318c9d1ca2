"""Files as streams of batches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .batch import Batch
from .encoder import Encoder

__all__ = ["BATCH_BYTES", "Stream", "open_stream", "read", "stream"]

BATCH_BYTES = 1 << 20

Paths = str | Path | Sequence[str | Path]


class Stream:
    """Examples from files, a batch at a time. Each iteration is one pass; all but standard input can be read again.

    Attributes
    ----------
    labels : list
        The labels in the order in which they arrived; it grows. `Batch.codes` are places in it.
    encoder : Encoder
        What turned records into features.
    format : {"svmlight", "csv", "tsv", "parquet", "vw", "jsonl"}
        As found.
    bytes_read, bytes_total : int, int or None
        How far the current pass has come in the files, as they lie on disk; None for standard input.
    """

    labels: list[Any]
    encoder: Encoder
    format: str
    bytes_read: int
    bytes_total: int | None

    def __iter__(self) -> Iterator[Batch]:
        raise NotImplementedError

    def describe(self) -> str:
        """What was found: format, label and the kind of each column, in a few lines to print."""
        raise NotImplementedError


def open_stream(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002
    label: str | int | None = None,
    header: bool | None = None,
    bits: int | None = None,
    types: Mapping[str, str] | None = None,
    interactions: Sequence[tuple[str, str]] = (),
    standardize: bool = False,
    one_based: bool | None = None,
    encoder: Encoder | None = None,
    batch_bytes: int = BATCH_BYTES,
    threads: int | None = None,
    labelled: bool = True,
) -> Stream:
    """Open files for reading; see `Stream`."""
    raise NotImplementedError


def read(path: Paths, **options: Any) -> tuple[Any, Any]:
    """Whole files as (X, y)."""
    raise NotImplementedError


def stream(path: Paths, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Files as an iterator of (X, y)."""
    raise NotImplementedError
