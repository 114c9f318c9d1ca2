"""Collect the classes and features of all shards and create the common model before the first epoch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.model.linear import Model, kind_of_label

from ._epochs import Recipe
from ._shards import Facts
from ._sources import Source


def new_model(estimator: Any, facts: Sequence[Facts], classes: list[Any], width: int) -> tuple[Model, Recipe]:
    """The client's model, and the recipe for the models on the workers."""
    dtype = "float32" if all(fact.dtype == "float32" for fact in facts if fact.examples) else "float64"
    model = estimator._new_model(width, dtype)
    model.add_class(*classes)
    return model, Recipe.of(model)


def can_be_mixed(estimator: Any) -> bool:
    """Whether runs of this estimator, or of this class of estimators, can be mixed."""
    readout = getattr(estimator, "readout", getattr(estimator, "_readout", "last"))
    return hasattr(estimator, "_rule") and hasattr(estimator, "partial_fit") and readout != "vote"


def check_mixable(estimator: Any) -> None:
    """Refuse learners whose runs cannot be mixed."""
    if not can_be_mixed(estimator):
        name = type(estimator).__name__
        votes = hasattr(estimator, "_rule") and hasattr(estimator, "partial_fit")
        raise ValueError(
            f"Only an online linear learner that keeps weights can be trained on shards, such as Perceptron, "
            f"AveragedPerceptron, PassiveAggressive, AROW or a rule of your own; got {name}. "
            + ("AveragedPerceptron is close to a vote." if votes else "Choose one of them.")
        )
    if getattr(estimator, "penalty", None) is not None:
        raise ValueError(
            f"`penalty` of {type(estimator).__name__} on shards must be None, because runs with a penalty cannot be mixed; got "
            f"{estimator.penalty!r}. Leave it out, or train on one machine."
        )


def joined_classes(facts: Sequence[Facts]) -> tuple[list[Any], dict[Any, int]]:
    """All labels, sorted, and the number of examples of each."""
    counts: dict[Any, int] = {}
    kinds: dict[str, str] = {}
    for fact in facts:
        for label, count in zip(fact.labels, fact.counts, strict=True):
            kinds.setdefault(kind_of_label(label), fact.place)
            counts[label] = counts.get(label, 0) + count
    if len(kinds) > 1:
        places = " and ".join(f"{kind}s in {place}" for kind, place in kinds.items())
        raise ValueError(
            f"The labels must all be of one type, such as strings or integers; got {places}. Convert them, for instance with "
            "str(label)."
        )
    return sorted(counts), counts


def joined_features(facts: Sequence[Facts], source: Source) -> tuple[int, list[Any], list[str] | None]:
    """Number of features, the feature numbers of each shard, and all feature names if the shards numbered them."""
    if any(fact.names is not None for fact in facts):
        encoder = source.encoder
        known: dict[str, int] = {} if encoder is None else dict.fromkeys(encoder.vocabulary.names(), 0)
        known = {name: number for number, name in enumerate(known)}
        started = len(known)
        columns = []
        for fact in facts:
            own = [known.setdefault(name, len(known)) for name in fact.names or []]
            columns.append(np.array([*range(started), *own], np.int32))
        return len(known), columns, list(known)
    if source.encoder is not None:
        return max(fact.width for fact in facts), [None] * len(facts), None
    filled = [fact for fact in facts if fact.examples] or list(facts)
    first = filled[0]
    for fact in filled:
        if fact.columns != first.columns and first.columns is not None:
            raise ValueError(
                f"All partitions must have the same columns; {first.place} has {few(first.columns)}, {fact.place} has "
                f"{few(fact.columns)}. Give them the same ones in the same order."
            )
        if fact.width != first.width:
            raise ValueError(
                f"All shards must have the same number of features; {first.place} has {first.width}, {fact.place} has "
                f"{fact.width}. Pad the matrices to a common width, or use files or dicts, which grow."
            )
        if fact.sparse != first.sparse:
            raise ValueError(
                f"All shards must be dense or all sparse; {first.place} is {'sparse' if first.sparse else 'dense'}, "
                f"{fact.place} is not. Convert one kind into the other."
            )
    return first.width, [None] * len(facts), None


def joined_columns(facts: Sequence[Facts]) -> list[str] | None:
    """Column names of data frames; frames without rows are ignored if possible."""
    return next((fact.columns for fact in facts if fact.examples), facts[0].columns)


def known_features(names: frozenset[str], pairs: Any) -> list[Any]:
    """Remove features that no training shard has from the examples of a bag; runs as a task."""
    kept = []
    for pair in pairs:
        if isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], dict):
            pair = ({name: value for name, value in pair[0].items() if str(name) in names}, pair[1])  # noqa: PLW2901
        kept.append(pair)
    return kept


def few(names: Sequence[str] | None) -> str:
    """The first six names, for a message."""
    names = list(names or [])
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
