"""CSV and TSV, parsed by Arrow in blocks of whole rows on all cores."""

import csv
import io
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.engine.entries import last_record

from .encoder import Encoder
from .errors import BadData
from .idle import idle_columns
from .sources import Block, Buffers, Opened, blocks, last_newline
from .tables import LABEL_NAMES, MISSING, NUMBER, InfiniteNumber, Parsed, TableReader, guess_kind

QUOTE = '"'


class Dialect(NamedTuple):
    """The dialect, columns and column kinds of a CSV or TSV file.

    `label_kinds` has the kind of each column if it is the label, `idle` the columns that say nothing, with the reasons.
    """

    delimiter: str
    quoted: bool
    header: bool
    names: list[str]
    kinds: dict[str, str]
    label_kinds: dict[str, str]
    idle: dict[str, str]


def sniff(
    text: bytes,
    format: str,  # noqa: A002
    header: bool | None,
    *,
    na: Sequence[str] = (),
    complete: bool = False,
    encoder: Encoder | None = None,
) -> Dialect:
    """Guess the dialect and the kinds of columns from the first block of a file.

    With an encoder, its delimiter is kept if it gives the columns that the encoder needs.
    """
    lines = text.decode("utf-8", "replace")
    delimiter = "\t" if format == "tsv" else None
    if delimiter is None and encoder is not None and _fits(lines, encoder):
        delimiter = encoder.delimiter
    delimiter = delimiter or _delimiter(lines)
    missing = [*MISSING, *na]
    quoted = _quoted(lines, delimiter)
    rows = [row for row in _rows(lines, delimiter, quoted) if row]
    if not rows:
        raise BadData("A table must have rows; this file has none. Check that it was written completely.")
    width = len(rows[0])
    body = [row for row in rows[1:] if len(row) == width]
    columns = [[row[c] for row in body] for c in range(width)]
    kinds = [guess_kind(column, missing) for column in columns]
    if header is None:
        header = _is_header([cell.strip() for cell in rows[0]], columns, kinds)
    if not header:
        columns = [[rows[0][c], *columns[c]] for c in range(width)]
        kinds = [guess_kind(column, missing) for column in columns]
    names = _names(rows[0]) if header else [str(c) for c in range(width)]
    if header and not body:
        raise BadData(
            "A table must have rows below its header; this file has none. Set header=False if it has no header."
        )
    unnamed = names[0] if not header or not rows[0][0].strip() else None
    label_kinds = [guess_kind(column, ["", *na]) for column in columns]
    found = dict(zip(names, kinds))
    idle = idle_columns(dict(zip(names, columns)), found, unnamed, complete)
    return Dialect(delimiter, quoted, header, names, found, dict(zip(names, label_kinds)), idle)


def _fits(text: str, encoder: Encoder) -> bool:
    """Whether the encoder's delimiter gives its columns in the first row."""
    first = next((row for row in _rows(text.split("\n", 1)[0], encoder.delimiter, True) if row), [])
    if encoder.header:
        return {cell.strip() for cell in first} >= {name for name in encoder.columns if not name.isdecimal()}
    unlabelled = [*range(encoder.width)][: encoder.width - (encoder.label is not None)]
    return len(first) in (encoder.width, len(unlabelled))


def _names(cells: Sequence[str]) -> list[str]:
    """The names in a header; a column without a name is named by its number."""
    names = [cell.strip() or str(c) for c, cell in enumerate(cells)]
    repeated = [name for name, many in itertools.groupby(sorted(names)) if len(list(many)) > 1]
    if repeated:
        raise BadData(
            f"The names of columns must be unique; {repeated[0]!r} occurs twice. Rename one, or set header=False."
        )
    return names


def _reader(text: str, delimiter: str, quoted: bool) -> Any:
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=QUOTE, quoting=quoting)


def _rows(text: str, delimiter: str, quoted: bool) -> Iterator[list[str]]:
    reader = _reader(text, delimiter, quoted)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue


def records(text: str, width: int, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """The non-empty rows of a text, each with its first line number; raise for a row of another width."""
    reader, line = _reader(text, delimiter, quoted), 1
    try:
        for row in reader:
            if row and len(row) != width:
                raise BadData(
                    f"A row must have {width} field{'s'[: width - 1]}, as the first one has; got {len(row)}. "
                    f"Quote a field that contains {delimiter!r}.",
                    line=line,
                )
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as problem:
        raise BadData(f"The row cannot be split into fields: {problem}. Check its quotes.", line=line) from None


def _delimiter(text: str) -> str:
    """The delimiter that splits the first lines into the largest constant number of fields."""
    first = text.split("\n", 20)[:20]
    best, fields = ",", 1
    for sign in (",", "\t", ";", "|"):
        widths = {len(row) for row in _rows("\n".join(first[:-1] or first), sign, True) if row}
        if len(widths) == 1 and max(widths) > fields:
            best, fields = sign, max(widths)
    return best


def _quoted(text: str, delimiter: str) -> bool:
    """Whether quotes enclose fields; in TSV they do not if one opens a field without closing it on the same line."""
    for line in text.split("\n")[:5000]:
        for field in line.rstrip("\r").split(delimiter):
            if field.startswith(QUOTE) and delimiter == "\t" and (len(field) < 2 or not field.endswith(QUOTE)):
                return False
    return True


def _is_header(first: Sequence[str], columns: Sequence[Sequence[str]], kinds: Sequence[str]) -> bool:
    """Whether the first row names the columns."""
    if first in ([str(c) for c in range(len(first))], [str(c + 1) for c in range(len(first))]) and len(first) > 1:
        return True
    if any(NUMBER.match(cell) for cell in first) or first == [""]:
        return False
    if len(set(first)) < len(first):  # repeated cells are values; they are names only above columns of numbers
        return any(kind == "number" and cell not in MISSING for cell, kind in zip(first, kinds))
    if "number" in kinds or any(cell.lower() in LABEL_NAMES for cell in first):
        return True
    # All columns are text: a name differs from the repeated values of a category column.
    repeating = [(cell, set(column)) for cell, column in zip(first, columns) if len(set(column)) <= len(column) / 2]
    return bool(repeating) and all(cell not in values for cell, values in repeating)


class DelimitedReader(TableReader):
    """Reader of CSV and TSV files."""

    def __init__(self, encoder: Encoder, buffers: Buffers, dialect: Dialect, labelled: bool = True) -> None:
        names = dialect.names
        if not dialect.header and not encoder.header:
            expected = encoder.width or len(encoder.columns) + (encoder.label is not None)
            unlabelled = [str(c) for c in range(expected) if str(c) != encoder.label]
            if len(names) == len(unlabelled):  # the same table without its label
                names = unlabelled
            elif len(names) != expected:
                raise BadData(
                    f"A table must have {expected} columns, or {len(unlabelled)} without the label; got {len(names)}. Use a file "
                    "with the columns that the model was trained on."
                )
        super().__init__(encoder, names, labelled)
        self.missing = [*MISSING, *encoder.na]
        self.buffers = buffers
        self.dialect = dialect
        self.wanted = [*encoder.columns, *([str(encoder.label)] if self.has_label else [])]

    def work(self, source: Opened) -> Iterator[tuple[Block, list[str], bool]]:
        """Blocks of rows, with the names of their columns; the first block of each file has its header."""
        header = self.dialect.header and (source.span is None or source.span[0] == 0)
        names = self.names
        for block in blocks(source, self.buffers, self.end_of_record):
            if header:
                first = block.memory[: block.memory.find(b"\n")].decode("utf-8", "replace")
                names = _names(next(_rows(first, self.dialect.delimiter, self.dialect.quoted), []))
                self.check_columns(names)
            yield block, names, header
            header = False

    def end_of_record(self, memory: bytearray, text: Any, size: int) -> int:
        """End of the last whole record of a text; quoted fields may contain newlines."""
        if not self.dialect.quoted or memory.find(b'"', 0, size) < 0:
            return last_newline(memory, text, size)
        return int(last_record(text, size, ord(self.dialect.delimiter)))

    def parse(self, unit: tuple[Block, list[str], bool]) -> Parsed:
        """Parse a block; thread-safe."""
        import pyarrow as pa
        import pyarrow.compute

        block, numeric = unit[0], set(self.encoder.number_columns)
        try:
            try:
                columns, rows = self._read(unit, numeric)
            except pa.ArrowInvalid:  # blanks around a missing number, or an error; the other way takes more time
                columns, rows = self._read(unit, set())
                for name in numeric:
                    texts = _without(pa.compute.utf8_trim_whitespace(columns[name]), self.missing)
                    columns[name] = texts.cast(pa.float64())
            for name, kind in self.encoder.columns.items():
                if kind != "number":
                    columns[name] = _without(columns[name], self.missing)
            if self.has_label:
                columns[str(self.encoder.label)] = self._labels(columns[str(self.encoder.label)])
            parsed = self.encode(columns, rows, block.memory.count(b"\n", 0, block.size))
        except (pa.ArrowInvalid, InfiniteNumber) as error:
            raise self._error(unit, numeric, error) from None
        self.buffers.give_back(block)
        return parsed

    def _read(self, unit: tuple[Block, list[str], bool], numeric: Collection[str]) -> tuple[dict[str, Any], int]:
        """The wanted columns of a block: float64 for `numeric`, else strings as they are; and the number of rows."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        block, names, header = unit
        table = arrow_csv.read_csv(
            pa.py_buffer(memoryview(block.memory)[: block.size]),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=block.size + 1, column_names=names, skip_rows=int(header)
            ),
            arrow_csv.ParseOptions(
                delimiter=self.dialect.delimiter,
                quote_char=QUOTE if self.dialect.quoted else False,
                newlines_in_values=self.dialect.quoted,
            ),
            arrow_csv.ConvertOptions(
                column_types={name: pa.float64() if name in numeric else pa.string() for name in self.wanted},
                include_columns=self.wanted,
                null_values=self.missing,
                strings_can_be_null=False,
            ),
        ).combine_chunks()
        if not table.num_rows:
            return {name: pa.array([], field.type) for name, field in zip(table.column_names, table.schema)}, 0
        return {name: table.column(name).chunk(0) for name in self.wanted}, table.num_rows

    def _labels(self, texts: Any) -> Any:
        """The labels; only empty ones, and those that `na` names, are missing."""
        import pyarrow as pa
        import pyarrow.compute

        texts = _without(pa.compute.utf8_trim_whitespace(texts), ["", *self.encoder.na])
        if self.encoder.label_kind != "number":
            return texts
        labels = texts.cast(pa.float64())
        if pa.compute.any(pa.compute.is_nan(labels)).as_py():  # a text that Arrow takes for a number, such as nan
            raise pa.ArrowInvalid("a label is not a number")
        return labels

    def _error(self, unit: tuple[Block, list[str], bool], numeric: set[Any], error: Exception) -> BadData:
        """Find the line that Arrow rejected, and describe the error."""
        encoder = self.encoder
        labels = encoder.label if self.has_label and encoder.label_kind == "number" else None
        block, names, header = unit
        rows = records(block.decoded(), len(names), self.dialect.delimiter, self.dialect.quoted)
        try:
            for line, row in itertools.islice(rows, int(header), None):
                for name, cell in zip(names, row):
                    good = NUMBER.match(cell) is not None and math.isfinite(float(cell))
                    if name == labels and not good and cell.strip() not in ("", *encoder.na):
                        text = cell.strip()[:40]
                        return BadData(
                            f"The label {name!r} must hold finite numbers, as its first rows do; got {text!r}. If it means a "
                            f"missing label, give --na {text}; if it is a class, --types {name}=category.",
                            line=line,
                        )
                    if name in numeric and not good and cell.strip() not in self.missing:
                        return BadData(
                            f"Column {name!r} must hold finite numbers, as its first rows do; got {cell.strip()[:40]!r}. "
                            f"Correct it, or set its type to category (--types {name}=category).",
                            line=line,
                        )
        except BadData as problem:
            return problem
        return BadData(f"The rows cannot be read: {error}. Check the delimiter and the quotes.", line=1)


def _without(texts: Any, missing: Sequence[str]) -> Any:
    """Strings without those that mean a missing value, also with blanks around them; they become null."""
    import pyarrow as pa
    import pyarrow.compute

    _, buffer, _ = texts.buffers()
    offsets = np.frombuffer(buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    short = np.flatnonzero(np.diff(offsets) <= 2 * max(map(len, missing)) + 2)
    if not short.size:
        return texts
    found = pa.compute.is_in(pa.compute.utf8_trim_whitespace(texts.take(pa.array(short))), pa.array(missing))
    places = short[found.to_numpy(zero_copy_only=False)]
    if not places.size:
        return texts
    mask = np.zeros(len(texts), bool)
    mask[places] = True
    return pa.compute.if_else(pa.array(mask), pa.scalar(None, pa.string()), texts)
