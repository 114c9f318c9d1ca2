"""CSV and TSV, parsed by Arrow in blocks of whole rows on all cores."""

import csv
import io
import itertools
import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.engine.entries import last_record

from .arff import preamble, sparse_row
from .bad_rows import without_lines
from .dates import Form, is_date
from .encoder import SHORT, Encoder
from .errors import BadData, listed
from .idle import idle_columns
from .quantities import is_quantity
from .sources import OPEN_QUOTE, Block, Buffers, Opened, blocks, last_newline
from .summary import Sample
from .tables import (
    LABEL_NAMES,
    MISSING,
    NUMBER,
    BadCell,
    InfiniteNumber,
    Parsed,
    TableReader,
    guess,
    guess_kind,
    weight_message,
    wrong_form,
)

QUOTE = '"'
SPACES = (" ", "\t")
LINE_END = ord("\n")


class Dialect(NamedTuple):
    """The dialect, columns and column kinds of a CSV or TSV file.

    `label_kinds` has the kind of each column if it is the label, `idle` the columns that say nothing, with the reasons. `skipped`
    lines come before the first row, and `label` is the label column, where an ARFF file says so. `forms` says how numbers that
    are not plain, and dates, are written, and `samples` has the first values. With `row_names` the header does not have the first
    column, as R writes it.
    """

    delimiter: str
    quoted: bool
    header: bool
    names: list[str]
    kinds: dict[str, str]
    label_kinds: dict[str, str]
    idle: dict[str, str]
    forms: dict[str, Any]
    samples: dict[str, Sample]
    skipped: int = 0
    label: str | None = None
    row_names: bool = False


def sniff(
    text: bytes,
    format: str,  # noqa: A002
    header: bool | None,
    *,
    na: Sequence[str] = (),
    complete: bool = False,
    tolerant: bool = False,
    encoder: Encoder | None = None,
) -> Dialect:
    """Guess the dialect and the kinds of columns from the first block of a file.

    With an encoder, its delimiter is kept if it gives the columns that the encoder needs. `tolerant` is as in `guess`.
    """
    lines = text.decode("utf-8", "replace")
    if format == "arff":
        return _arff(lines, na)
    delimiter = "\t" if format == "tsv" else None
    if delimiter is None and encoder is not None and _fits(lines, encoder):
        delimiter = encoder.delimiter
    delimiter = delimiter or _delimiter(lines)
    missing = [*MISSING, *na]
    quoted = _quoted(lines, delimiter)
    rows = [row for row in _rows(lines, delimiter, quoted) if row]
    if not rows:
        raise BadData("A table must have rows; this file has none. Check that it was written completely.")
    whole = rows if complete else rows[:-1]  # the last row may be cut off
    row_names = header is not False and delimiter in SPACES and _has_row_names(whole)
    if row_names:
        rows[0], header = ["", *rows[0]], True
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
    if header and encoder is not None and any(map(NUMBER.match, names)) and not set(names) & set(encoder.sources):
        raise BadData(
            f"A table for this model must begin with the names of its columns ({listed(list(encoder.sources))}), as that did "
            f"which it was trained on; the first line is {delimiter.join(rows[0])[:60]!r}. Write the names above the rows."
        )
    if header and not body:
        raise BadData(
            "A table must have rows below its header; this file has none. If its first line is a row, say so with --no-header "
            "(header=False in Python)."
        )
    label_kinds = [guess_kind(column, ["", *na]) for column in columns]
    guesses = [guess(column, missing, "," if delimiter == ";" else ".", tolerant) for column in columns]
    found = {name: kind for name, (kind, _) in zip(names, guesses)}
    forms = {name: form for name, (_, form) in zip(names, guesses) if form is not None}
    samples = {name: Sample.of(column, missing) for name, column in zip(names, columns)}
    idle = idle_columns(
        dict(zip(names, columns)), found, complete,
        unnamed=None if header else names[0], index=names[0] if header and not rows[0][0].strip() else None,
    )  # fmt: skip
    kinds_of_labels = dict(zip(names, label_kinds))
    return Dialect(delimiter, quoted, header, names, found, kinds_of_labels, idle, forms, samples, row_names=row_names)


def _has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the header has one field less than each row: R's write.table does not name the column of row names."""
    return len(rows) > 1 and all(len(row) == len(rows[0]) + 1 and row[-1].strip() for row in rows[1:])


def _arff(text: str, na: Sequence[str]) -> Dialect:
    """The dialect of an ARFF file."""
    start = preamble(text)
    rest = _tidy_arff(text.encode(), start.lines).decode()
    rows = [row for row in _rows(rest, ",", True) if len(row) == len(start.names)]
    if not rows:
        raise BadData(
            f"A table must have rows with {len(start.names)} fields, one for each attribute; this file has none. Check that it "
            "was written completely."
        )
    missing = [*MISSING, *na]
    columns = [[row[c].strip() for row in rows] for c in range(len(start.names))]
    guesses = [(kind, None) if kind else guess(column, missing) for kind, column in zip(start.kinds, columns)]
    kinds = {name: kind for name, (kind, _) in zip(start.names, guesses)}
    forms = {name: form for name, (_, form) in zip(start.names, guesses) if form is not None}
    samples = {name: Sample.of(column, missing) for name, column in zip(start.names, columns)}
    return Dialect(",", True, True, start.names, kinds, kinds, {}, forms, samples, start.lines, start.label)


def _fits(text: str, encoder: Encoder) -> bool:
    """Whether the encoder's delimiter gives its columns in the first row."""
    first = next((row for row in _rows(text.split("\n", 1)[0], encoder.delimiter, True) if row), [])
    if encoder.header:
        return {cell.strip() for cell in first} >= {name for name in encoder.sources if not name.isdecimal()}
    unlabelled = [*range(encoder.width)][: encoder.width - (encoder.label is not None)]
    return len(first) in (encoder.width, len(unlabelled))


def _names(cells: Sequence[str]) -> list[str]:
    """The names in a header; a column without a name is named by its number."""
    given = {cell.strip() for cell in cells}
    names = [cell.strip() or (f"Unnamed: {c}" if str(c) in given else str(c)) for c, cell in enumerate(cells)]
    repeated = [name for name, many in itertools.groupby(sorted(names)) if len(list(many)) > 1]
    if repeated:
        raise BadData(
            f"The names of columns must be unique; {repeated[0]!r} occurs twice. Rename one. If this line is a row, say so with "
            "--no-header (header=False in Python)."
        )
    return names


def _reader(text: str, delimiter: str, quoted: bool) -> Any:
    if delimiter == " ":
        text = _tidy_blanks(text.encode()).decode()
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


Record = tuple[int, int, list[str] | csv.Error]
"""A row of a text: its first line, its number of lines, and its fields or why it has none."""


def records(text: str, width: int, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """The non-empty rows of a text, each with its first line number; raise for a row of another width."""
    for line, _, row in _all_records(text, delimiter, quoted):
        if isinstance(row, csv.Error) or len(row) != width:
            raise BadData(_misfit(row, width, delimiter), line=line)
        yield line, row


def _misfit(row: list[str] | csv.Error, width: int, delimiter: str) -> str:
    """The error message about a row that does not have `width` fields."""
    if isinstance(row, csv.Error):
        return f"The row cannot be split into fields: {row}. Check its quotes."
    return (
        f"A row must have {width} field{'s'[: width - 1]}, as the first one has; got {len(row)}. "
        f"Quote a field that contains {delimiter!r}."
    )


def _all_records(text: str, delimiter: str, quoted: bool) -> Iterator[Record]:
    """The non-empty rows of a text."""
    reader, line = _reader(text, delimiter, quoted), 1
    while True:
        found: list[str] | csv.Error
        try:
            found = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            found = problem
        height, start = max(1, reader.line_num + 1 - line), line
        line += height
        if found:
            yield start, height, found


def _delimiter(text: str) -> str:
    """The delimiter that splits the first lines into the largest constant number of fields."""
    first = text.split("\n", 20)[:20]
    lines = [line for line in (first[:-1] or first) if line.strip()]
    blanks = [_FIELD.findall(line) for line in lines]
    for signs in ((",", "\t", ";", "|"), ("\t",)):  # first those that give the header a name for each column
        named, best, fields = len(signs) == 1, ",", 1
        for sign in signs:
            width = _width([row for row in _rows("\n".join(lines), sign, True) if row], named)
            if width > fields:
                best, fields = sign, width
        width = _width(blanks, named) if len(lines) > 1 else 0
        if width > 1 and (fields == 1 or (best == "\t" and has_several_numbers(lines[1]))):
            values = [word for words in blanks[1:] for word in words]
            if 2 * sum(word[0] == QUOTE or NUMBER.match(word) is not None for word in values) >= len(values):
                return " "  # text of as many words in each line would have few numbers
        if fields > 1:
            return best
    return ","


_FIELD = re.compile(r'"(?:[^"]|"")*"(?!\S)|\S+')
"""A field among blanks."""


def _width(rows: Sequence[Sequence[str]], row_names: bool) -> int:
    """The number of fields of all rows; 0 if they differ. With `row_names` the first must have one less."""
    if row_names:
        return len(rows[0]) + 1 if _has_row_names(rows) else 0
    widths = {len(row) for row in rows}
    return max(widths) if len(widths) == 1 else 0


def has_several_numbers(line: str) -> bool:
    """Whether a field between tabs has several numbers: the columns are separated by blanks and tabs."""
    words = [field.split() for field in line.split("\t")]
    return any(len(field) > 1 and all(map(NUMBER.match, field)) for field in words)


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
    if len(set(first)) == len(first) and any(
        cell.lower() in LABEL_NAMES and cell not in {value.strip() for value in column}
        for cell, column in zip(first, columns)
    ):
        return True  # the names of other columns may be numbers
    numbers = [cell for cell in first if NUMBER.match(cell)]
    counted = len(numbers) > 1 and numbers == [str(c) for c in range(len(numbers))]
    if counted and not first[0]:
        return True  # a frame of pandas whose columns have numbers as names
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

    def __init__(
        self, encoder: Encoder, buffers: Buffers, dialect: Dialect, labelled: bool = True, tolerant: bool = False
    ) -> None:
        names = dialect.names
        if not dialect.header and not encoder.header:
            expected = encoder.width or len(encoder.sources) + (encoder.label is not None)
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
        self._long_missing = max(len(text.encode()) for text in self.missing) > SHORT
        self.buffers = buffers
        self.dialect = dialect
        self.tolerant = tolerant

    def work(self, source: Opened) -> Iterator[tuple[Block, list[str], int]]:
        """Blocks of rows, with the names of their columns and the number of lines before the rows."""
        begins = source.span is None or source.span[0] == 0
        header = self.dialect.header and begins and not self.dialect.skipped
        skipped = self.dialect.skipped if begins else 0
        names = self.names
        for block in blocks(source, self.buffers, self.end_of_record, open_end=self.tolerant):
            if skipped:
                start = preamble(block.decoded())
                self.check_columns(start.names)
                yield block, start.names, start.lines
                skipped = 0
                continue
            if header:
                first = block.memory[: block.memory.find(b"\n")].decode("utf-8", "replace")
                cells = next(_rows(first, self.dialect.delimiter, self.dialect.quoted), [])
                names = _names(["", *cells] if self.dialect.row_names else cells)
                self.check_columns(names)
            yield block, names, int(header)
            header = False

    def end_of_record(self, memory: bytearray, text: Any, size: int) -> int:
        """End of the last whole record of a text; quoted fields may contain newlines."""
        if (
            not self.dialect.quoted
            or self.dialect.skipped
            or self.dialect.delimiter == " "
            or memory.find(b'"', 0, size) < 0
        ):
            return last_newline(memory, text, size)
        return int(last_record(text, size, ord(self.dialect.delimiter)))

    def parse(self, unit: tuple[Block, list[str], int]) -> Parsed:
        """Parse a block; thread-safe."""
        import pyarrow as pa
        import pyarrow.compute

        block, encoder = unit[0], self.encoder
        if self.tolerant and (problem := self._open_quote(block)) is not None:
            raise problem
        plain = {name for name, kind in encoder.sources.items() if kind == "number" and name not in encoder.forms}
        numeric = plain | ({self.weight} if self.weight is not None else set())
        try:
            try:
                columns, rows = self._read(unit, numeric - set(self.kept))
                kept = {name: pa.compute.utf8_trim_whitespace(columns[name]).to_pylist() for name in self.kept}
                for name in numeric & set(self.kept):
                    columns[name] = without(pa.compute.utf8_trim_whitespace(columns[name]), self.missing).cast(
                        pa.float64()
                    )
            except pa.ArrowInvalid:  # blanks around a missing number, or an error; the other way takes more time
                columns, rows = self._read(unit, set())
                kept = {name: pa.compute.utf8_trim_whitespace(columns[name]).to_pylist() for name in self.kept}
                for name in numeric:
                    texts = without(pa.compute.utf8_trim_whitespace(columns[name]), self.missing)
                    columns[name] = texts.cast(pa.float64())
            for name, kind in encoder.sources.items():
                if name not in numeric and (self._long_missing or kind not in ("category", "words")):
                    columns[name] = without(columns[name], self.missing)
            if self.has_label:
                columns[str(self.encoder.label)] = self._labels(columns[str(self.encoder.label)])
            parsed = self.encode(columns, rows, int(np.count_nonzero(block.text[: block.size] == LINE_END)), kept)
        except (pa.ArrowInvalid, InfiniteNumber) as error:
            raise self._error(unit, error) from None
        except BadCell as error:
            raise BadData(error.message, line=self._line(unit, error.row)) from None
        self.buffers.give_back(block)
        return parsed

    def _read(self, unit: tuple[Block, list[str], int], numeric: Collection[str]) -> tuple[dict[str, Any], int]:
        """The wanted columns of a block: float64 for `numeric`, else strings as they are; and the number of rows."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        block, names, header = unit
        data = pa.py_buffer(memoryview(block.memory)[: block.size])
        if self.dialect.skipped:
            data = pa.py_buffer(_tidy_arff(bytes(data), header))
        elif self.dialect.delimiter == " ":
            data = pa.py_buffer(_tidy_blanks(bytes(data)))
        table = arrow_csv.read_csv(
            data,
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=block.size + 1,
                column_names=names,
                skip_rows=0 if self.dialect.skipped else header,
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

        if self.encoder.label_kind != "number" and not self.encoder.na:
            return texts  # an empty label is none
        texts = without(pa.compute.utf8_trim_whitespace(texts), ["", *self.encoder.na])
        if self.encoder.label_kind != "number":
            return texts
        labels = texts.cast(pa.float64())
        if pa.compute.any(pa.compute.is_nan(labels)).as_py():  # a text that Arrow takes for a number, such as nan
            raise pa.ArrowInvalid("a label is not a number")
        return labels

    def _records(self, unit: tuple[Block, list[str], int]) -> Iterator[Record]:
        """The rows of a block as texts."""
        block, _, header = unit
        text = block.decoded()
        if self.dialect.skipped:
            text = _tidy_arff(text.encode(), header).decode()
            header = 0
        return itertools.islice(_all_records(text, self.dialect.delimiter, self.dialect.quoted), int(header), None)

    def _line(self, unit: tuple[Block, list[str], int], row: int) -> int:
        """The line at which a row begins."""
        return next(itertools.islice(self._records(unit), row, None))[0]

    def _error(self, unit: tuple[Block, list[str], int], error: Exception) -> BadData:
        """Find the line that Arrow rejected, and describe the error."""
        try:
            for problem, _ in self._problems(unit):
                return problem
        except BadData as problem:
            return problem
        return BadData(f"The rows cannot be read: {error}. Check the delimiter and the quotes.", line=1)

    def _open_quote(self, block: Block) -> BadData | None:
        """The error of a row whose quote is not closed up to the end of the file."""
        end = self.end_of_record(block.memory, block.text, block.size)
        return None if end == block.size else BadData(OPEN_QUOTE, line=block.memory.count(b"\n", 0, end) + 1)

    def bad_rows(self, unit: tuple[Block, list[str], int], problem: BadData) -> list[tuple[BadData, int]]:
        """All bad rows of a block: their errors, and the numbers of their lines."""
        if problem.message == OPEN_QUOTE:  # only its first line is known to be bad
            return [(problem, 1)]
        try:
            return list(self._problems(unit))
        except BadData as error:  # bytes that are no text
            return [(error, 1)] if error.line is not None else []

    def without(self, unit: tuple[Block, list[str], int], lines: set[int]) -> Any:
        """The unit without these lines; None if no row is left."""
        block, names, header = unit
        shorter = without_lines(block, lines, least=int(header))
        return None if shorter is None else (shorter, names, header)

    def _problems(self, unit: tuple[Block, list[str], int]) -> Iterator[tuple[BadData, int]]:
        """The errors in the rows of a block, and the numbers of their lines."""
        names = unit[1]
        for line, height, row in self._records(unit):
            if isinstance(row, csv.Error) or len(row) != len(names):
                yield BadData(_misfit(row, len(names), self.dialect.delimiter), line=line), height
            elif message := next(filter(None, map(self._problem, names, row)), None):
                yield BadData(message, line=line), height

    def _problem(self, name: str, cell: str) -> str | None:
        """What is wrong with the text of a field, if it is used."""
        encoder, text = self.encoder, cell.strip()
        if self.has_label and name == encoder.label:
            if encoder.label_kind != "number" or text in ("", *encoder.na) or _is_finite(text):
                return None
            return (
                f"The label {name!r} must hold finite numbers, as its first rows do; got {text[:40]!r}. If it means a "
                f"missing label, give --na {text[:40]}; if it is a class, --types {name}=category."
            )
        if name == self.weight:
            return None if _is_finite(text) and float(text) >= 0 else weight_message(name, text)
        kind, form = encoder.sources.get(name), encoder.forms.get(name)
        if kind not in ("number", "date") or text in self.missing:
            return None
        if form is not None:
            good = is_date(text, form.order) if isinstance(form, Form) else is_quantity(text, form)
            return None if good else wrong_form(name, form, text)
        return (
            None
            if _is_finite(text)
            else f"Column {name!r} must hold finite numbers, as its first rows do; got {text[:40]!r}. "
            f"Correct it, or set its type to category (--types {name}=category)."
        )


def _is_finite(text: str) -> bool:
    return NUMBER.match(text) is not None and math.isfinite(float(text))


def without(texts: Any, missing: Sequence[str]) -> Any:
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


_BLANKS = re.compile(rb'((?<!\S)"(?:[^"\n]|"")*"(?!\S))[ \t]*|[ \t]+')
_AT_ENDS = re.compile(rb"^ | (?=\r?\n|\Z)", re.MULTILINE)


def _tidy_blanks(text: bytes) -> bytes:
    """Rows whose fields are separated by one blank each, without blanks around them; quoted fields stay as they are."""
    return _AT_ENDS.sub(b"", _BLANKS.sub(rb"\1 ", text))


def _tidy_arff(text: bytes, skipped: int) -> bytes:
    """Rows of ARFF as CSV: preamble and comments become empty lines, quotes double, and commas between fields have no blanks."""
    lines = text.split(b"\n")
    lines[:skipped] = [b""] * skipped
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith(b"{"):
            raise sparse_row(number)
    rows = b"\n".join(b"" if line.lstrip().startswith(b"%") else line for line in lines)
    if b"'" in rows and b'"' not in rows:
        rows = rows.replace(b"'", b'"')
    return re.sub(rb'("[^"\n]*")|[ \t]*,[ \t]*', lambda found: found[1] or b",", rows)
