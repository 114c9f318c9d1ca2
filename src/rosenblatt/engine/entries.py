"""The compiled functions that Python calls, by name, and the types of arguments for which the library has machine code.

A name is looked up when it is first imported from here: in the library if one is loaded, else in the module of the engine that
defines it, which imports Numba. So this module lists all that a library contains, and nothing else imports a compiled module.

A signature has one letter for each argument: ``q`` for int64, ``d`` for float64, ``?`` for a truth value; an array has the letter
of its elements and its number of dimensions (``i`` int32, ``f`` float32, ``B`` uint8, ``I`` uint32, ``Q`` uint64); a tuple is in
parentheses, with its name in front if it is a named one. Capitals stand for several types:

========  ==============================================================
``V``     float64 or float32, the same in the whole signature
``X``     the examples: an array of V, or a `CSR` of V with int32 or int64 indices
``W``     the weights: a vector or a matrix of V
``O``     int32 or int64
========  ==============================================================

``V=d`` in front restricts V to float64.
"""

import functools
from importlib import import_module
from typing import Any, NamedTuple

from .native import LIBRARY

TOKENS = "Tokens(i1i1q1i1Q1d1B1q1)"
_TASK, _SLOTS = "(d2q1d1qq)", "(q1d2qq)"
_ROWS = "(d1I1q1q1?)"
_FEATURES, _WORK = "(q1i1d1i1)", "(d2d2d2)"

KINDS = ("Additive", "Penalized", "Scaled", "Diagonal", "Full", "Committee")

PASSES = {
    "rows": "q W X q1 d1 q1",
    "averaged": "V=d q W X q1 d1 q1 q1",
    "dense": "q W V1 q d",
    "sparse": "q W q q q q d",
    "records": "q W q1 q1 q q1 q1",
}

ENTRIES: dict[str, tuple[str, str]] = {
    "check_csr": ("rows", "q1 O1 q q q"),
    "score_two": ("readouts", "V1 d1 X q1 d1"),
    "score_many": ("readouts", "V2 d1 X q1 d2"),
    "guess_two": ("readouts", "V1 d1 q q q"),
    "guess_many": ("readouts", "V2 d1 q q q"),
    "sparse_products": ("readouts", "q1 O1 V1 q1 O1 V1 V2"),
    "vote_two": ("readouts", "d2 q1 d2 d1 d d2 d2"),
    "vote_many": ("readouts", "d2 q1 d2 d1 d ? d2 d2"),
    "add_difference": ("mixing", "d1 d V1 V1"),
    "collect": ("mixing", "d1 d V1 V1 d1 d d1"),
    "add_packed": ("mixing", "d1 O1 d1"),
    "add_words": ("text.tokens", f"B1 i1 Q1 B1 q q q2 {TOKENS}"),
    "add_characters": ("text.tokens", f"B1 i1 Q1 B1 q q q {TOKENS}"),
    "add_categories": ("text.tokens", f"B1 i1 Q1 B1 q {TOKENS}"),
    "add_numbers": ("text.tokens", f"d1 B1 q {TOKENS}"),
    "room_to_cross": ("text.tokens", f"{TOKENS} q1 q1 q q ?"),
    "cross": ("text.tokens", f"{TOKENS} q1 q1 q q ? {TOKENS}"),
    "arrange": ("text.tokens", "i1 q q1 q1"),
    "slot_of": ("text.tokens", "B1 q q Q1 q1 B1 q"),
    "rehash": ("text.tokens", "Q1 q1 B1 q"),
    "add_names": ("text.tokens", "q1 B1 q Q1 q1 B1 q i1 q"),
    "find_tokens": ("text.tokens", f"{TOKENS} q1 q1 Q1 q1 B1 q q q1 i1 d1 q1 q1"),
    "number_tokens": ("text.tokens", f"{TOKENS} q1 q1 Q1 q1 B1 q q1 i1 d1 q"),
    "number_rows": ("text.weights", "d2 i1 q1 i1 d1"),
    "renumber": ("text.weights", "i1 i1"),
    "tidy_rows": ("text.weights", "q1 i1 d1 i1 d1 q1"),
    "add_rows": ("text.weights", "q1 i1 d1 q1 i1 d1 q1 i1 d1"),
    "count_documents": ("text.weights", "q1 i1 q1 q1"),
    "weigh_words": ("text.weights", "q1 i1 d1 q1 q1 ?"),
    "parse_vw": ("text.vw", f"B1 q {TOKENS} d1 d1 q2 q2 B1 q1 q1"),
    "parse_svmlight": ("text.svmlight", "B1 q q1 i1 d1 d1 q2 q1 q1"),
    "parse_json": ("text.json_lines", "B1 q Q1 q1 B1 q1 q B1 q2 d2 B2 i2 q1 q2 q1"),
    "last_record": ("text.tables", "B1 q q"),
    "label_codes": ("text.tables", "d1 d1 q q1 q1 q"),
    "standardize": ("text.tables", "d2 d1 d1 d1 ?"),
    "learn_block": ("dual", "d2 d2 q1 d1 q q q1 d2 d2"),
    "power": ("dual", "V2 d d q d2"),
    "vote_signs": ("dual", "d2 q1 d2 d1 d2"),
    "vote_classes": ("dual", "d2 q1 d2 d1 d2"),
    "learn_random": ("dual", f"{_TASK} {_SLOTS} d1"),
    "learn_forgetron": ("dual", f"{_TASK} {_SLOTS} d2 d1 q1 d1"),
    "learn_projectron": ("dual", f"{_TASK} {_SLOTS} d d2 d1"),
    "perceptron": ("separation", f"{_ROWS} q d2"),
    "lowest": ("separation", f"{_ROWS} d2"),
    "combine": ("separation", f"{_ROWS} q1 q d1 d2"),
    "take_in": ("separation", f"{_ROWS} d q1 q d2 (d2d2)"),
    "fill_slots": ("sequences", "Q1 Q2 q"),
    "find_rows": ("sequences", "Q1 Q2 Q2 q i1"),
    "tag_sentences": ("sequences", f"(d2d2) d q i1 q1 {_FEATURES} i1 {_WORK}"),
    "score_tokens": ("sequences", f"(d2d2) d q i1 {_FEATURES} q {_WORK}"),
    "sentence_margins": ("sequences", f"(d2d2) d q i1 q1 {_FEATURES} i1 d1 {_WORK}"),
    "learn_sentences": (
        "sequences",
        f"(d2d2d2) (Q1Q2i1) q1 d1 (qd1?) q1 {_FEATURES} Q2 i1 q1 q i1 {_WORK} (i1i1d2)",
    ),
    "number_strings": ("text.templates", "B1 q Q1 q2 i1"),
    "shape_strings": ("text.templates", "B1 q2 q q q B1 (Q1q1B1) q1 ? ? B1 i2 q"),
    "extract": ("text.templates", "q2 q1 q1 i2 i2 q1 (q1i1) (Q1Q2) q q1 ? q1 i1 q"),
    "settle": ("separation", f"{_ROWS} d ? d q1 d1 q d2 (d2d2) d2"),
}
"""Functions by name: the module of the engine that defines each, and its signature."""

for _kind in KINDS:
    for _form, _signature in PASSES.items():
        if (_kind, _form) == ("Committee", "averaged"):
            continue  # a committee keeps no average
        # The weights of a committee are a matrix, with a column for each perceptron.
        ENTRIES[f"{_kind}_{_form}"] = "loop", _signature.replace("W", "V2") if _kind == "Committee" else _signature


def source(name: str) -> Any:
    """The function of the engine that Numba compiles on its first call."""
    try:
        module = import_module(f"rosenblatt.engine.{ENTRIES[name][0]}")
        import_module("rosenblatt.engine.compiling").announce()
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        raise ModuleNotFoundError(
            "rosenblatt has no compiled library that runs on this machine, and Numba, which can compile its functions, is not "
            "installed. Install Numba with: pip install 'rosenblatt[rules]'",
            name=error.name,
        ) from error
    if name.partition("_")[0] in KINDS:
        kind, form = name.split("_")
        return getattr(module.passes_of(getattr(module, kind)), form)
    return getattr(module, name)


def __getattr__(name: str) -> Any:
    if name not in ENTRIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = LIBRARY.bind(name, functools.partial(_otherwise, name)) or source(name)
    globals()[name] = found
    return found


def _otherwise(name: str, *arguments: Any) -> Any:
    """Call a function with types of arguments that the library has no machine code for."""
    LIBRARY.missing(name, arguments)
    return source(name)(*arguments)


class Passes(NamedTuple):
    """The compiled functions of a kind of rules.

    All take the address of the record of a run and its weights, then the arguments below.

    Attributes
    ----------
    rows
        ``X, y, weight, order``: learn rows of X in this order; return the reason for returning.
    averaged
        ``X, y, weight, order, guesses``: predict each row with the average so far, then learn it; return the same. None for a
        committee.
    dense
        ``x, label, importance``: learn one example; return the class predicted before, or a negative reason.
    sparse
        ``indices, values, count, label, importance``: the same by the addresses of the entries.
    records
        ``columns, counts, values, labels, guesses``: the same for many examples by their addresses; return the number learned
        before the first negative guess.
    """

    rows: Any
    averaged: Any
    dense: Any
    sparse: Any
    records: Any


@functools.cache
def passes_of(kind: type) -> Passes:
    """The compiled functions of a kind of rules, one of the classes of states."""
    module = import_module(__name__)
    names = (f"{kind.__name__}_{form}" for form in PASSES)
    return Passes(*(getattr(module, name) if name in ENTRIES else None for name in names))
