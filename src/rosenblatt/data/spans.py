"""Parts of a file that can be read separately: byte ranges of whole records, or row groups of Parquet."""

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .errors import BadData
from .formats import make_reader
from .sources import BYTE_ORDER_MARK, LINE_LIMIT, Buffers, Opened, blocks

Span = tuple[int, int]

_PIECE = 1 << 20


def split(name: str, cuts: Sequence[int], format: str, header: bool | None = None) -> list[Span] | None:  # noqa: A002
    """Split a file between records near the given positions; None if it can only be read as a whole.

    Parameters
    ----------
    name : str
        The file.
    cuts : sequence of int
        Where to split, in bytes and in ascending order, also for Parquet, whose row groups are kept whole.
    format : str
        As found by `open_stream`.
    header : bool or None, default=None
        As in `open_stream`.

    Returns
    -------
    list of tuple of int, or None
        Ranges of bytes or of row groups, one more than there are cuts; the range of a part without a record is empty. CSV and
        TSV files are read completely, because quotes determine where a record ends.
    """
    source = Opened(name)
    try:
        if source.compression is not None or source.size is None:
            return None
        if format == "parquet":
            ends = _row_groups(source, cuts)
        elif cuts and format in ("csv", "tsv"):
            ends = _records(source, cuts, format, header)
        else:
            ends = [0, *_lines(name, cuts), source.size]
    finally:
        source.close()
    return list(itertools.pairwise(ends))


def _row_groups(source: Opened, cuts: Sequence[int]) -> list[int]:
    """For each cut the nearest end of a row group, with the sizes of the groups scaled to the size of the file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        details = parquet.ParquetFile(source.whole()).metadata
    except (OSError, pa.ArrowException) as error:
        raise BadData(f"The Parquet file cannot be read: {error}. Copy or write it again.", source.name) from None
    sizes = [details.row_group(group).total_byte_size for group in range(details.num_row_groups)]
    ends = list(itertools.accumulate(sizes, initial=0))
    places = [cut * ends[-1] / (source.size or 1) for cut in cuts]
    return [0, *(min(range(len(ends)), key=lambda end: abs(ends[end] - place)) for place in places), len(sizes)]


def _records(source: Opened, cuts: Sequence[int], format: str, header: bool | None) -> list[int]:  # noqa: A002
    """For each cut the end of the last record before it."""
    buffers = Buffers(_PIECE)
    ends, left = [0], deque(cuts)
    start = first = len(BYTE_ORDER_MARK) if _begins_with(source.name, BYTE_ORDER_MARK) else 0
    try:
        reader: Any = make_reader(
            source, format, buffers, None, label=None, header=header, types=None, labelled=False, one_based=None,
            bits=None, interactions=(), standardize=False,
        )  # fmt: skip
        for block in blocks(source, buffers, reader.end_of_record):
            if start == first and reader.dialect.header:
                first += block.memory.find(b"\n") + 1  # the header is not a record
            while left and left[0] < start + block.size:
                end = start + reader.end_of_record(block.memory, block.text, max(0, left.popleft() - start))
                ends.append(end if end > first else 0)
            start += block.size
            buffers.give_back(block)
    except BadData as error:
        line = error.line and error.line + lines_before(source.name, start)
        raise BadData(error.message, source.name, line) from None
    return [*ends, *[source.size or 0] * (len(left) + 1)]


def _begins_with(name: str, mark: bytes) -> bool:
    with Path(name).open("rb") as file:
        return file.read(len(mark)) == mark


def _lines(name: str, cuts: Sequence[int]) -> Iterator[int]:
    """For each cut the end of the line that contains it."""
    with Path(name).open("rb") as file:
        for cut in cuts:
            file.seek(max(0, cut - 1))
            yield max(0, cut - 1) + len(file.readline(LINE_LIMIT))


def lines_before(name: str, end: int) -> int:
    """Number of lines that end before a byte position; for Parquet, number of rows before a row group."""
    with Path(name).open("rb") as file:
        if file.read(4) == b"PAR1":
            from pyarrow import parquet

            details = parquet.ParquetFile(name).metadata
            return sum(details.row_group(group).num_rows for group in range(end))
        file.seek(0)
        count = 0
        while end > 0 and (piece := file.read(min(_PIECE, end))):
            count += piece.count(b"\n")
            end -= len(piece)
    return count
