"""Encoding of records as features: columns, their kinds, and the numbers of the features."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.engine.entries import (
    add_categories,
    add_characters,
    add_numbers,
    add_rows,
    add_words,
    arrange,
    count_documents,
    cross,
    number_rows,
    renumber,
    room_to_cross,
    standardize,
    weigh_words,
)
from rosenblatt.engine.text.arrays import END, USED, Tokens

from .dates import Form
from .errors import BadData, did_you_mean, listed
from .vocabulary import Vocabulary, cut, new_rows, new_tokens, stacked, tidied

KINDS = ("number", "category", "words", "date")
BITS = range(1, 31)
WORD_WEIGHTS = ("log", "counts", "tfidf")
LONGEST = 10
"""The largest number of words of a phrase, or of characters of a sequence."""

SHORT = 8
"""The largest number of bytes of a text that `look_up` can tell to mean a missing value."""

TOKENS = 1 << 20
"""Approximate limit of the tokens that are in memory at once for a batch."""


class Moments:
    """Running mean and spread of columns (Welford 1962).

    A row of a stream is standardised with the moments of all rows up to and including itself, so that nothing is read twice
    and the size of batches does not matter; the first rows are therefore scaled roughly. Rows that are kept in memory are
    standardised when the moments of all of them are known. Later passes do not change the moments.
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

    def of(self, columns: NDArray[np.int64], values: NDArray[np.float64], learn: bool) -> None:
        """The same for rows with some of the columns only."""
        parts = self.count[columns], self.mean[columns], self.spread[columns]
        standardize(values, *parts, learn)
        if learn:
            self.count[columns], self.mean[columns], self.spread[columns] = parts

    def grown(self, columns: int) -> "Moments":
        """The moments of more columns, whose first ones are these."""
        made = Moments(columns)
        for before, after in ((self.count, made.count), (self.mean, made.mean), (self.spread, made.spread)):
            after[: before.size] = before
        return made


class Frequencies:
    """In how many documents each word occurs, and how many documents there are: each row of a table or line of a text is one.

    As with `Moments`, a row of a stream is weighted by the counts of all rows up to and including itself, rows that are kept in
    memory by those of all of them, and later passes do not change the counts.
    """

    def __init__(self) -> None:
        self.documents, self.found = np.zeros(1, np.int64), np.zeros(1, np.int64)

    def clear(self) -> None:
        """Forget all documents."""
        self.documents[:], self.found[:] = 0, 0

    def make_room(self, features: int) -> None:
        """Have a count for each of so many features."""
        if features > self.found.size:
            found, self.found = self.found, np.zeros(max(features, 2 * self.found.size), np.int64)
            self.found[: found.size] = found

    def to_json(self) -> dict[str, Any]:
        """The counts as plain lists and numbers."""
        features = np.flatnonzero(self.found)
        found = self.found[features].tolist()
        return {"documents": int(self.documents[0]), "features": features.tolist(), "found": found}

    def restore(self, saved: Mapping[str, Any], features: int) -> None:
        """Take over the result of `to_json`."""
        self.make_room(features)
        self.documents[0], self.found[saved["features"]] = saved["documents"], saved["found"]

    def count(self, rows: CSR) -> None:
        """Count the words of further rows."""
        count_documents(rows.indptr, rows.indices, self.documents, self.found)


class Part(NamedTuple):
    """Rows of tokens: those with known numbers, and the others, by numbers in `Found.names`."""

    known: CSR
    fresh: CSR | None


class Found(NamedTuple):
    """The features of some rows that come from text, as far as they can be found without adding any.

    Attributes
    ----------
    plain, words : Part or None
        The features, and the words whose weights are not their counts; None if there are no such columns.
    names : Vocabulary or None
        The unknown names, in order; None if there are none.
    """

    plain: Part | None
    words: Part | None
    names: Vocabulary | None

    @property
    def size(self) -> int:
        """Number of bytes in memory."""
        rows = [rows for part in (self.plain, self.words) if part is not None for rows in part if rows is not None]
        return sum(int(array.nbytes) for each in rows for array in each)


class Encoder:
    """Turns records into features; created by `open_stream` and saved with the model to read other files in the same way.

    Parameters
    ----------
    family : {"numbered", "named", "table"}
        svmlight text with numbered features; VW text with named features; tables with columns.
    bits : int or None, default=None
        None for an exact vocabulary that grows; else features are hashed to ``2**bits`` indices, which bounds the memory.
    columns : mapping of str to {"number", "category", "words", "date"}, default={}
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
    word_weights : {"counts", "log", "tfidf"}, default="counts"
        The values of words: how often each occurs in the row; or 1 + log of that, all words of a row scaled to length 1; or the
        same with each multiplied by ``1 + log((1 + n) / (1 + m))`` before, where m of n rows so far have the word. In svmlight
        and VW text all features are words.
    ngrams : (int, int), default=(1, 1)
        The numbers of words of a phrase, least and most: (1, 2) uses single words and pairs of consecutive words. (0, 0) uses no
        words.
    char_ngrams : (int, int) or None, default=None
        The numbers of characters, least and most, of sequences within words that are used as well.
    forms : mapping of str to str or Form, default={}
        How columns are written: the decimal mark of numbers that are not plain, and the form of dates.

    Attributes
    ----------
    sources : dict
        The columns of the file and their kinds. In `columns` each date is replaced by its parts, such as ``signup.year``.
    samples : dict
        The first values of each column; not saved.
    frozen : bool
        Whether unknown features are ignored instead of added.
    n_features : int
        Number of features so far (``2**bits`` when hashing).
    weight : str or None
        The column of a table with the weights of the examples.
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
        ngrams: Sequence[int] = (1, 1),
        char_ngrams: Sequence[int] | None = None,
        forms: Mapping[str, Any] | None = None,
    ) -> None:
        if bits is not None and bits not in BITS:
            raise ValueError(
                f"`bits` must be between {BITS[0]} and {BITS[-1]}; got {bits}. Memory doubles with each; 18 to 24 are usual."
            )
        self.family = family
        self.bits = bits
        self.sources = dict(columns or {})
        self.forms = dict(forms or {})
        self.columns: dict[str, str] = {}
        for name, kind in self.sources.items():
            parts = self.forms[name].parts if kind == "date" else {}
            self.columns |= {f"{name}.{part}": its for part, its in parts.items()} if parts else {name: kind}
        self.samples: dict[str, Any] = {}
        self.label = label
        self.label_kind: str | None = None
        self.regression = False  # whether labels are real targets
        self.separator: str | None = None  # between several labels in a field, if examples may have several
        self.weight: str | None = None
        self.header = True
        self.format: str | None = None
        self.delimiter = ","
        self.na = [str(text) for text in na]
        self.word_weights = word_weights
        self.ngrams = _range(ngrams, "ngrams", 0)
        self.char_ngrams = None if char_ngrams is None else _range(char_ngrams, "char_ngrams", 1)
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
        self.frequencies = Frequencies() if word_weights == "tfidf" else None
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
        if self.word_weights not in WORD_WEIGHTS:
            raise BadData(
                f"`word_weights` must be one of {', '.join(WORD_WEIGHTS)}; got {self.word_weights!r}. log is a good choice."
            )
        if self.family != "table" and (self.ngrams != (1, 1) or self.char_ngrams is not None):
            raise BadData(
                "Phrases and sequences of characters are made from columns of text; svmlight and VW text have none. Leave "
                "them out, or give a table."
            )
        if self.ngrams == (0, 0) and self.char_ngrams is None:
            raise BadData(
                "Phrases of 0 words use no words, and without sequences of characters nothing of a text would be used. Give one "
                "of them."
            )
        for name in {name for pair in self.interactions for name in pair}:
            if self.family == "numbered" or (self.family == "table" and name not in self.columns):
                raise BadData(
                    f"Interactions must name columns ({listed(list(self.columns)) or 'svmlight text has none with names'}); got "
                    f"{name!r}. {did_you_mean(name, self.columns)}"
                )
        if self.moments is not None and self.family != "table":
            raise BadData(
                "Only the numeric columns of tables can be standardised; sparse text would lose its zeros. Scale it first, or "
                "leave the scaling out."
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
    def learning(self) -> bool:
        """Whether the next rows change the running moments or the frequencies of words."""
        counting = self.moments is not None or self.frequencies is not None
        return counting and not self.frozen and not self.learned_moments

    @property
    def in_order(self) -> bool:
        """Whether batches must be encoded in order, because each may add features or change the running statistics."""
        return not self.frozen and (self.bits is None or self.learning)

    @property
    def _mask(self) -> int:
        return 0 if self.bits is None else (1 << self.bits) - 1

    def clear(self) -> None:
        """Forget the running statistics."""
        for statistics in (self.moments, self.frequencies):
            if statistics is not None:
                statistics.clear()

    def look_up(
        self, numbers: NDArray[np.float64], texts: Mapping[str, tuple[Any, Any]], missing: Collection[str] = ()
    ) -> Found:
        """The features of columns of text, from (bytes, offsets) of each, and the products with columns of numbers; thread-safe.

        Texts in `missing` have no features.
        """
        packed = np.array(
            [int.from_bytes(text.encode(), "big") for text in missing if len(text.encode()) <= SHORT], np.uint64
        )
        pieces, names = [], Vocabulary()
        for first, end in self._pieces(texts, numbers.shape[0]):
            some = {name: (data, offsets[first : end + 1]) for name, (data, offsets) in texts.items()}
            pieces.append(self._find(self._tokens_of(numbers[first:end], some, packed), end - first, names))
        plain, words = (_stacked([piece[k] for piece in pieces]) for k in range(2))
        return Found(plain, words, names if len(names) else None)

    def look_up_tokens(self, tokens: Tokens, rows: int, places: Mapping[str, int]) -> Found:
        """The same for tokens of VW text; `places` numbers the namespaces for interactions."""
        names = Vocabulary()
        whole = _joined([tokens, *self._products(tokens, rows, places)])
        groups = (whole, None) if self.word_weights == "counts" else (None, whole)
        plain, words = self._find(groups, rows, names)
        return Found(plain, words, names if len(names) else None)

    def rows_of(self, found: Found, numbers: NDArray[np.float64] | None = None, learn: bool = False) -> CSR:
        """Sparse rows: the features that were found and the numbers. New features are added unless frozen.

        With `learn` the frequencies of words are updated.
        """
        plain, words = self._numbered(found)
        if words is not None:
            self.weigh(words, learn)
        parts = [part for part in (plain, words) if part is not None]
        if numbers is not None and numbers.shape[1]:
            made, places = new_rows(numbers.shape[0], numbers.size), self._number_places()
            known = places >= 0
            if not known.all():
                numbers, places = numbers[:, known], places[known]
            number_rows(numbers, places, *made)
            parts.insert(0, tidied(made))
        whole = parts.pop(0)
        for part in parts:
            whole = merged(whole, part)
        return whole

    def settle(self, found: Found) -> Found:
        """Add new features, and count the words of rows that will be finished later."""
        plain, words = (None if rows is None else Part(rows, None) for rows in self._numbered(found))
        if words is not None:
            self.count(words.known)
        return Found(plain, words, None)

    def count(self, words: CSR) -> None:
        """Count the words of some rows."""
        if self.frequencies is not None:
            self.frequencies.make_room(self.n_features)
            self.frequencies.count(words)

    def weigh(self, words: CSR, learn: bool) -> None:
        """Replace the counts of words by their weights, in place."""
        if self.word_weights == "counts":
            return
        if self.frequencies is None:
            documents, found = np.zeros(1, np.int64), np.zeros(0, np.int64)
        else:
            self.frequencies.make_room(self.n_features)
            documents, found = self.frequencies.documents, self.frequencies.found
        weigh_words(*words, documents, found, learn)

    def _pieces(self, texts: Mapping[str, tuple[Any, Any]], rows: int) -> Iterator[tuple[int, int]]:
        """Ranges of rows with a limited number of tokens."""
        per_byte = self.ngrams[1] / 2
        if self.char_ngrams is not None:
            per_byte += 2.0 * (self.char_ngrams[1] - self.char_ngrams[0] + 1)
        size = sum(int(texts[name][1][-1] - texts[name][1][0]) for name in texts if self.columns[name] == "words")
        count = max(1, min(rows, round(size * per_byte / TOKENS)))
        yield from itertools.pairwise(rows * k // count for k in range(count + 1))

    def _tokens_of(
        self, numbers: NDArray[np.float64], texts: Mapping[str, tuple[Any, Any]], missing: NDArray[np.uint64]
    ) -> list[Tokens | None]:
        """Tokens of some rows: those that keep their values, and the words if they do not."""
        rows, places = numbers.shape[0], {name: c for c, name in enumerate(self.columns)}
        weighted = self.word_weights != "counts"
        calls: tuple[list[Any], list[Any]] = ([], [])
        for name, (data, offsets) in texts.items():
            given, many = (data, offsets, missing), int(offsets[-1] - offsets[0])
            name_bytes = b"" if len(self.columns) == 1 else name.encode()
            if self.columns[name] == "category":
                prefix = np.frombuffer(name.encode() + b"=", np.uint8)
                calls[0].append((add_categories, (*given, prefix, places[name]), rows, many + rows * prefix.size))
                continue
            least, most = self.ngrams
            if most:
                prefix = np.frombuffer(name_bytes and name_bytes + b":", np.uint8)
                count = many // 2 + rows
                room = most * (most + 1) // 2 * (many + count) + most * count * prefix.size
                last = np.empty((most, 2), np.int64)
                calls[weighted].append((add_words, (*given, prefix, places[name], least, last), most * count, room))
            if self.char_ngrams is not None:
                least, most = self.char_ngrams
                prefix = np.frombuffer(name_bytes + b"~", np.uint8)
                count = (most - least + 1) * 2 * (many + rows)
                wide = 4 if many and int(data[offsets[0] : offsets[-1]].max()) >= 128 else 1
                room = 2 * (many + rows) + count * (wide * most + prefix.size)
                calls[weighted].append((add_characters, (*given, prefix, places[name], least, most), count, room))
        made = [_filled(some) if some else None for some in calls]
        if self.interactions:
            factors = [
                (add_numbers, (numbers[:, c].copy(), np.frombuffer(name.encode(), np.uint8), places[name]),
                 rows, len(name.encode()))
                for c, name in enumerate(self.number_columns)
            ]  # fmt: skip
            known = [tokens for tokens in made if tokens is not None]
            products = self._products(_joined([*known, _filled(factors)]), rows, places)
            made[0] = _joined([*([] if made[0] is None else [made[0]]), *products])
        return made

    def _products(self, tokens: Tokens, rows: int, places: Mapping[str, int]) -> list[Tokens]:
        """The products of the pairs of columns in `interactions`."""
        if not self.interactions:
            return []
        order, starts = _arranged(tokens, rows)
        products = []
        for a, b in self.interactions:
            if a in places and b in places:
                squares = a == b and self.columns.get(a) == "number"
                pair = (places[a], places[b], squares)
                product = new_tokens(*room_to_cross(tokens, order, starts, *pair))
                cross(tokens, order, starts, *pair, product)
                products.append(product)
        return products

    def _find(self, groups: Sequence[Tokens | None], rows: int, names: Vocabulary) -> list[Part | None]:
        """The rows of two groups of tokens; those of unknown ones are numbered by `names`, in the order of the rows."""
        found: list[Any] = []
        for tokens in groups:
            if tokens is not None:
                known = self.vocabulary.look_up(tokens, *_arranged(tokens, rows), self._mask, not self.frozen)
                found.append((tokens, *known))
        unknown = [(tokens, tokens_left) for tokens, _, tokens_left, _ in found if tokens_left.size]
        if len(unknown) > 1:  # name them in the order of the rows, whatever the size of the batch
            together = _joined([_chosen(tokens, places) for tokens, places in unknown])
            names.number(together, *_arranged(together, rows))
        parts = iter(
            Part(known, names.number(tokens, places, starts) if places.size else None)
            for tokens, known, places, starts in found
        )
        return [None if tokens is None else next(parts) for tokens in groups]

    def _numbered(self, found: Found) -> list[CSR | None]:
        """The rows of both kinds, with new names added."""
        numbers = None if found.names is None else self.vocabulary.add(found.names)
        made: list[CSR | None] = []
        for part in (found.plain, found.words):
            if part is None or part.fresh is None:
                made.append(part and part.known)
            else:
                renumber(part.fresh.indices, numbers)
                made.append(merged(part.known, tidied(part.fresh)))
        return made

    def _number_places(self) -> NDArray[np.int32]:
        """The features of the columns of numbers, -1 for those that a frozen vocabulary does not have."""
        if self.bits is None:
            found = np.array([self.vocabulary.find(name) for name in self.number_columns], np.int32)
            if found.min() < 0 and not self.frozen:
                return self.vocabulary.add(Vocabulary(self.number_columns))
            return found
        one, places = np.ones(1), []
        for name in self.number_columns:
            tokens = new_tokens(1, len(name.encode()))
            add_numbers(one, np.frombuffer(name.encode(), np.uint8), 0, tokens)
            places.append(int(tokens.hash[0]) & self._mask)
        return np.array(places, np.int32)

    # ---- save and load ----

    def to_json(self) -> dict[str, Any]:
        """The encoder as plain dicts, lists, strings and numbers."""
        saved: dict[str, Any] = {
            "family": self.family,
            "bits": self.bits,
            "columns": [[name, kind] for name, kind in self.sources.items()],
            "forms": {name: form if isinstance(form, str) else list(form) for name, form in self.forms.items()},
            "label": self.label,
            "label_kind": self.label_kind,
            "regression": self.regression,
            "separator": self.separator,
            "weight": self.weight,
            "header": self.header,
            "format": self.format,
            "delimiter": self.delimiter,
            "na": self.na,
            "word_weights": self.word_weights,
            "ngrams": list(self.ngrams),
            "char_ngrams": None if self.char_ngrams is None else list(self.char_ngrams),
            "frequencies": None,
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
        if self.frequencies is not None:
            saved["frequencies"] = {**self.frequencies.to_json(), "complete": self.learned_moments}
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
            ngrams=saved.get("ngrams", (1, 1)),
            char_ngrams=saved.get("char_ngrams"),
            forms={
                name: form if isinstance(form, str) else Form(*form) for name, form in saved.get("forms", {}).items()
            },
        )
        encoder.label_kind, encoder.header, encoder.width = (
            saved["label_kind"],
            bool(saved["header"]),
            int(saved["width"]),
        )
        encoder.regression = bool(saved.get("regression", False))
        encoder.separator = None if saved.get("separator") is None else str(saved["separator"])
        encoder.weight = saved.get("weight")
        encoder.format, encoder.delimiter = saved.get("format"), str(saved.get("delimiter", ","))
        encoder.left_out = {str(name): str(reason) for name, reason in saved.get("left_out", {}).items()}
        encoder.vocabulary = Vocabulary(saved["vocabulary"])
        encoder.dense = encoder.dense and encoder.vocabulary.names() == encoder.number_columns
        if encoder.moments is not None:
            for name in ("count", "mean", "spread"):
                setattr(encoder.moments, name, np.array(saved["moments"][name], np.float64))
            encoder.learned_moments = bool(saved["moments"]["complete"])
        if encoder.frequencies is not None:
            encoder.frequencies.restore(saved["frequencies"], encoder.n_features)
            encoder.learned_moments = bool(saved["frequencies"]["complete"])
        return encoder


def _range(given: Sequence[int], name: str, lowest: int) -> tuple[int, int]:
    """A pair of numbers, least and most."""
    least, most = given if len(given) == 2 and all(type(number) is int for number in given) else (-1, -1)
    if not lowest <= least <= most <= LONGEST or (least == 0 and most > 0):
        raise BadData(
            f"`{name}` must be two whole numbers, least and most, between 1 and {LONGEST}; got {given!r}. (1, 2) takes single "
            "ones and pairs."
        )
    return int(least), int(most)


def _filled(calls: Sequence[tuple[Any, tuple[Any, ...], int, int]]) -> Tokens:
    """Tokens from functions that add them: each with its arguments, and the numbers of tokens and bytes that it needs."""
    tokens = new_tokens(sum(call[2] for call in calls), sum(call[3] for call in calls))
    for add, arguments, _, _ in calls:
        add(*arguments, tokens)
    return tokens


def _arranged(tokens: Tokens, rows: int) -> tuple[Any, Any]:
    """The order of tokens by row, and where each row starts in it."""
    count = int(tokens.size[END])
    order, starts = np.empty(count, np.int64), np.empty(rows + 1, np.int64)
    arrange(tokens.row[:count], rows, order, starts)
    return order, starts


def _joined(parts: Sequence[Tokens]) -> Tokens:
    """Concatenate tokens; their order does not matter."""
    if len(parts) == 1:
        return parts[0]
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


def _chosen(tokens: Tokens, places: NDArray[np.int64]) -> Tokens:
    """Some of the tokens; the bytes of all names are kept."""
    names = ("row", "column", "start", "length", "hash", "value")
    parts = {name: getattr(tokens, name)[places] for name in names}
    return tokens._replace(**parts, size=np.array([places.size, tokens.size[USED]], np.int64))


def _stacked(parts: Sequence[Part | None]) -> Part | None:
    """The rows of several parts, one after the other."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    whole = [part for part in parts if part is not None]
    empty = [CSR(np.zeros(part.known.indptr.size, np.int64), np.zeros(0, np.int32), np.zeros(0)) for part in whole]
    fresh = None
    if any(part.fresh is not None for part in whole):
        fresh = stacked([none if part.fresh is None else part.fresh for part, none in zip(whole, empty)])
    return Part(stacked([part.known for part in whole]), fresh)


def merged(one: CSR, two: CSR) -> CSR:
    """The sums of the rows of two tables."""
    whole = new_rows(one.indptr.size - 1, one.indices.size + two.indices.size)
    add_rows(*one, *two, *whole)
    return cut(whole)
