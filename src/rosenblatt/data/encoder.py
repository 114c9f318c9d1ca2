"""Encoding of records as features: columns, their kinds, and the numbers of the features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.engine.entries import add_categories, add_numbers, add_words, arrange, cross, room_to_cross, standardize
from rosenblatt.engine.text.arrays import END, USED, Tokens

from .errors import BadData
from .vocabulary import Vocabulary, new_tokens

KINDS = ("number", "category", "words")
BITS = range(1, 31)


class Moments:
    """Running mean and spread of columns (Welford 1962).

    A row of a stream is standardised with the moments of all rows up to and including itself, so that nothing is read twice and the
    size of batches does not matter; the first rows are therefore scaled roughly. Rows that are kept in memory are standardised
    when the moments of all of them are known. Later passes do not change the moments.
    """

    def __init__(self, columns: int) -> None:
        self.count, self.mean, self.spread = np.zeros(columns), np.zeros(columns), np.zeros(columns)

    def clear(self) -> None:
        """Forget all rows."""
        for numbers in (self.count, self.mean, self.spread):
            numbers[:] = 0.0

    def standardize(self, values: NDArray[np.float64], learn: bool) -> None:
        """Standardise the rows of a matrix in place, with `learn` after adding each to the moments; NaN stays NaN."""
        standardize(values, self.count, self.mean, self.spread, learn)


class Encoder:
    """Turns records into features; created by `open_stream` and saved with the model to read other files in the same way.

    Parameters
    ----------
    family : {"numbered", "named", "table"}
        svmlight text with numbered features; VW text with named features; tables with columns.
    bits : int or None, default=None
        None for an exact vocabulary that grows; else features are hashed to ``2**bits`` indices, which bounds the memory.
    columns : mapping of str to {"number", "category", "words"}, default={}
        The columns of a table and their kinds, in order, without the label.
    label : str or None, default=None
        The label column.
    interactions : sequence of (str, str), default=()
        Pairs of columns (in VW text, namespaces) whose features are multiplied.
    standardize : bool, default=False
        Whether to scale numbers to mean 0 and standard deviation 1, by running moments.
    first_column : int, default=0
        The number of the first column of svmlight text; 0 keeps numbers as they are written.
    na : sequence of str, default=()
        Further texts that mean a missing value.
    word_weights : {"counts", "log"}, default="counts"
        The values of words: how often each occurs in the row; or 1 + log of that, scaled so that the words of a row have length 1.

    Attributes
    ----------
    frozen : bool
        Whether unknown features are ignored instead of added.
    n_features : int
        Number of features so far (``2**bits`` when hashing).
    format, delimiter, header
        The format of the first file, and the dialect of a table in text.
    left_out : dict
        Columns that are not used because they seem to say nothing, and the reasons.
    """

    def __init__(
        self,
        family: str,
        *,
        bits: int | None = None,
        columns: Mapping[str, str] | None = None,
        label: str | None = None,
        interactions: Sequence[tuple[str, str]] = (),
        standardize: bool = False,
        first_column: int = 0,
        na: Sequence[str] = (),
        word_weights: str = "counts",
    ) -> None:
        if bits is not None and bits not in BITS:
            raise ValueError(
                f"`bits` must be between {BITS[0]} and {BITS[-1]}; got {bits}. Memory doubles with each; 18 to 24 are usual."
            )
        self.family = family
        self.bits = bits
        self.columns = dict(columns or {})
        self.label = label
        self.label_kind: str | None = None
        self.header = True
        self.format: str | None = None
        self.delimiter = ","
        self.na = [str(text) for text in na]
        self.word_weights = word_weights
        self.left_out: dict[str, str] = {}
        pairs: Sequence[Any] = interactions
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise BadData(
                    f"Interactions must be pairs of columns, such as ('age', 'job'); got {pair!r}. Name two columns in each."
                )
        self.interactions = [(str(a), str(b)) for a, b in pairs]
        self.first_column = first_column
        self.frozen = False
        self.width = 0  # number of columns: the highest index + 1 in svmlight text, those of the first file in CSV
        self.number_columns = [name for name, kind in self.columns.items() if kind == "number"]
        self.moments = Moments(len(self.number_columns)) if standardize else None
        self.learned_moments = False
        self._check()
        self.dense = (
            family == "table"
            and bits is None
            and not self.interactions
            and len(self.number_columns) == len(self.columns)
        )
        self.vocabulary = Vocabulary([] if bits else self.number_columns)

    def _check(self) -> None:
        for name in {name for pair in self.interactions for name in pair}:
            if self.family == "numbered" or (self.family == "table" and name not in self.columns):
                raise BadData(
                    f"Interactions must name columns ({', '.join(self.columns) or 'svmlight text has none with names'}); got "
                    f"{name!r}. Check the spelling."
                )
        if self.moments is not None and self.family != "table":
            raise BadData(
                "Only the numeric columns of tables can be standardised; sparse text would lose its zeros. Scale it first, or "
                "leave `standardize` out."
            )

    @property
    def n_features(self) -> int:
        """Number of features so far."""
        if self.bits is not None:
            return 1 << self.bits
        return self.width if self.family == "numbered" else len(self.vocabulary)

    def feature_name(self, i: int) -> str:
        """The name of feature i.

        The number as written in svmlight text; ``name`` or ``namespace^name`` in VW text; in tables ``column`` for a number,
        ``column=value``, ``column:word`` (``word`` if it is the only column), and ``first*second`` for a product; ``#i`` when
        hashing.
        """
        if not 0 <= i < self.n_features:
            raise IndexError(f"A feature must be in 0..{self.n_features - 1}; got {i}. See `n_features`.")
        if self.bits is not None:
            return f"#{i}"
        return str(i + self.first_column) if self.family == "numbered" else self.vocabulary.name(i)

    def names(self) -> list[str]:
        """The names of all features, in order."""
        if self.bits is None and self.family != "numbered":
            return self.vocabulary.names()
        return [self.feature_name(i) for i in range(self.n_features)]

    def find(self, name: str) -> int:
        """The number of a feature by its name, or -1."""
        if self.bits is None and self.family != "numbered":
            return self.vocabulary.find(name)
        text = name.removeprefix("#")
        i = int(text) - (0 if self.bits else self.first_column) if text.isdecimal() else -1
        return i if 0 <= i < self.n_features else -1

    def freeze(self) -> None:
        """From now on ignore unknown features and keep the running statistics constant."""
        self.frozen = True

    def thaw(self) -> None:
        """From now on add unknown features again."""
        self.frozen = False

    # ---- tables and VW text ----

    @property
    def in_order(self) -> bool:
        """Whether batches must be encoded in order, because each may add features or change the moments."""
        return not self.frozen and (self.bits is None or (self.moments is not None and not self.learned_moments))

    def tokens_of(self, numbers: NDArray[np.float64], texts: Mapping[str, tuple[Any, Any]]) -> Tokens:
        """Tokens of some rows, from a matrix of the numeric columns and (bytes, offsets) of each other column."""
        rows, places = numbers.shape[0], {name: c for c, name in enumerate(self.columns)}
        names = {name: name.encode() for name in self.columns}
        count, room = rows * numbers.shape[1], sum(len(names[name]) for name in self.number_columns)
        prefixes = {}
        for name, (_, offsets) in texts.items():
            alone = len(self.columns) == 1 and self.columns[name] == "words"
            sign = b"=" if self.columns[name] == "category" else b":"
            prefixes[name] = np.frombuffer(b"" if alone else names[name] + sign, np.uint8)
            many = int(offsets[-1] - offsets[0])
            most = rows if self.columns[name] == "category" else many // 2 + rows
            count, room = count + most, room + many + most * len(prefixes[name])
        tokens = new_tokens(count, room)
        for c, name in enumerate(self.number_columns):
            add_numbers(numbers[:, c].copy(), np.frombuffer(names[name], np.uint8), places[name], tokens)
        for name, (data, offsets) in texts.items():
            add = add_categories if self.columns[name] == "category" else add_words
            add(data, offsets, prefixes[name], places[name], tokens)
        return tokens

    def rows_of(self, tokens: Tokens, rows: int, places: Mapping[str, int] | None = None) -> CSR:
        """Sparse rows of tokens; new features are added unless frozen. `places` numbers the columns for interactions."""
        products = self._products(tokens, rows, places)
        words = [c for c, kind in enumerate(self.columns.values()) if kind == "words"]
        if self.word_weights != "log" or not words:
            return self._numbered(_joined([tokens, *products]) if products else tokens, rows)
        text = np.isin(tokens.column[: int(tokens.size[END])], np.array(words, np.int32))
        counted = self._numbered(_chosen(tokens, text), rows)
        weights = 1.0 + np.log(counted.values)
        row = np.repeat(np.arange(rows), np.diff(counted.indptr))
        lengths = np.sqrt(np.bincount(row, weights * weights, rows))
        counted = counted._replace(values=weights / lengths[row])
        if text.all() and not products:
            return counted
        return merged(self._numbered(_joined([_chosen(tokens, ~text), *products]), rows), counted)

    def _products(self, tokens: Tokens, rows: int, places: Mapping[str, int] | None) -> list[Tokens]:
        """The products of the pairs of columns in `interactions`."""
        if not self.interactions:
            return []
        tokens, order, starts = self._arranged(tokens, rows)
        numbers = {name: c for c, name in enumerate(self.columns)} if places is None else places
        products = []
        for a, b in self.interactions:
            if a in numbers and b in numbers:
                squares = a == b and self.columns.get(a) == "number"
                pair = (numbers[a], numbers[b], squares)
                product = new_tokens(*room_to_cross(tokens, order, starts, *pair))
                cross(tokens, order, starts, *pair, product)
                products.append(product)
        return products

    def _numbered(self, tokens: Tokens, rows: int) -> CSR:
        """Rows in which each token counts its own value."""
        tokens, order, starts = self._arranged(tokens, rows)
        mask = 0 if self.bits is None else (1 << self.bits) - 1
        return CSR(*self.vocabulary.number(tokens, order, starts, mask, not self.frozen and not mask))

    def _arranged(self, tokens: Tokens, rows: int) -> tuple[Tokens, Any, Any]:
        count = int(tokens.size[END])
        order, starts = np.empty(count, np.int64), np.empty(rows + 1, np.int64)
        arrange(tokens.row[:count], rows, order, starts)
        return tokens, order, starts

    # ---- save and load ----

    def to_json(self) -> dict[str, Any]:
        """The encoder as plain dicts, lists, strings and numbers."""
        saved: dict[str, Any] = {
            "family": self.family,
            "bits": self.bits,
            "columns": [[name, kind] for name, kind in self.columns.items()],
            "label": self.label,
            "label_kind": self.label_kind,
            "header": self.header,
            "format": self.format,
            "delimiter": self.delimiter,
            "na": self.na,
            "word_weights": self.word_weights,
            "left_out": self.left_out,
            "interactions": [list(pair) for pair in self.interactions],
            "first_column": self.first_column,
            "width": self.width,
            "moments": None,
            "vocabulary": self.vocabulary.names(),
        }
        if self.moments is not None:
            saved["moments"] = {
                "count": self.moments.count.tolist(),
                "mean": self.moments.mean.tolist(),
                "spread": self.moments.spread.tolist(),
                "complete": self.learned_moments,
            }
        return saved

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Encoder":
        """Create an encoder from the result of `to_json`."""
        encoder = cls(
            str(saved["family"]),
            bits=saved["bits"],
            columns={str(name): str(kind) for name, kind in saved["columns"]},
            label=saved["label"],
            interactions=[(a, b) for a, b in saved["interactions"]],
            standardize=saved["moments"] is not None,
            first_column=int(saved["first_column"]),
            na=saved.get("na", []),  # models of earlier versions do not have these
            word_weights=str(saved.get("word_weights", "counts")),
        )
        encoder.label_kind, encoder.header, encoder.width = (
            saved["label_kind"],
            bool(saved["header"]),
            int(saved["width"]),
        )
        encoder.format, encoder.delimiter = saved.get("format"), str(saved.get("delimiter", ","))
        encoder.left_out = {str(name): str(reason) for name, reason in saved.get("left_out", {}).items()}
        encoder.vocabulary = Vocabulary(saved["vocabulary"])
        if encoder.moments is not None:
            for name in ("count", "mean", "spread"):
                setattr(encoder.moments, name, np.array(saved["moments"][name], np.float64))
            encoder.learned_moments = bool(saved["moments"]["complete"])
        return encoder


def _joined(parts: Sequence[Tokens]) -> Tokens:
    """Concatenate tokens; their order does not matter."""
    counts = [int(part.size[END]) for part in parts]
    used = [int(part.size[USED]) for part in parts]
    whole = new_tokens(sum(counts), sum(used))
    at, byte = 0, 0
    for part, count, length in zip(parts, counts, used):
        for name in ("row", "column", "length", "hash", "value"):
            getattr(whole, name)[at : at + count] = getattr(part, name)[:count]
        whole.start[at : at + count] = part.start[:count] + byte
        whole.text[byte : byte + length] = part.text[:length]
        at, byte = at + count, byte + length
    whole.size[:] = at, byte
    return whole


def _chosen(tokens: Tokens, which: NDArray[np.bool_]) -> Tokens:
    """Some of the tokens; the bytes of all names are kept."""
    count = which.size
    parts = (getattr(tokens, name)[:count][which] for name in ("row", "column", "start", "length", "hash", "value"))
    return Tokens(*parts, tokens.text, np.array([which.sum(), tokens.size[USED]], np.int64))


def merged(one: CSR, two: CSR) -> CSR:
    """The sums of the rows of two tables."""
    counts = np.diff(one.indptr), np.diff(two.indptr)
    row = np.concatenate([np.repeat(np.arange(part.size), part) for part in counts])
    column, values = np.concatenate([one.indices, two.indices]), np.concatenate([one.values, two.values])
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], values[order]
    first = np.ones(row.size, bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    starts = np.flatnonzero(first)
    sums = np.add.reduceat(values, starts) if starts.size else values
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[starts], minlength=counts[0].size))]).astype(np.int64)
    return CSR(indptr, column[starts].astype(np.int32), sums)
