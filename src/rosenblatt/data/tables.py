"""Common parts of CSV, Parquet and JSON lines: columns of numbers, categories and words, and a label column."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.text.arrays import Tokens

from .batch import Batch
from .encoder import KINDS, Encoder
from .errors import BadData
from .labels import NumberLabels, TextLabels

LABEL_NAMES = ("label", "target", "class", "y")
"""Usual names of the label column; an earlier one is preferred."""

MISSING = ["", "NA", "N/A", "NaN", "nan", "na", "n/a", "null", "NULL", "None", "none", "?"]
"""Representations of a missing value; such a number or category has no feature."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*\Z")

INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*\Z", re.IGNORECASE)
"""Infinity is not allowed in a column of numbers, but does not make it a column of categories."""


def guess_kind(values: Sequence[str], missing: Collection[str] = MISSING) -> str:
    """Guess the kind of a column from its first values: number if all are, words if most have several, else category."""
    present = [value for value in values if value.strip() not in missing]
    if not present:
        return "category"
    finite = [value for value in present if not INFINITE.match(value)]
    if finite and all(NUMBER.match(value) for value in finite):
        return "number"
    lengths = sum(len(value.split()) for value in present) / len(present)
    distinct = len(set(present)) / len(present)
    return "words" if lengths >= 3.0 or (lengths >= 1.5 and distinct > 0.5) else "category"


def choose_label(names: Sequence[str], label: str | int | None, labelled: bool) -> str | None:
    """The label column: by name, by number from 0, or for None the one with a usual name, else the last."""
    if label is None:
        named = [name for usual in LABEL_NAMES for name in names if name.strip().lower() == usual]
        return named[0] if named else (names[-1] if labelled and names else None)
    if label in names:
        return str(label)
    number = int(label) if isinstance(label, int) or re.fullmatch(r"-?\d+", label) else None
    if number is not None and -len(names) <= number < len(names):
        return names[number]
    if not labelled:
        return None
    raise BadData(
        f"The label must be one of the columns {_listed(names)}, by name or by number from 0; got {label!r}. Choose one of them."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names if len(names) <= 12 else [*names[:10], "…", names[-1]])


def plan(
    kinds: Mapping[str, str],
    label: str | int | None,
    types: Mapping[str, str] | None,
    labelled: bool,
    *,
    label_kinds: Mapping[str, str] | None = None,
    idle: Mapping[str, str] | None = None,
    **options: Any,
) -> Encoder:
    """Create an encoder for a table with the detected kinds of columns, some of which `types` may replace.

    `label_kinds` has the kind of each column if it is the label, where only empty fields are missing. `idle` has columns to leave
    out, unless `types` names them, and the reasons.
    """
    chosen = dict(kinds)
    for name, kind in (types or {}).items():
        if str(name) not in chosen:
            raise BadData(f"`types` must name columns ({_listed(list(kinds))}); got {name!r}. Check the spelling.")
        if kind not in (*KINDS, "ignore"):
            raise BadData(
                f"The type of column {name!r} must be one of {', '.join(KINDS)}, ignore; got {kind!r}. Choose one of them."
            )
        chosen[str(name)] = kind
    used = [name for name, kind in chosen.items() if kind != "ignore"]
    column = choose_label(list(kinds) if label is not None else used, label, labelled)
    label_kind = None
    if column is not None:
        kind = chosen.pop(column)
        if column not in (types or {}):
            kind = (label_kinds or kinds)[column]
        label_kind = "number" if kind == "number" else "category"
    chosen = {name: kind for name, kind in chosen.items() if kind != "ignore"}
    given = {str(name) for name in types or {}}
    left_out = {name: reason for name, reason in (idle or {}).items() if name in chosen and name not in given}
    if len(left_out) == len(chosen):
        left_out = {}
    chosen = {name: kind for name, kind in chosen.items() if name not in left_out}
    for name, kind in chosen.items():
        if kind not in KINDS:
            raise BadData(
                f"A column must hold numbers, text or lists of text; {name!r} holds {kind}. Leave it out (--types {name}=ignore), "
                "or convert it first."
            )
    if not chosen:
        raise BadData(
            "A table must have a column besides the label; this one has none. Check the delimiter and the format."
        )
    encoder = Encoder("table", columns=chosen, label=column, **options)
    encoder.label_kind = label_kind
    encoder.left_out = left_out
    return encoder


class Parsed(NamedTuple):
    """Parsed rows of a table, whose features and labels may not be numbered yet."""

    numbers: NDArray[np.float64]
    texts: Mapping[str, Any]
    rows: Any
    labels: Any
    lines: int
    tokens: Tokens | None = None
    counted: bool = False  # whether the running moments have the numbers already

    @property
    def size(self) -> int:
        """Number of bytes in memory."""
        return int(self.numbers.nbytes + sum(data.nbytes + ends.nbytes for data, ends in self.texts.values()))


class TableReader:
    """Base class of readers that turn Arrow columns into batches; subclasses provide the columns.

    Parameters
    ----------
    encoder : Encoder
        The plan of the columns.
    names : list of str
        The columns of the file, in order.
    labelled : bool, default=True
        Whether to read the label column if there is one.
    """

    def __init__(self, encoder: Encoder, names: Sequence[str], labelled: bool = True) -> None:
        self.encoder = encoder
        self.names = list(names)
        self.labels: Any = NumberLabels() if encoder.label_kind == "number" else TextLabels()
        self.has_label = labelled and encoder.label is not None and encoder.label in self.names
        self.check_columns(self.names)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise if a column is missing in the file."""
        needed = [*self.encoder.columns, *([str(self.encoder.label)] if self.has_label else [])]
        absent = [name for name in needed if name not in names]
        if absent:
            raise BadData(
                f"The columns {_listed(needed)} are needed; {absent[0]!r} is missing among {_listed(names)}. Use a file with "
                "the columns that the model was trained on."
            )

    @property
    def label_text(self) -> str:
        """Description of the label's position."""
        return f"column {self.encoder.label}" if self.has_label else "none"

    def encode(self, columns: Mapping[str, Any], rows: int, lines: int) -> Parsed:
        """Encode columns (float64 or string arrays) as far as possible without regard to the order of the batches."""
        encoder = self.encoder
        texts = {name: _text(columns[name], kind) for name, kind in encoder.columns.items() if kind != "number"}
        numbers = np.empty((rows, len(encoder.number_columns)))
        for c, name in enumerate(encoder.number_columns):
            numbers[:, c] = columns[name].to_numpy(zero_copy_only=False)
        if np.isinf(numbers).any():
            row, c = np.argwhere(np.isinf(numbers))[0].tolist()
            raise InfiniteNumber(row, encoder.number_columns[c], numbers[row, c])
        labels = columns[str(encoder.label)] if self.has_label else None
        if labels is not None and encoder.label_kind == "number":
            labels = labels.to_numpy(zero_copy_only=False)
            if np.isinf(labels).any():
                raise InfiniteNumber(int(np.flatnonzero(np.isinf(labels))[0]), str(encoder.label), np.inf)
        parsed = Parsed(numbers, texts, None, labels, lines)
        if not encoder.in_order or (encoder.dense and encoder.moments is None):
            return self._rows(parsed)
        if encoder.moments is None:
            parsed = parsed._replace(tokens=encoder.tokens_of(numbers, texts))
        return parsed

    def _rows(self, parsed: Parsed) -> Parsed:
        """Encode the columns as features, adding new ones."""
        encoder = self.encoder
        if encoder.moments is not None:
            learn = not (encoder.frozen or encoder.learned_moments or parsed.counted)
            encoder.moments.standardize(parsed.numbers, learn)
        if encoder.dense:
            return parsed._replace(rows=np.nan_to_num(parsed.numbers, copy=False))
        tokens = parsed.tokens or encoder.tokens_of(parsed.numbers, parsed.texts)
        return parsed._replace(rows=encoder.rows_of(tokens, parsed.numbers.shape[0]))

    def count(self, parsed: Parsed) -> Parsed:
        """Add rows that will be finished later to the running moments."""
        assert self.encoder.moments is not None
        self.encoder.moments.standardize(parsed.numbers.copy(), True)
        return parsed._replace(counted=True)

    def finish(self, parsed: Parsed, first_line: int) -> Batch:
        """Update the running moments and number new features and labels; called for the batches in order."""
        if parsed.rows is None:
            parsed = self._rows(parsed)
        count = parsed.numbers.shape[0]
        codes = np.full(count, -1) if parsed.labels is None else self.labels.codes(parsed.labels)
        return Batch(parsed.rows, codes, np.zeros(0), None, first_line)


class InfiniteNumber(Exception):  # noqa: N818
    """A number that is not finite: its row within the batch, its column and its value."""

    def __init__(self, row: int, column: str, value: float) -> None:
        super().__init__(row, column, value)
        self.row, self.column, self.value = row, column, value


def _text(column: Any, kind: str) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Bytes and offsets of an Arrow array of strings; words with non-ASCII characters are converted to lower case."""
    import pyarrow.compute as pc

    if column.null_count:
        column = pc.fill_null(column, "")
    data, offsets = _buffers(column)
    if kind == "words" and data.size and int(data.max()) >= 128:
        data, offsets = _buffers(pc.utf8_lower(column))
    return data, offsets


def _buffers(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    text.flags.writeable = bounds.flags.writeable = False  # kernels are compiled for one kind of array
    return text, bounds
