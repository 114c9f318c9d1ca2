"""Parts of a file that can be read apart: ranges of bytes that begin and end with a record, or row groups of Parquet."""

import itertools
from pathlib import Path

from .errors import BadData
from .formats import find_format, make_reader
from .sources import BYTE_ORDER_MARK, LINE_LIMIT, Buffers, Opened, blocks

__all__ = ["Span", "aligned", "lines_before", "needs_scan", "scan", "split"]

Span = tuple[int, int]

_PIECE = 1 << 20


def split(name: str, size: int, format: str | None = None) -> list[Span] | None:  # noqa: A002
    """Cut a file into parts of about so many bytes; None if it can only be read as a whole.

    Parameters
    ----------
    name : str
        The file.
    size : int
        About so many bytes make a part; row groups of Parquet are kept whole.
    format : str or None, default=None
        As in `open_stream`.

    Returns
    -------
    list of tuple of int, or None
        Numbers of row groups, or bytes. The latter become whole lines by `aligned`; where a record may hold newlines
        (`needs_scan`), only `scan` finds where one ends.
    """
    source = Opened(name)
    try:
        if source.compression is not None or source.size is None:
            return None
        if find_format(source, name, format) == "parquet":
            return _row_groups(source, size)
        whole = source.size
    finally:
        source.close()
    parts = max(1, round(whole / size))
    cuts = [whole * k // parts for k in range(parts + 1)]
    return list(itertools.pairwise(cuts))


def _row_groups(source: Opened, size: int) -> list[Span]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        details = parquet.ParquetFile(source.whole()).metadata
    except (OSError, pa.ArrowException) as error:
        raise BadData(f"The Parquet file cannot be read: {error}. Copy or write it again.", source.name) from None
    spans, first, have = [], 0, 0
    for group in range(details.num_row_groups):
        have += details.row_group(group).total_byte_size
        if have >= size or group == details.num_row_groups - 1:
            spans.append((first, group + 1))
            first, have = group + 1, 0
    return spans or [(0, 0)]


def needs_scan(format: str) -> bool:  # noqa: A002
    """Whether a record may hold newlines, so that its end is known only to who has read the file from its beginning."""
    return format in ("csv", "tsv")


def scan(name: str, size: int, format: str, header: bool | None = None) -> list[Span]:  # noqa: A002
    """The same as `split` for tables with quotes: reads the file once, at the speed of the disk."""
    first = Opened(name)
    try:
        buffers = Buffers(size)
        reader = make_reader(
            first, format, buffers, None, label=None, header=header, types=None, labelled=False, one_based=None,
            bits=None, interactions=(), standardize=False,
        )  # fmt: skip
    finally:
        first.close()
    source = Opened(name)
    cuts = [len(BYTE_ORDER_MARK) if _begins_with(name, BYTE_ORDER_MARK) else 0]
    try:
        for block in blocks(source, buffers, reader.end_of_record):  # type: ignore[attr-defined]
            cuts.append(cuts[-1] + block.size)
            buffers.give_back(block)
    finally:
        source.close()
    cuts[0], cuts[-1] = 0, Path(name).stat().st_size  # a last line without its newline was counted with one
    return list(itertools.pairwise(cuts))


def _begins_with(name: str, mark: bytes) -> bool:
    with Path(name).open("rb") as file:
        return file.read(len(mark)) == mark


def aligned(name: str, span: Span) -> Span:
    """The lines that begin within a range of bytes."""
    with Path(name).open("rb") as file:
        ends = []
        for cut in span:
            if cut == 0:
                ends.append(0)
                continue
            file.seek(cut - 1)
            skipped = file.readline(LINE_LIMIT)
            ends.append(cut - 1 + len(skipped))
    return ends[0], ends[1]


def lines_before(name: str, end: int) -> int:
    """How many lines of a text end before a byte of it; of Parquet, how many rows come before a group."""
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
