"""JSON lines: an object on each line; nested objects are flattened, so that ``{"a": {"b": 1}}`` has the column a.b.

A compiled parser reads blocks of plain records. A block with anything else, among it all errors, is parsed by Python.
"""

import contextlib
import functools
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rosenblatt.engine.entries import parse_json
from rosenblatt.engine.text.arrays import PADDING

from .bad_rows import OneLineEach
from .delimited import LINE_END, without
from .encoder import SHORT, Encoder
from .errors import BadData
from .idle import idle_columns
from .quantities import quantity
from .sources import Block, Buffers, Opened, Spare, blocks
from .summary import Sample
from .tables import MISSING, NUMBER, BadCell, Parsed, TableReader, guess
from .vocabulary import Vocabulary

DEPTH = 60
"""The largest depth of nested objects that the compiled parser takes."""

MANY = 1000
"""The largest number of columns that the compiled parser fills."""


def _flat(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _record(line: bytes) -> dict[str, Any]:
    """One line as a flat dict; raises a ValueError with the reason if it is not an object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at column {error.colno}") from None
    if not isinstance(record, dict):
        raise ValueError(f"got {json.dumps(record)[:40]}")
    return dict(_flat(record))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    return json.dumps(value)


def sniff_json(head: bytes, na: Sequence[str] = (), complete: bool = False, tolerant: bool = False) -> dict[str, Any]:
    """Guess the columns from the first block of a file: `kinds`, `label_kinds`, `idle`, `forms`, `samples`, as of a table."""
    lines = head.split(b"\n")
    records = []
    for line in lines[:-1] if len(lines) > 1 else lines:
        try:
            if line.strip():
                records.append(_record(line))
        except ValueError:
            break
    if not records:
        raise BadData(
            'Each line must be a JSON object, such as {"text": "hello", "label": "ham"}; the first is not. Write one per line.',
            line=1,
        )
    values: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.items():
            values.setdefault(name, []).append(value)
    missing = [*MISSING, *na]
    guesses = {name: _guess(found, missing, tolerant) for name, found in values.items()}
    kinds = {name: kind for name, (kind, _) in guesses.items()}
    label_kinds = {name: _label_kind(found, ["", *na]) for name, found in values.items()}
    texts = {name: [_text(value) or "" for value in found] for name, found in values.items()}
    whole = {name: found for name, found in texts.items() if len(found) == len(records)}
    samples = {
        name: Sample.of([*found, *[None] * (len(records) - len(found))], missing) for name, found in texts.items()
    }
    return {
        "kinds": kinds,
        "label_kinds": label_kinds,
        "idle": idle_columns(whole, kinds, complete),
        "forms": {name: form for name, (_, form) in guesses.items() if form is not None},
        "samples": samples,
    }


def _guess(values: list[Any], missing: Collection[str], tolerant: bool = False) -> tuple[str, Any]:
    """The kind and the form of a column."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool | int | float) for value in present):
        return "number", None
    if any(isinstance(value, list) for value in present):
        return "words", None
    kind, form = guess([_text(value) or "" for value in present], missing, tolerant=tolerant)
    quoted = kind == "number" and form is None and any(isinstance(value, str) for value in present)
    return ("category", None) if quoted else (kind, form)


def _label_kind(values: list[Any], missing: Collection[str]) -> str:
    kind, form = _guess(values, missing)
    return kind if form is None else "category"


class JsonReader(OneLineEach, TableReader):
    """Reader of JSON lines; fields that do not occur in the first block of the first file are ignored."""

    def __init__(self, encoder: Encoder, buffers: Buffers, names: list[str], labelled: bool = True) -> None:
        # Any field of a record may be missing, so a file need not have all columns.
        super().__init__(encoder, [*dict.fromkeys([*names, *encoder.sources])], labelled)
        self.missing = [*MISSING, *encoder.na]
        self._long_missing = max(len(text.encode()) for text in self.missing) > SHORT
        self._spare = Spare(self._arrays)
        self.buffers = buffers

    def work(self, source: Opened) -> Iterator[Block]:
        """Blocks of lines."""
        return blocks(source, self.buffers)

    @functools.cached_property
    def _columns(self) -> list[tuple[str, Any]]:
        """The columns to read and their kinds: the features, the label and the weight."""
        columns: list[tuple[str, Any]] = list(self.encoder.sources.items())
        if self.has_label:
            columns.append((str(self.encoder.label), self.encoder.label_kind))
        if self.weight is not None:
            columns.append((self.weight, "number"))
        return columns

    @functools.cached_property
    def _layout(self) -> tuple[Vocabulary, Any]:
        """The names of the columns, and where each is in the results of the compiled parser."""
        names = Vocabulary(name for name, _ in self._columns)
        numeric = np.array([kind == "number" for _, kind in self._columns])
        return names, np.where(numeric, np.cumsum(numeric) - 1, -np.cumsum(~numeric)).astype(np.int64)

    def _arrays(self, size: int, lines: int) -> tuple[Any, ...]:
        kinds = self._layout[1]
        numbers, texts = int((kinds >= 0).sum()), int((kinds < 0).sum())
        work = max(kinds.size, DEPTH)
        return (
            np.empty(size + PADDING + DEPTH, np.uint8), np.empty((4, work), np.int64), np.empty((numbers, lines)),
            np.empty((texts, size), np.uint8), np.empty((texts, lines + 1), np.int32), np.empty(lines, np.int64),
            np.empty((max(256, lines), 4), np.int64), np.empty(4, np.int64),
        )  # fmt: skip

    def parse(self, unit: Block) -> Parsed:
        """Parse a block; thread-safe."""
        found = None if self.kept or len(set(self._columns)) > MANY else self._plain(unit)
        columns, lines, count, kept = found or self._slowly(unit)
        try:
            parsed = self.encode(columns, len(lines), count, kept)
        except BadCell as error:
            raise BadData(error.message, line=int(lines[error.row])) from None
        self.buffers.give_back(unit)
        return parsed

    def _plain(self, unit: Block) -> tuple[dict[str, Any], Any, int, None] | None:
        """The columns of a block of plain records, the line of each, and the number of lines; None if there are others."""
        import pyarrow as pa

        if unit.text[: unit.size].max(initial=0) >= 128:
            try:
                unit.decoded()
            except BadData:
                return None
        count = int(np.count_nonzero(unit.text[: unit.size] == LINE_END))
        names, kinds = self._layout
        single = len(self.encoder.sources) if self.has_label else -1  # the place of the label, which must not be a list
        scratch, work, numbers, texts, offsets, lines, slow, report = self._spare.take(unit.size, count + 1)
        parse_json(
            unit.text, unit.size, names.slots, names.ends, names.store, kinds, single, scratch, work, numbers, texts, offsets,
            lines, slow, report,
        )  # fmt: skip
        rows, _, slow_count, good = report.tolist()
        if not good:
            return None
        columns: dict[str, Any] = {}
        for (name, _), place in zip(self._columns, kinds.tolist()):
            if place >= 0:
                columns[name] = pa.array(numbers[place, :rows])
            else:
                buffers = [None, pa.py_buffer(offsets[-1 - place]), pa.py_buffer(texts[-1 - place])]
                columns[name] = pa.StringArray.from_buffers(rows, buffers[1], buffers[2])
        if slow_count and not self._convert(columns, unit, slow[:slow_count], lines):
            return None
        for name, kind in self._columns:
            if kind != "number" and (self._long_missing or kind == "date" or name == self.encoder.label):
                missing = self.missing if name != self.encoder.label else ["", *self.encoder.na]
                columns[name] = without(columns[name], missing)
        return columns, lines[:rows], count, None

    def _convert(self, columns: dict[str, Any], unit: Block, slow: Any, lines: Any) -> bool:
        """Put the values that Python must convert into their columns; False if one of them is wrong."""
        import pyarrow as pa

        encoder = self.encoder
        for number in np.unique(slow[:, 1]).tolist():
            name, kind = self._columns[number]
            cells = columns[name].to_pylist()
            missing, mark = (
                (self.missing, encoder.forms.get(name)) if name != encoder.label else (["", *encoder.na], None)
            )
            for row, _, start, stop in slow[slow[:, 1] == number].tolist():
                value = json.loads(unit.memory[start:stop])
                if name == encoder.label and isinstance(value, list):
                    return False
                try:
                    cells[row] = (
                        _number(value, name, int(lines[row]), missing, mark) if kind == "number" else _text(value)
                    )
                except BadData:
                    return False
            columns[name] = pa.array(cells, pa.float64() if kind == "number" else pa.string())
        return True

    def _slowly(self, unit: Block) -> tuple[dict[str, Any], list[int], int, dict[str, list[Any]]]:
        """The same by Python, which names errors; and the columns to keep as they are."""
        import pyarrow as pa

        records = []
        lines = bytes(unit.memory[: unit.size]).split(b"\n")
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                records.append((number + 1, _record(line)))
            except UnicodeDecodeError:
                raise BadData(
                    "Text must be UTF-8; this line is not. Convert the file, for instance with iconv.", line=number + 1
                ) from None
            except ValueError as error:
                raise BadData(
                    f"Each line must be a JSON object; {error}. Write one record per line.", line=number + 1
                ) from None
        encoder, columns = self.encoder, {}
        for name, kind in self._columns:
            label = self.has_label and name == encoder.label
            missing = self.missing if not label else ["", *encoder.na]
            if label and encoder.separator is None:
                _refuse_lists(records, name)
            elif label:
                _join_lists(records, name, str(encoder.separator))
            if kind == "number":
                mark = encoder.forms.get(name) if not label else None
                cells = [_number(record.get(name), name, line, missing, mark) for line, record in records]
                columns[name] = pa.array(cells, pa.float64(), from_pandas=True)
            else:
                texts = [_text(record.get(name)) for _, record in records]
                words = [None if text is None or text.strip() in missing else text for text in texts]
                columns[name] = _strings(words, name, [line for line, _ in records])
        kept = {name: [record.get(name) for _, record in records] for name in self.kept}
        return columns, [line for line, _ in records], len(lines) - 1, kept


def _strings(texts: list[str | None], name: str, lines: list[int]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        line = next(line for line, text in zip(lines, texts) if text is not None and error.object in text)
        raise BadData(
            f"Field {name!r} must be text; it has the escape \\u{ord(error.object[error.start]):04x}, which is half of a "
            "character. Correct it.",
            line=line,
        ) from None


def _join_lists(records: list[tuple[int, dict[str, Any]]], name: str, separator: str) -> None:
    """Write lists of labels as texts."""
    for line, record in records:
        if isinstance(labels := record.get(name), list):
            texts = [_text(label) or "" for label in labels]
            if bad := next((text for text in texts if separator in text), None):
                raise BadData(
                    f"A label must not contain the separator {separator!r}; got {bad!r}. Choose another one with --separator.",
                    line=line,
                )
            record[name] = separator.join(texts)


def _refuse_lists(records: list[tuple[int, dict[str, Any]]], name: str) -> None:
    """Raise an error if a label is a list."""
    for line, record in records:
        if isinstance(record.get(name), list):
            raise BadData(
                f"The label {name!r} must be one text or number; got a list, {json.dumps(record[name])[:40]}. Write one "
                "class, give --multilabel if an example has several labels, or name another column with --label.",
                line=line,
            )


def _number(value: Any, name: str, line: int, missing: Collection[str], mark: str | None = None) -> float | None:
    if isinstance(value, str) and mark is not None and value.strip() not in missing:
        with contextlib.suppress(ValueError):
            return quantity(value, mark)
    if isinstance(value, str):
        value = None if value.strip() in missing else (float(value) if NUMBER.match(value) else value)
    if value is None or (isinstance(value, bool | int | float) and math.isnan(value)):
        return None
    try:
        if isinstance(value, bool | int | float) and math.isfinite(float(value)):
            return float(value)
    except OverflowError:
        pass
    raise BadData(
        f"Field {name!r} must be a finite number, as in the first lines; got {json.dumps(value)[:40]}. Correct it, or set its "
        f"type to category (--types {name}=category).",
        line=line,
    )
