"""Common parts of CSV, Parquet and JSON lines: columns of numbers, categories and words, and a label column."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batch import Batch
from .dates import ORDERS, Form, NotADate, date_form, date_parts, is_date
from .encoder import KINDS, Encoder, Found
from .errors import BadData, did_you_mean, listed
from .labels import NumberLabels, TextLabels
from .quantities import NotANumber, is_quantity, notation, quantities
from .summary import Sample

LABEL_NAMES = ("label", "target", "class", "y")
"""Usual names of the label column; an earlier one is preferred."""

MISSING = ["", "NA", "N/A", "NaN", "nan", "na", "n/a", "null", "NULL", "None", "none", "?", "<null>"]
"""Representations of a missing value; such a number or category has no feature."""

SEPARATED = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}
"""The delimiters, in words."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*\Z")

INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*\Z", re.IGNORECASE)
"""Infinity is not allowed in a column of numbers, but does not make it a column of categories."""


def guess(
    values: Sequence[str], missing: Collection[str] = MISSING, prefer: str = ".", tolerant: bool = False
) -> tuple[str, Any]:
    """Guess the kind of a column from its first values, and how numbers and dates are written.

    The second value is None for plain numbers, the decimal mark of other numbers, and the form of dates. `prefer` is the decimal
    mark of numbers such as 1,234. With `tolerant` up to one of twenty values need not be a number or date, as the others are.
    """
    kind = guess_kind(values, missing)
    if kind == "number":
        return kind, None
    present = [value for value in values if value.strip() not in missing]
    if tolerant and present:
        tests: list[Callable[[str], Any]] = [NUMBER.match]
        tests += [partial(is_quantity, mark=mark) for mark in (prefer, *EXAMPLES)]
        tests += [partial(is_date, order=order) for order in ORDERS]
        for good in tests:
            fit = [value for value in present if good(value)]
            if 20 * len(fit) >= 19 * len(present) and len(fit) < len(present):
                return guess(fit, missing, prefer)
    if mark := present and notation(present, prefer):
        return "number", mark
    if form := date_form(present):
        return "date", form
    return kind, None


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
        f"The label must be one of the columns {listed(names)}, by name or by number from 0; got {label!r}. "
        f"{did_you_mean(label, names, 'Choose one of them.')}"
    )


def plan(
    kinds: Mapping[str, str],
    label: str | int | None,
    types: Mapping[str, str] | None,
    labelled: bool,
    *,
    weight: str | None = None,
    label_kinds: Mapping[str, str] | None = None,
    idle: Mapping[str, str] | None = None,
    forms: Mapping[str, Any] | None = None,
    samples: Mapping[str, Sample] | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> Encoder:
    """Create an encoder for a table with the detected kinds of columns, some of which `types` may replace.

    `label_kinds` has the kind of each column if it is the label, where only empty fields are missing. `idle` has columns to leave
    out, unless `types` names them, and the reasons. `forms` says how numbers that are not plain, and dates, are written.
    `samples` are the first values of the columns, and `delimiter` is what separates the fields of a text.
    """
    chosen, forms = dict(kinds), dict(forms or {})
    if weight is not None and weight not in chosen:
        raise BadData(
            f"The weight must be one of the columns {listed(list(kinds))}; got {weight!r}. "
            f"{did_you_mean(weight, kinds, 'Choose one of them.')}"
        )
    for name, wanted in (types or {}).items():
        if str(name) not in chosen:
            raise BadData(f"Types must name columns ({listed(list(kinds))}); got {name!r}. {did_you_mean(name, kinds)}")
        kind, _, order = wanted.partition(":")
        if kind not in (*KINDS, "ignore") or order not in (("", *ORDERS) if kind == "date" else ("",)):
            raise BadData(
                f"The type of column {name!r} must be one of {', '.join(KINDS)}, ignore, or date:dmy, date:mdy for the order of "
                f"day and month; got {wanted!r}. Choose one of them."
            )
        if kind != chosen[str(name)] or order:
            forms[str(name)] = _form_of(str(name), kind, order, samples or {})
        chosen[str(name)] = kind
    if weight is not None:
        chosen[weight] = "ignore"
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
                f"A column must hold numbers, text or lists of text; {name!r} holds {kind}. Leave it out (--types {name}=ignore) "
                "or convert it first."
            )
    if not chosen:
        fields = f", if its fields are separated by {SEPARATED[delimiter]}" if delimiter else ""
        raise BadData(
            f"A table must have a column besides the label; this one has none{fields}. All rows must have the same number of "
            "fields; check their quotes, and the format."
        )
    forms = {name: form for name, form in forms.items() if chosen.get(name) in ("number", "date") and form is not None}
    encoder = Encoder("table", columns=chosen, label=column, forms=forms, **options)
    encoder.label_kind = label_kind
    encoder.left_out = left_out
    encoder.weight = weight
    encoder.samples = dict(samples or {})
    if column in encoder.samples:
        encoder.samples[column] = encoder.samples[column].of_label(encoder.na)
    _refuse_text_options(encoder)
    encoder.delimiter = delimiter or encoder.delimiter
    return encoder


def _refuse_text_options(encoder: Encoder) -> None:
    """Raise an error if there are no columns of words for options that are about words."""
    asked = {
        "phrases (--ngrams)": encoder.ngrams != (1, 1),
        "sequences of characters (--char-ngrams)": encoder.char_ngrams is not None,
        "tf-idf weights (--words tfidf)": encoder.word_weights == "tfidf",
    }
    given = [name for name, is_given in asked.items() if is_given]
    if given and "words" not in encoder.columns.values():
        text = next((name for name, kind in encoder.columns.items() if kind == "category"), next(iter(encoder.columns)))
        raise BadData(
            f"A table must have a column of words for {' and '.join(given)}; this one has none. If a column holds text, give its "
            f"type, such as --types {text}=words; else leave the option out."
        )


def _form_of(name: str, kind: str, order: str, samples: Mapping[str, Sample]) -> Any:
    """How the numbers or dates of a column are written whose type was named."""
    values = samples[name].values if name in samples else []
    if kind == "number":
        numbers = [value for value in values if notation([value])]
        return None if guess_kind(numbers) == "number" or not numbers else notation(numbers)
    if kind != "date":
        return None
    form = date_form(values, (order,) if order else tuple(ORDERS))
    if form is None:
        shown = next((value for value in values if date_form([value]) is None), values[0] if values else "nothing")
        raise BadData(
            f"Column {name!r} must hold dates such as 2024-03-31, 31.3.2024 or 3/31/2024, all {ORDERS.get(order, 'alike')}; got "
            f"{shown[:40]!r}. Give another type, such as --types {name}=category."
        )
    return form


_NO_WEIGHTS = np.zeros(0)


class Parsed(NamedTuple):
    """Parsed rows of a table, whose features and labels may not be numbered yet."""

    numbers: NDArray[np.float64]
    texts: Mapping[str, Any]
    rows: Any
    labels: Any
    lines: int
    found: Found | None = None
    kept: dict[str, list[Any]] | None = None
    weights: NDArray[np.float64] = _NO_WEIGHTS
    counted: bool = False  # whether the running statistics have these rows already
    unseen: Mapping[str, Counter[str]] = {}  # for each column the categories that a model does not know, and how often

    @property
    def size(self) -> int:
        """Number of bytes in memory."""
        text = sum(data.nbytes + ends.nbytes for data, ends in self.texts.values())
        return int(self.numbers.nbytes + text + (0 if self.found is None else self.found.size))


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
        self.kept: list[str] = []
        self.missing: list[str] = []  # texts without a feature, in formats where a missing value is written as text
        self.unseen: dict[str, Counter[str]] = {}
        self.weight = encoder.weight if labelled and encoder.weight in self.names else None
        self.check_columns(self.names)
        self.wanted = [*encoder.sources, *([str(encoder.label)] if self.has_label else [])]
        if self.weight is not None:
            self.wanted = list(dict.fromkeys([*self.wanted, self.weight]))

    def keep_columns(self, names: Sequence[str]) -> None:
        """Give these columns as they are, too."""
        for name in names:
            if name not in self.names:
                raise BadData(
                    f"A column to keep must be one of {listed(self.names)}; got {name!r}. "
                    f"{did_you_mean(name, self.names)}"
                )
        self.kept = list(names)
        self.wanted = list(dict.fromkeys([*self.wanted, *names]))

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise if a column is missing in the file."""
        needed = [*self.encoder.sources, *([str(self.encoder.label)] if self.has_label else [])]
        absent = [name for name in needed if name not in names]
        if absent:
            raise BadData(
                f"The columns {listed(needed)} are needed; {absent[0]!r} is missing among {listed(names)}. Use a file with "
                "the columns that the model was trained on."
            )

    @property
    def label_text(self) -> str:
        """Description of the label's position."""
        return f"column {self.encoder.label}" if self.has_label else "none"

    def encode(
        self, columns: Mapping[str, Any], rows: int, lines: int, kept: dict[str, list[Any]] | None = None
    ) -> Parsed:
        """Encode columns (float64 or string arrays) as far as possible without regard to the order of the batches."""
        encoder = self.encoder
        columns = self._in_parts(columns)
        unseen = self._strangers(columns) if encoder.frozen and encoder.bits is None else {}
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
        parsed = Parsed(numbers, texts, None, labels, lines, kept=kept, weights=self._weights(columns), unseen=unseen)
        if encoder.dense:
            return parsed if encoder.learning else self._rows(parsed)
        if encoder.interactions and encoder.learning:
            return parsed  # products need the scaled numbers
        found = self._found(parsed)
        parsed = parsed._replace(found=found, texts={})
        complete = found.names is None and not encoder.learning
        return self._rows(parsed) if complete or not encoder.in_order else parsed

    def _in_parts(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """The columns with the numbers of texts, and with the parts of dates, by the forms that the encoder has."""
        found = dict(columns)
        for name, form in self.encoder.forms.items():
            try:
                if isinstance(form, Form):
                    parts = date_parts(columns[name], form)
                    found |= {f"{name}.{part}": column for part, column in parts.items()}
                elif not _is_number(columns[name]):
                    found[name] = quantities(columns[name], form)
            except (NotANumber, NotADate) as error:
                raise BadCell(error.row, wrong_form(name, form, error.text)) from None
        return found

    def _strangers(self, columns: Mapping[str, Any]) -> dict[str, Counter[str]]:
        """The categories that have no feature, and how often each occurs."""
        import pyarrow.compute as pc

        unseen = {}
        for name, kind in self.encoder.columns.items():
            if kind != "category" or not len(columns[name]):
                continue
            counts = pc.value_counts(columns[name])
            pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist())
            strange: Counter[str] = Counter()
            for value, many in pairs:
                text = (value or "").strip()
                if text and text not in self.missing and self.encoder.vocabulary.find(f"{name}={text}") < 0:
                    strange[text] += many
            if strange:
                unseen[name] = strange
        return unseen

    def _weights(self, columns: Mapping[str, Any]) -> NDArray[np.float64]:
        """The weights of the rows, which must be numbers of at least 0; none without a column of weights."""
        if self.weight is None:
            return _NO_WEIGHTS
        weights = columns[self.weight].to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
        if wrong.size:
            shown = "" if np.isnan(weights[wrong[0]]) else f"{weights[wrong[0]]:g}"
            raise BadCell(int(wrong[0]), weight_message(self.weight, shown))
        found: NDArray[np.float64] = np.array(weights, np.float64)
        return found

    def _found(self, parsed: Parsed) -> Found:
        return self.encoder.look_up(parsed.numbers, parsed.texts, self.missing)

    def _rows(self, parsed: Parsed) -> Parsed:
        """Encode the columns as features, adding new ones."""
        encoder = self.encoder
        learn = encoder.learning and not parsed.counted
        if encoder.moments is not None:
            encoder.moments.standardize(parsed.numbers, learn)
        if encoder.dense:
            return parsed._replace(rows=np.nan_to_num(parsed.numbers, copy=False))
        found = parsed.found or self._found(parsed)
        return parsed._replace(rows=encoder.rows_of(found, parsed.numbers, learn), found=None, texts={})

    def count(self, parsed: Parsed) -> Parsed:
        """Add rows that will be finished later to the running statistics."""
        encoder = self.encoder
        if encoder.moments is not None:
            encoder.moments.standardize(parsed.numbers.copy(), True)
        if not encoder.dense:
            found = encoder.settle(parsed.found or self._found(parsed))
            parsed = parsed._replace(found=None if parsed.texts else found)
        return parsed._replace(counted=True)

    def finish(self, parsed: Parsed, first_line: int) -> Batch:
        """Update the running moments and number new features and labels; called for the batches in order."""
        if parsed.rows is None:
            parsed = self._rows(parsed)
        for name, strange in parsed.unseen.items():
            self.unseen.setdefault(name, Counter()).update(strange)
        count = parsed.numbers.shape[0]
        codes = np.full(count, -1) if parsed.labels is None else self.labels.codes(parsed.labels)
        return Batch(parsed.rows, codes, parsed.weights, None, first_line, parsed.kept)


class BadCell(Exception):  # noqa: N818
    """A cell that does not hold what its column needs: its row within the batch, and the error message."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(row, message)
        self.row, self.message = row, message


def wrong_form(column: str, form: Any, text: str) -> str:
    """The error message about a text that is no date or no number of this form."""
    date = isinstance(form, Form)
    expected = f"dates written {ORDERS[form.order]}" if date else f"numbers written {EXAMPLES[form]}"
    return (
        f"Column {column!r} must hold {expected}, as its first rows do; got {text.strip()[:40]!r}. Correct it, or set its type "
        f"to category (--types {column}=category)."
    )


def weight_message(column: str, text: str) -> str:
    """The error message about a wrong weight."""
    return (
        f"The weight of an example, column {column!r}, must be a number of at least 0; got {text[:40] or 'an empty field'}. "
        "Correct it; 1 is the weight of an ordinary example."
    )


EXAMPLES = {".": "as in 1,234.5", ",": "as in 1.234,5"}


def _is_number(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(column.type))


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
