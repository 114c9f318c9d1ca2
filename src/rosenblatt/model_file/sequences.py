"""Conversion of models of sequences to plain values and back: only features that have weights, in the smallest exact type.

Strings and features are sorted, so the file depends only on the weights and not on the order in which features were met.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import Chain, Shaping
from rosenblatt.sequences.encoding import HASHED, Vocabulary, keys_of, number_of_strings, padded, parts_of
from rosenblatt.sequences.model import ROWS, TAGS, SequenceModel
from rosenblatt.sequences.templates import parse

from .cores import _array, _check
from .tree import BadModel

Values = dict[str, Any]

_KINDS = ("i1", "i2", "i4", "f4")
_LOW = 0xFFFFFFFF
_MOST = 1 << 31
BITS = range(1, 29)


def sequence_values(model: SequenceModel) -> Values:
    """Convert a model of sequences to plain values."""
    rows, tags = int(model.counts[ROWS]), len(model.tags)
    arrays = {"w": model.w[:rows, :tags], "u": model.u[:rows, :tags]}
    used = (arrays["w"] != 0) | (arrays["u"] != 0)
    if model.second_order:
        arrays["sigma"] = model.sigma[:rows, :tags]
        used |= arrays["sigma"] != 1
    kept = np.flatnonzero(used.any(axis=1))
    keys = model.table.keys[kept]
    codes, parts = parts_of(keys)
    strings = number_of_strings(codes, model.templates)
    named = np.arange(3) < strings[:, None]
    wanted, numbers = np.unique(parts[named], return_inverse=True)
    ends, store = model.vocabulary.ends, model.vocabulary.store.tobytes()
    text = [store[ends[k] : ends[k + 1]] for k in wanted.tolist()]
    order = sorted(range(len(text)), key=text.__getitem__)
    ranks = np.empty(len(text), np.int64)
    ranks[order] = np.arange(len(text))
    parts[named] = ranks[numbers]
    text = [text[k] for k in order]
    named[:, 0] |= (codes == Chain.TRANSITION) | (codes == HASHED)
    inner = np.lexsort((parts[:, 2], parts[:, 1], parts[:, 0], codes))
    kept, codes, parts, named = kept[inner], codes[inner], parts[inner], named[inner]
    used = used[kept]
    return {
        "params": tuple(model.params),
        "bits": model.vocabulary.bits,
        "templates": None if model.templates is None else list(model.templates.names),
        "columns": None if model.templates is None else list(model.templates.columns),
        "tags": list(model.tags),
        "counts": np.concatenate([[kept.size + 1], model.counts[1:]]),
        "sums": model.sums,
        "text": np.frombuffer(b"".join(text), np.uint8),
        "lengths": _narrow(np.array([len(string) for string in text], np.int64)),
        "codes": _narrow(codes),
        "parts": _narrow(parts[named]),
        "entries": _narrow(used.sum(axis=1)),
        "columns_of_entries": _narrow(np.nonzero(used)[1]),
        **{name: _narrow(array[kept][used]) for name, array in arrays.items()},
    }


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the smallest type that holds them exactly."""
    for kind in _KINDS:
        with np.errstate(all="ignore"):
            made = array.astype(kind)
            if (made.astype(array.dtype) == array).all() and (kind != "i4" or np.abs(array).max(initial=0) < _MOST):
                return made
    return array


def _whole(value: Any, what: str, size: int | None, most: int) -> NDArray[np.int64]:
    """Check whole numbers from 0 to `most`."""
    array = _array(value, what, "i", (size,)).astype(np.int64)
    _check(array.size == 0 or (array.min() >= 0 and array.max() <= most), what)
    return array


def sequence_from_values(values: Values, step: Callable[..., Any], params: tuple[float, ...]) -> SequenceModel:
    """Create a model of sequences from its values; `step` and `params` are those of its rule."""
    names, columns, tags = values["templates"], values["columns"], values["tags"]
    _check(names is None or all(isinstance(name, str) for name in [*names, *columns]), "the list of templates")
    templates = None if names is None else parse(names, columns)
    _check(values["params"] == params, "the numbers of the rule")
    bits = values.get("bits")
    _check(bits is None or (type(bits) is int and bits in BITS), "the number of bits")
    model = SequenceModel(step, params, templates, bits)
    _check(isinstance(tags, list) and all(isinstance(tag, str | int) for tag in tags), "the list of tags")
    model.codes(tags)
    _check(len(model.tags) == len(tags) <= 1 << 20, "the list of tags")

    lengths = _whole(values["lengths"], "the lengths of the strings", None, 1 << 40)
    text = _array(values["text"], "the strings", "u", (int(lengths.sum()),))
    _check(text.dtype == np.uint8, "the strings")
    place = _numbered(model.vocabulary, text, lengths)
    most_codes = Chain.TEMPLATES + (0 if templates is None else len(templates.names)) - 1
    codes = _whole(values["codes"], "the list of features", None, most_codes)
    _check(((codes == Chain.TRANSITION) | ((codes == HASHED) == (bits is not None))).all(), "the list of features")
    strings = number_of_strings(codes, templates)
    named = np.arange(3) < strings[:, None]
    hashed = codes == HASHED
    named[:, 0] |= (codes == Chain.TRANSITION) | hashed
    flat = _whole(values["parts"], "the list of features", int(named.sum()), _LOW)
    parts = np.zeros((codes.size, 3), np.int64)
    parts[named] = flat
    string = np.arange(3) < strings[:, None]
    _check((parts[string] < lengths.size).all(), "the list of features")
    _check((parts[~hashed][~string[~hashed]] <= len(tags)).all(), "the list of features")
    _check(
        not hashed.any() or 1 <= parts[hashed, 0].min() <= parts[hashed, 0].max() <= model.vocabulary.mask + 1,
        "the list of features",
    )
    parts[string] = place[parts[string]]

    entries = _whole(values["entries"], "the number of weights", codes.size, len(tags))
    total = int(entries.sum())
    column = _whole(values["columns_of_entries"], "the tags of the weights", total, max(0, len(tags) - 1))
    row = np.repeat(np.arange(1, codes.size + 1), entries)
    model.reserve(codes.size + 1, len(tags))
    keys = model.table.keys
    keys[1 : codes.size + 1] = keys_of(codes, parts)
    _check(np.unique(keys[1 : codes.size + 1], axis=0).shape[0] == codes.size, "the list of features")
    for name in ("w", "u", "sigma") if model.second_order else ("w", "u"):
        getattr(model, name)[row, column] = _array(values[name], "the weights", values[name].dtype.kind, (total,))
        _check(values[name].dtype.kind in "if" and np.isfinite(getattr(model, name)).all(), "the weights")
    counts = _whole(values["counts"], "the counts", model.counts.size, 1 << 62)
    _check(counts[TAGS] == len(tags), "the counts")
    model.counts[:] = counts
    model.counts[ROWS] = codes.size + 1
    model.sums[:] = _array(values["sums"], "the sums", "f", model.sums.shape)
    chained = np.flatnonzero(codes == Chain.TRANSITION)
    model.previous[parts[chained, 0]] = chained + 1
    model.table.fill()
    return model


def _numbered(vocabulary: Vocabulary, text: NDArray[np.uint8], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add the strings of a file; return their numbers."""
    try:
        bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise BadModel("the strings are not valid") from error
    spans = np.zeros((lengths.size, 2), np.int64)
    spans[:, 1] = lengths
    spans[1:, 0] = np.cumsum(lengths)[:-1]
    values = np.zeros((1, lengths.size), np.int32)
    vocabulary.shape(padded(text), spans, lengths.size, (Shaping.WHOLE, 0), True, values, 0)
    return np.asarray(values[0], dtype=np.int64)
