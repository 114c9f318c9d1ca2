"""Sentences as the engine reads them: the numbers of the features of each token."""

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import Chain, Shaping
from rosenblatt.engine.text.arrays import PADDING

from .templates import Templates

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
Keys = NDArray[np.uint64]

_NO_VALUES = np.zeros(0)
_LARGEST = 1e100  # its square, times a step, is still a number
_BOUNDARY = "\0"
"""What a template finds beside the ends of a sentence; no token is equal to it."""
HASHED = 0
"""In place of a number of `Chain`: the feature is known by its hash only."""
_TOGETHER = 4096
"""Number of tokens whose strings are joined together."""
_DIRECT = 4
"""A table of the features of all combinations of strings has at most this many cells for each token."""


@dataclasses.dataclass
class Batch:
    """Sentences whose features have numbers of their own, from 1 on.

    Attributes
    ----------
    starts : array
        The number of the first token of each sentence, and the number of all tokens.
    feature_start : array
        The place of the first feature of each token, and the number of all features.
    feature : array
        The number of each feature.
    value : array
        Its value; none where all are 1.
    keys : array of shape (n_features + 1, 2)
        What each feature is.
    """

    starts: Integers
    feature_start: Integers
    feature: Numbers
    value: NDArray[np.float64]
    keys: Keys

    def __len__(self) -> int:
        return self.starts.size - 1

    @functools.cached_property
    def longest(self) -> int:
        """The number of tokens of the longest sentence."""
        return int(np.diff(self.starts).max(initial=0))

    @functools.cached_property
    def most_features(self) -> int:
        """The largest number of features of one sentence."""
        return int(np.diff(self.feature_start[self.starts]).max(initial=0))


def parts_of(keys: Keys) -> tuple[Integers, Integers]:
    """What each key is about (a number of `Chain`), and its three parts: numbers of strings, or of a tag."""
    low = np.uint64(0xFFFFFFFF)
    codes = (keys[:, 0] >> np.uint64(32)).astype(np.int64)
    parts = np.stack([keys[:, 0] & low, keys[:, 1] >> np.uint64(32), keys[:, 1] & low], axis=1)
    return codes, parts.astype(np.int64)


def keys_of(codes: Integers, parts: Integers) -> Keys:
    """The keys of these codes and parts."""
    words = parts.astype(np.uint64)
    first = (codes.astype(np.uint64) << np.uint64(32)) | words[:, 0]
    return np.stack([first, (words[:, 1] << np.uint64(32)) | words[:, 2]], axis=1)


def number_of_strings(codes: Integers, templates: Templates | None) -> Integers:
    """How many parts of a key are numbers of strings."""
    table = np.zeros(Chain.TEMPLATES + (0 if templates is None else len(templates.names)), np.int64)
    table[Chain.GIVEN] = 1
    if templates is not None:
        table[Chain.TEMPLATES :] = templates.table[:, 0]
    counts: Integers = table[codes]
    return counts


class KeyTable:
    """Numbers of keys from 1 on.

    Attributes
    ----------
    slots, keys : array
        A hash table with open addressing, and the keys.
    counts : array
        The number of keys, with an unused one in front.
    """

    def __init__(self, room: int = 64) -> None:
        self.slots = np.zeros(64, np.uint64)
        self.keys = np.zeros((1, 2), np.uint64)
        self.counts = np.ones(1, np.int64)
        self.reserve(room)

    def reserve(self, room: int) -> None:
        """Make room for so many keys."""
        if room > self.keys.shape[0]:
            keys = np.zeros((room, 2), np.uint64)
            keys[: self.counts[0]] = self.keys[: self.counts[0]]
            self.keys = keys
        if 2 * room > self.slots.size:
            self.slots = np.zeros(_power_of_two(2 * room), np.uint64)
            self.fill()

    def fill(self) -> None:
        """Fill the hash table again with the keys."""
        from rosenblatt.engine.entries import fill_slots

        self.slots[:] = 0
        fill_slots(self.slots, self.keys, int(self.counts[0]))


class Vocabulary:
    """Numbers of strings from 0 on. Number 0 stands for what is beside a sentence.

    Parameters
    ----------
    bits : int, default=None
        Store no strings: a number is a hash, and features have numbers of so many bits.
    """

    def __init__(self, bits: int | None = None) -> None:
        self.bits = bits
        self.slots = np.zeros(64, np.uint64)
        self.ends = np.zeros(32, np.int64)
        self.store = np.zeros(256, np.uint8)
        self.counts = np.zeros(1, np.int64)
        self.add([_BOUNDARY])

    def __len__(self) -> int:
        return int(self.counts[0])

    @property
    def size(self) -> int:
        """The number of bytes of all strings."""
        return int(self.ends[self.counts[0]])

    @property
    def mask(self) -> int:
        """The largest number of a hashed feature, 0 if features are exact."""
        return 0 if self.bits is None else (1 << self.bits) - 1

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """The arrays as the engine takes them."""
        return self.slots, self.ends, self.store

    def reserve(self, strings: int, size: int) -> None:
        """Make room for so many more strings with so many bytes."""
        from rosenblatt.engine.entries import rehash

        count = len(self)
        if count + strings + 1 > self.ends.size:
            self.ends = _enlarged(self.ends, 2 * (count + strings + 1))
        if 2 * (count + strings) > self.slots.size:
            self.slots = np.zeros(_power_of_two(4 * (count + strings)), np.uint64)
            rehash(self.slots, self.ends, self.store, count)
        if self.ends[count] + size + PADDING > self.store.size:
            self.store = _enlarged(self.store, 2 * (int(self.ends[count]) + size + PADDING))

    def add(self, strings: Sequence[str]) -> None:
        """Add strings that are not in the vocabulary, among them one with a zero byte."""
        for string in strings:
            text = np.frombuffer(string.encode("utf-8", "surrogatepass"), np.uint8)
            spans = np.array([[0, text.size]], np.int64)
            self.shape(padded(text), spans, 1, (Shaping.WHOLE, 0), True, np.zeros((1, 1), np.int32), 0)

    def shape(
        self,
        data: NDArray[np.uint8],
        spans: Integers,
        count: int,
        shaping: tuple[int, int],
        add: bool,
        values: Numbers,
        row: int,
    ) -> None:
        """Write the numbers of shaped strings to a row of `values`."""
        from rosenblatt.engine.entries import shape_strings

        hashed = self.bits is not None and len(self) > 0
        if add and not hashed:
            self.reserve(count, int(spans[:count, 1].sum()) + count)
        longest = int(spans[:count, 1].max(initial=0))
        kinds = _kinds(shaping[0] >= Shaping.SHAPE and bool((data >= 128).any()))
        out = np.empty(longest + PADDING, np.uint8)
        shape_strings(data, spans, count, *shaping, kinds, self.arrays, self.counts, add, hashed, out, values, row)

    def numbers_of(self, other: "Vocabulary") -> Integers:
        """The numbers of all strings of another vocabulary, which are added."""
        count = len(other)
        spans = np.stack([other.ends[:count], np.diff(other.ends[: count + 1])], axis=1)
        values = np.zeros((1, count), np.int32)
        self.shape(other.store, spans, count, (Shaping.WHOLE, 0), True, values, 0)
        return np.asarray(values[0], dtype=np.int64)

    def string(self, number: int) -> str:
        """The string of a number."""
        return bytes(self.store[self.ends[number] : self.ends[number + 1]]).decode("utf-8", "surrogatepass")


def _power_of_two(least: int) -> int:
    return max(64, 1 << (least - 1).bit_length())


def _enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    made = np.zeros((size, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def padded(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Text followed by zero bytes, which compiled code may read."""
    made = np.zeros(text.size + PADDING, np.uint8)
    made[: text.size] = text
    return made


@functools.cache
def _kinds(wide: bool) -> NDArray[np.uint8]:
    """For each code point whether it is something else, a small letter, a capital letter or a digit."""
    characters = map(chr, range(1 << 16 if wide else 128))
    return np.array(
        [2 if c.isupper() or c.istitle() else 1 if c.isalpha() else 3 if c.isdigit() else 0 for c in characters],
        np.uint8,
    )


def joined(strings: Sequence[Any], what: str) -> str:
    """Strings, each followed by a zero character."""
    try:
        text = "\0".join(strings) + "\0" if strings else ""
    except TypeError:
        wrong = next(string for string in strings if not isinstance(string, str))
        raise ValueError(f"{what} must be a string; got {wrong!r}. Convert it with str().") from None
    if text.count("\0") > len(strings):
        wrong = next(string for string in strings if "\0" in string)
        raise ValueError(f"{what} must not contain the character NUL; got {wrong!r}. Remove it.")
    return text


class _Column:
    """The distinct strings of a column."""

    def __init__(self, text: str, count: int) -> None:
        from rosenblatt.engine.entries import number_strings

        data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        self.data = padded(data)
        self.numbers = np.empty(count, np.int32)
        slots = np.zeros(_power_of_two(2 * count), np.uint64)
        self.spans = np.empty((count, 2), np.int64)
        self.distinct = int(number_strings(self.data, data.size, slots, self.spans, self.numbers))


def check_sentences(X: Any) -> None:
    """Raise an error if X is not a list of lists."""
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__"):
        advice = "Call list() on it" if isinstance(X, Iterator) else "For one sentence use predict_one or learn_one"
        raise ValueError(f"X must be a list of sentences, each a list of tokens; got {type(X).__name__}. {advice}.")
    for sentence in X:
        if type(sentence) is list:
            continue
        if isinstance(sentence, str | bytes | Mapping) or not hasattr(sentence, "__len__"):
            raise ValueError(
                f"A sentence must be a list of tokens; got {str(sentence)[:60]!r}. Split it into words, or pass a list of "
                "sentences."
            )


def checked_tags(X: Any, y: Any, known: list[Any] | None = None) -> list[Any]:
    """All tags, after a check that each token has one, and that they are of types that can be told apart from `known` ones."""
    check_sentences(X)
    if isinstance(y, str) or not hasattr(y, "__len__") or len(X) != len(y):
        given = len(y) if hasattr(y, "__len__") and not isinstance(y, str) else "no"
        raise ValueError(
            f"y must be a list with one list of tags for each sentence of X; got {len(X)} sentences and {given} lists of tags. "
            "Pass as many as there are sentences."
        )
    found: list[Any] = []
    for place, (sentence, tags) in enumerate(zip(X, y, strict=True)):
        if isinstance(tags, str) or not hasattr(tags, "__len__"):
            raise ValueError(
                f"The tags of sentence {place} must be a list with a tag for each token; got {tags!r}. Split them."
            )
        if len(tags) != len(sentence):
            raise ValueError(
                f"A sentence must have as many tags as tokens; got {len(sentence)} tokens and {len(tags)} tags in sentence "
                f"{place}. Correct this sentence."
            )
        found.extend(tags.tolist() if isinstance(tags, np.ndarray) else tags)
    kinds = set(map(type, found))
    for kind in kinds:
        if not issubclass(kind, str | bool | int | np.integer | np.bool_):
            wrong = next(tag for tag in found if type(tag) is kind)
            raise ValueError(
                f"A tag must be a string, a whole number or a truth value; got {wrong!r}. Convert it with str()."
            )
    truth = [issubclass(kind, bool | np.bool_) for kind in kinds | set(map(type, known or [])) if kind is not str]
    if any(truth) and not all(truth):  # in Python True is equal to 1
        raise ValueError(
            "Tags must not be both whole numbers and truth values, because True is equal to 1; got both. Convert them with "
            "str()."
        )
    return found


def flatten(X: Any) -> tuple[Integers, list[Any]]:
    """The number of the first token of each sentence, and all tokens."""
    check_sentences(X)
    starts = np.zeros(len(X) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, X), np.int64, len(X)), out=starts[1:])
    return starts, list(itertools.chain.from_iterable(X))


def encode(
    X: Any, templates: Templates | None, vocabulary: Vocabulary, add: bool, table: KeyTable | None = None
) -> Batch:
    """Convert sentences to the numbers of their features.

    Parameters
    ----------
    X : list of sentences
        A token is a string, or a sequence with a string for each column; without templates a list of names, or a dict.
    templates : Templates or None
        What to make of the columns.
    vocabulary : Vocabulary
        The known strings.
    add : bool
        Whether to add new strings.
    table : KeyTable, default=None
        With templates: the keys to number the features by, without adding new ones; by default those of the sentences.
    """
    starts, tokens = flatten(X)
    if templates is None:
        return _given(starts, tokens, vocabulary, add)
    count = len(tokens)
    parts = [  # so few tokens that they stay in the cache of the processor from one pass over them to the next
        [joined(column, "A token") for column in split_columns(tokens[begin : begin + _TOGETHER], templates.columns)]
        for begin in range(0, max(count, 1), _TOGETHER)
    ]
    texts = list(map("".join, zip(*parts, strict=True)))
    sources = []
    for name, lower in templates.sources:
        text = texts[templates.columns.index(name)]
        sources.append(_Column(text.lower() if lower else text, count))
    edges = np.array([source.distinct for source in sources], np.int64)
    values = np.zeros((len(templates.shapings), int(edges.max(initial=0)) + 1), np.int32)
    for row, (number, shaping, letters) in enumerate(templates.shapings):
        source = sources[number]
        vocabulary.shape(source.data, source.spans, source.distinct, (shaping, letters), add, values, row)
        values[row, source.distinct] = 0
    numbers = np.stack([source.numbers for source in sources])
    return _extracted(starts, count, templates, numbers, edges, values, vocabulary.mask, table)


def _extracted(
    starts: Integers, count: int, templates: Templates, numbers: Numbers, edges: Integers, values: Numbers, mask: int,
    table: KeyTable | None,
) -> Batch:  # fmt: skip
    from rosenblatt.engine.entries import extract

    add = table is None
    many = len(templates.names)
    keys = KeyTable(64 + min(count * many, 1 << 16)) if table is None else table
    feature_start = np.zeros(count + 1, np.int64)
    feature = np.empty(count * many, np.int32)
    cells = [math.prod(int(edges[source]) + 1 for source in sources) for sources in templates.sources_of]
    direct = [size if size <= _DIRECT * count + 1 else 0 for size in cells]
    places = np.cumsum([0, *direct])
    places[:-1][np.equal(direct, 0)] = -1
    pair = places[:-1], np.full(places[-1], -1, np.int32)
    begin = 0
    while True:
        arrays = keys.slots, keys.keys
        begin = extract(
            templates.table, templates.source_of, starts, numbers, values, edges, pair, arrays, mask, keys.counts, add,
            feature_start, feature, begin,
        )  # fmt: skip
        if begin == starts.size - 1:
            break
        keys.reserve(max(2 * int(keys.counts[0]), int(keys.counts[0] + (starts[begin + 1] - starts[begin]) * many)))
    known = keys.keys[: keys.counts[0]] if add else np.zeros((0, 2), np.uint64)
    return Batch(starts, feature_start, feature[: feature_start[-1]], _NO_VALUES, known)


def split_columns(tokens: list[Any], columns: tuple[str, ...]) -> list[Sequence[str]]:
    """The strings of each column."""
    if not tokens:
        return [[] for _ in columns]
    kinds = set(map(type, tokens))
    if len(columns) == 1 and kinds == {str}:
        return [tokens]
    if str not in kinds and not any(issubclass(kind, Mapping) for kind in kinds):
        try:  # `zip(*tokens)` makes an object for each token, which starts the garbage collector again and again
            if set(map(len, tokens)) == {len(columns)}:
                return [list(map(operator.itemgetter(k), tokens)) for k in range(len(columns))]
        except (TypeError, KeyError, IndexError):
            pass
    many = len(columns)
    wrong = next(
        (t for t in tokens if isinstance(t, str | Mapping) or not hasattr(t, "__len__") or len(t) != many), tokens[0]
    )
    allowed = "a string" if many == 1 else f"a tuple of {many} strings ({', '.join(columns)})"
    raise ValueError(
        f"A token must be {allowed}; got {str(wrong)[:60]!r}. Pass templates=None if your "
        "tokens are dicts or lists of features, or name their columns with `columns`."
    )


def _given(starts: Integers, tokens: list[Any], vocabulary: Vocabulary, add: bool) -> Batch:
    """Features that the user has named."""
    value = _NO_VALUES
    names: list[str]
    if any(
        issubclass(kind, Mapping | str | set | frozenset) or not hasattr(kind, "__len__")
        for kind in set(map(type, tokens))
    ):
        pairs = [list(_named(token)) for token in tokens]
        names = [name for token in pairs for name, _ in token]
        value = np.array([number for token in pairs for _, number in token], dtype=np.float64)
        lengths = map(len, pairs)
        if (value == 1.0).all():
            value = _NO_VALUES
    else:
        names = list(itertools.chain.from_iterable(tokens))
        lengths = map(len, tokens)
    feature_start = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(tokens)), out=feature_start[1:])
    column = _Column(joined(names, "A feature"), len(names))
    values = np.empty((1, column.distinct), np.int32)
    vocabulary.shape(column.data, column.spans, column.distinct, (Shaping.WHOLE, 0), add, values, 0)
    numbers, distinct, code = column.numbers, values[0], int(Chain.GIVEN)
    if vocabulary.bits is not None:  # names with the same hash are one feature
        distinct, places = np.unique(distinct & np.int32(vocabulary.mask), return_inverse=True)
        numbers, distinct, code = places.astype(np.int32)[numbers], distinct + np.int32(1), HASHED
    keys = np.zeros((distinct.size + 1, 2), np.uint64)
    keys[1:, 0] = np.uint64(code << 32) | distinct.view(np.uint32)
    return Batch(starts, feature_start, numbers + np.int32(1), value, keys)


def _named(token: Any) -> Iterable[tuple[str, float]]:
    """Names and values of the features of one token, as CRFsuite's Python interface makes them from dicts."""
    if isinstance(token, Mapping):
        for name, value in token.items():
            yield from _entry(str(name), value)
    elif isinstance(token, str) or not hasattr(token, "__iter__"):
        raise ValueError(
            f"A token must be a dict or a list of features when `templates` is None; got {str(token)[:60]!r}. Pass "
            "templates='words' if your tokens are words."
        )
    else:
        for name in sorted(token) if isinstance(token, set | frozenset) else token:
            yield name, 1.0


def _entry(name: str, value: Any) -> Iterable[tuple[str, float]]:
    if isinstance(value, str):
        yield f"{name}:{value}", 1.0
    elif isinstance(value, Mapping):
        for inner, number in value.items():
            yield from _entry(f"{name}:{inner}", number)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in sorted(value) if isinstance(value, set | frozenset) else value:
            yield f"{name}:{inner}", 1.0
    else:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not abs(number) <= _LARGEST:
            raise ValueError(
                "The value of a feature must be a string, a number between -1e100 and 1e100, a truth value, or a list or dict of "
                f"these; got {value!r} for `{name}`. Leave the feature out where its value is missing."
            )
        if number != 0.0:
            yield name, number


def feature_name(key: tuple[int, int], vocabulary: Vocabulary, templates: Templates | None) -> str:
    """The name of a feature, such as ``word[-1]=the`` or ``pos[0]|pos[1]=DT|NN``."""
    a, b = key
    code = a >> 32
    if code == HASHED:
        return f"#{(a & 0xFFFFFFFF) - 1}"
    if code == Chain.GIVEN or templates is None:
        return vocabulary.string(a & 0xFFFFFFFF)
    row = templates.table[code - Chain.TEMPLATES]
    numbers = [a & 0xFFFFFFFF, b >> 32, b & 0xFFFFFFFF][: int(row[0])]
    name = templates.names[code - Chain.TEMPLATES]
    strings = ["(outside)" if number == 0 else vocabulary.string(number) for number in numbers]
    return f"{name}={'|'.join(strings)}" if strings else name
