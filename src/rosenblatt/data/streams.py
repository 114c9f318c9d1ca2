"""Files as streams of batches."""

import math
import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Semaphore, Thread
from typing import Any, TypeVar, cast

import numpy as np

from rosenblatt.engine.conventions import CSR

from .bad_rows import CHOICES, BadRows, parse_good_rows
from .batch import Batch, compact, join
from .encoder import Encoder
from .errors import BadData
from .formats import Reader, find_format, format_by_name, make_reader
from .labels import TargetLabels, TextLabels
from .sources import Buffers, Opened, expand
from .spans import lines_before
from .summary import columns_as_text
from .tables import TableReader

BATCH_BYTES = 1 << 20
"""Approximate size of a batch in bytes of text: fits into the processor's caches, and the overhead is negligible."""

Paths = str | Path | Sequence[str | Path]
Unit = TypeVar("Unit")
Result = TypeVar("Result")


class Stream:
    """Batches of examples from files; created by `open_stream`.

    Each iteration is one pass over all files. Threads parse the next blocks while the caller learns from the current batch; only
    a few are in memory at a time. Standard input can be read once.

    Attributes
    ----------
    labels : list
        The labels in the order of their first occurrence; it grows. `Batch.codes` are indices into it.
    encoder : Encoder
        The encoder that turns records into features.
    format : {"svmlight", "csv", "tsv", "parquet", "vw", "jsonl", "arff"}
        The detected or given format.
    holds : bool
        Whether more batches have been read than given.
    bad_rows : BadRows
        The rows that were left out in the longest pass so far.
    bytes_read, bytes_total : int, int or None
        Bytes of the files on disk read in the current pass, and in total; the total is None for standard input.
    """

    def __init__(
        self,
        names: list[str],
        first: Opened | None,
        format: str,  # noqa: A002
        reader: Reader,
        threads: int,
        span: tuple[int, int] | None = None,
        ahead: float = 0,
        skips: bool = False,
    ) -> None:
        self.names = names
        self.span = span
        self.format = format
        self.encoder: Encoder = reader.encoder
        self.bytes_read = 0
        self.bytes_total = None if "-" in names else sum(os.stat(name).st_size for name in names)  # noqa: PTH116
        self._reader = reader
        self._threads = threads
        self._first = first
        self._passes = 0
        self._ahead = ahead
        self.holds = False
        self.skips = skips
        self._bad, self._bad_before = BadRows(), BadRows()

    @property
    def bad_rows(self) -> BadRows:
        """The rows that were left out in the longest pass so far."""
        return max(self._bad_before, self._bad, key=lambda found: found.count)

    @property
    def unseen(self) -> dict[str, Counter[str]]:
        """For each column of a table the categories that a model does not know, and how often each occurred so far."""
        unseen: dict[str, Counter[str]] = getattr(self._reader, "unseen", {})
        return unseen

    @property
    def labels(self) -> list[Any]:
        """The labels in the order of their first occurrence."""
        labels: list[Any] = self._reader.labels.values
        return labels

    def __iter__(self) -> Iterator[Batch]:
        if self._passes and "-" in self.names:
            raise BadData(
                "Standard input can be read once; a second pass was requested. Write it to a file for several epochs.",
                "-",
            )
        self._passes += 1
        self.bytes_read = 0
        self._bad, self._bad_before = BadRows(), self.bad_rows
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        seen = False
        for parsed, name, line in self._counted():
            with self._placed(name, line):
                batch = self._reader.finish(parsed, line)
            if batch.size:
                seen = True
                yield batch
        if not seen and self.span is None:
            raise BadData(
                "A file must hold at least one example; this one has none. Check that it was written completely.",
                self.names[0],
            )
        self.encoder.learned_moments = True

    def _counted(self) -> Iterator[tuple[Any, str, int]]:
        """The parsed units; the first ones, up to `ahead` bytes, when the running statistics have all of them."""
        encoder, units = self.encoder, self._parsed()
        stopped: KeyboardInterrupt | None = None
        if encoder.learning and self._ahead:
            kept, size = deque[tuple[Any, str, int]](), 0
            reader: Any = self._reader
            try:
                for parsed, name, line in units:
                    kept.append((reader.count(parsed), name, line))
                    size += parsed.size
                    if size > self._ahead:
                        break
            except KeyboardInterrupt as error:  # a live source has no more for now; what it has given still counts
                stopped = error
            while kept:
                self.holds = len(kept) > 1
                yield kept.popleft()
        if stopped is not None:
            raise stopped
        yield from units

    def _parsed(self) -> Iterator[tuple[Any, str, int]]:
        """The parsed units of all files, each with its file and first line."""
        done = 0
        for name in self.names:
            source, self._first = self._first or Opened(name, self.span), None
            line = 1
            try:
                threads = 1 if source.live else self._threads  # reading ahead would delay examples that have arrived
                units = _in_order(self._reader.work(source), self._parse, threads)
                while True:
                    with self._placed(name, line):
                        found = next(units, None)
                    if found is None:
                        break
                    parsed, errors, gone = found
                    if errors:
                        self._bad.add(errors, name, line)
                    if parsed is not None:
                        yield parsed, name, line
                        line += parsed.lines
                    line += gone
                    # The position may be temporarily wrong while a thread is reading.
                    self.bytes_read = max(self.bytes_read, done + source.position())
            finally:
                source.close()
            done += source.size or 0

    def _parse(self, unit: Any) -> tuple[Any, list[BadData], int]:
        """Parse a unit, as `parse_good_rows` does; without `skips`, an error ends the reading."""
        return parse_good_rows(self._reader, unit) if self.skips else (self._reader.parse(unit), [], 0)

    @contextmanager
    def _placed(self, name: str, line: int) -> Iterator[None]:
        """Add the file and the line to errors of a unit that begins at this line."""
        try:
            yield
        except BadData as error:
            relative = 1 if error.line is None and error.path is None else error.line
            before = 0 if relative is None or self.span is None else lines_before(name, self.span[0])
            raise BadData(error.message, name, None if relative is None else before + line + relative - 1) from None

    def describe(self) -> str:
        """A printable summary of the format and the label, and a table of the columns."""
        encoder = self.encoder
        lines = [f"format   {self.format}", f"label    {self._reader.label_text}"]
        if encoder.samples:
            lines += ["", *columns_as_text(encoder)]
        if encoder.interactions:
            lines.append(f"products {', '.join(f'{a}*{b}' for a, b in encoder.interactions)}")
        if encoder.bits is not None:
            lines.append(f"hashed   to {1 << encoder.bits:,} places")
        return "\n".join(lines)


def _in_order(units: Iterator[Unit], work: Callable[[Unit], Result], threads: int) -> Iterator[Result]:
    """Map `work` over the units in threads that run slightly ahead, and yield the results in order.

    Each thread takes a unit and processes it, so that a batch is passed between threads only once. The caller is one of the
    threads and works until the next result is ready: with more threads than cores, two would often share a core.
    """
    if threads == 1:
        yield from map(work, units)
        return
    coming: deque[Future[Result]] = deque()
    taking, room = Lock(), Semaphore(threads + 1)
    ended = False

    def take_and_work() -> bool:
        """Whether there was a unit."""
        nonlocal ended
        future: Future[Result] = Future()
        with taking:
            if ended:
                return False
            try:
                unit = next(units)
            except StopIteration:
                ended = True
                return False
            except Exception as error:  # noqa: BLE001 - raised by result(), after what came before it
                ended = True
                future.set_exception(error)
                coming.append(future)
                return False
            coming.append(future)
        try:
            future.set_result(work(unit))
        except Exception as error:  # noqa: BLE001 - as above
            future.set_exception(error)
        return True

    def run() -> None:
        while room.acquire() and take_and_work():
            pass

    others = [Thread(target=run, name=f"rosenblatt-reader-{k}", daemon=True) for k in range(1, threads)]
    for thread in others:
        thread.start()
    try:
        while True:
            while not (coming and coming[0].done()) and room.acquire(blocking=False) and take_and_work():
                pass
            if not coming:
                with taking:  # no thread is about to add one
                    if ended and not coming:
                        return
                continue
            yield coming[0].result()
            coming.popleft()
            room.release()
    finally:
        ended = True
        room.release(threads)
        for thread in others:
            thread.join()


def open_stream(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002
    label: str | int | None = None,
    header: bool | None = None,
    bits: int | None = None,
    types: Mapping[str, str] | None = None,
    interactions: Sequence[tuple[str, str]] = (),
    standardize: bool | None = False,
    one_based: bool | None = None,
    na: Sequence[str] = (),
    word_weights: str | None = "counts",
    ngrams: Sequence[int] = (1, 1),
    char_ngrams: Sequence[int] | None = None,
    weight: str | None = None,
    regression: bool = False,
    separator: str | None = None,
    ahead: float = 0,
    keep: Sequence[str] = (),
    on_bad_rows: str = "stop",
    encoder: Encoder | None = None,
    batch_bytes: int = BATCH_BYTES,
    threads: int | None = None,
    labelled: bool = True,
    span: tuple[int, int] | None = None,
) -> Stream:
    """Open files for reading.

    Parameters
    ----------
    paths : path, or sequence of paths
        Files or glob patterns, read in order as one; "-" is standard input. gzip, zstd, bzip2 and xz are detected automatically.
    format : {"svmlight", "csv", "tsv", "parquet", "vw", "jsonl", "arff"} or None, default=None
        None detects it by name and content.
    label : str, int or None, default=None
        The label column, by name or by number from 0. None for the column named label, else target, class or y, else the last.
        In svmlight and VW text the label always comes first.
    header : bool or None, default=None
        Whether the first row of CSV contains column names; None detects it. Without names, columns are named 0, 1, ….
    bits : int or None, default=None
        Hash features to ``2**bits`` indices, 1 to 30; None keeps an exact vocabulary that grows.
    types : mapping of str to {"number", "category", "words", "date", "ignore"} or None, default=None
        Kinds of columns that should not be guessed; "ignore" leaves a column out. "date:dmy", "date:mdy" and "date:ymd" also
        give the order of day, month and year.
    interactions : sequence of (str, str), default=()
        Pairs of columns (VW text: namespaces) whose features are multiplied.
    standardize : bool or None, default=False
        Whether to scale the numbers of a table to mean 0 and standard deviation 1. None does so for tables only; for other
        formats True is an error.
    one_based : bool or None, default=None
        Whether svmlight text counts features from 1, so that a 0 is an error and the first column is 1. None keeps the numbers as
        written.
    na : sequence of str, default=()
        Further texts that mean a missing value, also in the label, where otherwise only an empty field is missing.
    word_weights : {"counts", "log", "tfidf"} or None, default="counts"
        The values of words: how often each occurs; or 1 + log of that, with the words of a row scaled to length 1; or the same
        with each first multiplied by ``1 + log((1 + n) / (1 + m))``, where m of the n rows so far have the word. In svmlight
        and VW text all features are words. None means log for tables and for VW text without values, and counts for other files.
    ngrams : (int, int), default=(1, 1)
        The least and the largest number of words of a phrase: (1, 2) uses single words and pairs of consecutive words, (0, 0) no
        words.
    char_ngrams : (int, int) or None, default=None
        The least and the largest number of characters of sequences within words, which are used as well.
    weight : str or None, default=None
        The column of a table with the weights of the examples, numbers of at least 0.
    regression : bool, default=False
        Whether the labels are real targets: `Batch.codes` then holds their bits as float64, and `Stream.labels` is empty.
    separator : str or None, default=None
        The text between several labels in one field; the labels of the stream are then these fields. In JSON lines a list of
        labels becomes such a field.
    ahead : float, default=0
        With `standardize` or tfidf, the number of bytes to keep before the first batch, so that these rows are scaled by the mean
        and deviation, and weighted by the frequencies of words, of all of them. Later rows, and with 0 all of them, are scaled by
        those of the rows up to each.
    keep : sequence of str, default=()
        Columns of a table to give as they are, without blanks around texts, in `Batch.kept`.
    on_bad_rows : {"stop", "skip"}, default="stop"
        What to do with a row that cannot be read, such as one with a wrong number of fields: stop with an error, or leave it out
        and count it in `Stream.bad_rows`.
    encoder : Encoder or None, default=None
        The encoder of an earlier file, to give the same columns the same features.
    batch_bytes : int, default=1 MiB
        Approximate size of a batch in bytes of text; larger batches need more memory.
    threads : int or None, default=None
        Number of parsing threads, including that of the caller; None for the number of cores.
    labelled : bool, default=True
        Whether examples must have labels; False, for prediction, uses labels if there are any.
    span : tuple of int or None, default=None
        Read only a part of one file, from `rosenblatt.data.spans.split`; it may contain no examples.

    Returns
    -------
    Stream
        The examples.
    """
    if batch_bytes < 1:
        raise ValueError(f"`batch_bytes` must be at least 1; got {batch_bytes}. A typical value is a million.")
    if on_bad_rows not in CHOICES:
        raise ValueError(
            f"`on_bad_rows` must be stop or skip; got {on_bad_rows!r}. skip leaves them out and counts them."
        )
    names = expand(paths)
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    first = Opened(names[0])
    try:
        found = find_format(first, names[0], format, encoder)
        for other in names[1:]:
            if format is None and format_by_name(other) not in (None, found):
                raise BadData(
                    f"All files must have the same format; the first is {found}, this one is {format_by_name(other)}. Convert "
                    "it, or train on the files of one format first and go on with the others with --resume.",
                    other,
                )
        reader = make_reader(
            first, found, Buffers(batch_bytes), encoder,
            label=label, header=header, types=types, labelled=labelled, one_based=one_based,
            bits=bits, interactions=interactions, standardize=standardize, na=na, word_weights=word_weights, weight=weight,
            ngrams=ngrams, char_ngrams=char_ngrams,
            tolerant=on_bad_rows == "skip",
        )  # fmt: skip
        reader.encoder.format = reader.encoder.format or found
        if regression or reader.encoder.regression:
            _read_targets(reader, labelled)
        if separator is not None:
            _read_fields(reader, separator)
        if keep and reader.encoder.family == "table":
            cast(TableReader, reader).keep_columns(keep)
    except BadData as error:
        raise BadData(error.message, error.path or names[0], error.line) from None
    finally:
        first.close()
    live = first if names[0] == "-" else None
    return Stream(names, live, found, reader, max(1, threads), span, ahead, on_bad_rows == "skip")


def _read_targets(reader: Any, labelled: bool) -> None:
    """Let a reader give real targets in place of the numbers of labels."""
    encoder = reader.encoder
    if labelled and encoder.family == "table" and encoder.label_kind != "number":
        raise BadData(
            f"The target of a regression must be a column of numbers; {encoder.label!r} holds text. Name another column with "
            "--label, give the texts that mean a missing number with --na, or leave out --regression."
        )
    encoder.regression = True
    reader.labels = TargetLabels()


def _read_fields(reader: Any, separator: str) -> None:
    """Let a reader give the text of the label, which may hold several."""
    reader.encoder.separator, reader.encoder.label_kind = separator, "category"
    reader.labels = TextLabels()


def _labels_of(source: Stream, codes: Any) -> Any:
    """Labels as an array; an object array with None for examples without a label. Real targets, with NaN for them."""
    labels = source.labels
    if source.encoder.regression:
        return codes.view(np.float64)
    if (codes < 0).any():
        chosen = np.empty(len(labels) + 1, object)
        chosen[: len(labels)] = labels
        return chosen[codes]
    return np.asarray(labels)[codes]


def _warn_of_bad_rows(source: Stream) -> None:
    if message := source.bad_rows.describe():
        warnings.warn(message, stacklevel=3)


def _warn_of_left_out(source: Stream) -> None:
    if source.encoder.left_out:
        listed = "; ".join(f"{name!r} ({reason})" for name, reason in source.encoder.left_out.items())
        warnings.warn(
            f"Columns that say nothing were left out: {listed}. To use one, name its type in `types`.", stacklevel=3
        )


def read(path: Paths, **options: Any) -> tuple[Any, Any]:
    """Read whole files into arrays.

    Parameters
    ----------
    path : path, or sequence of paths
        Files to read; gzip and zstd, globs and "-" as in `rosenblatt.data.open_stream`.
    **options
        As in `rosenblatt.data.open_stream`: format, label, header, bits, types, interactions, standardize, one_based, …

    Returns
    -------
    X : ndarray or scipy.sparse.csr_array of float64
        The features; dense if every column is a number. If `one_based` is None and svmlight text never uses column 0, the
        first column of X is column 1.
    y : ndarray
        The labels.
    """
    from scipy.sparse import csr_array

    source = open_stream(path, **{"ahead": math.inf, **options})
    _warn_of_left_out(source)
    whole = join([compact(batch) for batch in source])
    _warn_of_bad_rows(source)
    y = _labels_of(source, whole.codes)
    if not isinstance(whole.rows, CSR):
        return whole.rows, y
    width = source.encoder.n_features
    indptr, indices, values = whole.rows
    if source.format == "svmlight" and options.get("one_based") is None and options.get("encoder") is None:
        shift = int(source.encoder.bits is None and indices.size > 0 and indices.min() > 0)
        indices -= shift
        width -= shift
    return csr_array((values, indices, indptr), shape=(whole.size, width)), y


def stream(path: Paths, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Read files of any size as batches, for `partial_fit`.

    Parameters
    ----------
    path : path, or sequence of paths
        Files to read, as in `rosenblatt.data.open_stream`.
    **options
        As in `rosenblatt.data.open_stream`.

    Yields
    ------
    X : ndarray or scipy.sparse.csr_array of float64
        The features of some examples. Sparse batches get more columns as new features occur; with `bits` the number is constant.
    y : ndarray
        Their labels.
    """
    from scipy.sparse import csr_array

    source = open_stream(path, **options)
    _warn_of_left_out(source)
    for batch in source:
        y = _labels_of(source, batch.codes)
        if isinstance(batch.rows, CSR):
            indptr, indices, values = batch.rows
            yield csr_array((values, indices, indptr), shape=(batch.size, source.encoder.n_features)), y
        else:
            yield batch.rows, y
    _warn_of_bad_rows(source)
