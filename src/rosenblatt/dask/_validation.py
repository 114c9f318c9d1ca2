"""Validation examples of the user for early stopping: matched by feature names and evaluated after every epoch."""

import dataclasses
import functools
import os
import warnings
from typing import Any, cast

import numpy as np

from rosenblatt.data import Encoder, open_stream
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.scores import predicted_classes
from rosenblatt.training.evaluation import describe_strangers

from ._agreement import few, joined_classes, joined_features, known_features
from ._data import Data
from ._epochs import Judgement
from ._internals import kind_of_collection
from ._sources import make_source
from ._training import Trainer


def feature_names(estimator: Any, encoder: Encoder | None) -> list[str] | None:
    """Names of the features; None if they only have numbers."""
    if encoder is None:
        names = getattr(estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]
    return None if encoder.family == "numbered" or encoder.bits is not None else encoder.names()


def examples_to_decide_by(
    cluster: Any, validation: Any, trainer: Trainer, encoder: Encoder | None, names: list[str] | None
) -> Any:
    """Prepare a user's validation examples; all checks are made before the first epoch."""
    trainer.schedule = dataclasses.replace(trainer.schedule, holdout=0.0)
    if isinstance(validation, str | os.PathLike) or (
        isinstance(validation, list) and all(isinstance(name, str | os.PathLike) for name in validation)
    ):
        if encoder is None:
            raise ValueError(
                "`validation` may be files only if training also reads files; got files with training arrays. Pass (X, y)."
            )
        frozen = Encoder.from_json(encoder.to_json())
        frozen.freeze()
        stream = open_stream(cast("Any", validation), encoder=frozen)
        for _ in stream:  # read once before the first epoch
            pass
        _check_labels(stream.labels, trainer)
        return functools.partial(_judge_files, validation, frozen)
    if kind_of_collection(validation) == "bag":
        validation = validation, None
    if not isinstance(validation, tuple) or len(validation) != 2:
        raise ValueError(
            f"`validation` must be a pair (X, y), a bag or files; got a {type(validation).__name__}. Pass one of these."
        )
    X, y = validation
    if names is not None and hasattr(X, "columns"):
        X = _by_name(X, y, names)
    if kind_of_collection(X):
        if names is not None and kind_of_collection(X) == "bag":
            X = X.map_partitions(functools.partial(known_features, frozenset(names)))
        data = Data(cluster, make_source(cluster, X, y))
        facts = data.load()
        width, columns, own = joined_features(facts, data.source)
        if own is not None:
            if names is None:
                raise ValueError(
                    "`validation` may be a bag of dicts only if the features of the shards have names; got one with shards of "
                    "numbered columns. Pass rows of numbers."
                )
            place = {name: number for number, name in enumerate(names)}
            columns = [np.array([place[name] for name in fact.names or []], np.int32) for fact in facts]
            width = len(names)
        _check_width(width, trainer)
        _check_labels(joined_classes(facts)[0], trainer)
        data.settle(trainer.model.classes, columns, width, trainer.recipe.dtype, None)
        return data
    if isinstance(y, str) and hasattr(X, "columns"):
        X, y = X.drop(columns=y), X[y]
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    X = X if hasattr(X, "tocsr") else np.asarray(X)
    _check_width(X.shape[1] if X.ndim == 2 else 0, trainer)
    labels = np.ravel(np.asarray(y)).tolist()
    if X.shape[0] != len(labels):
        raise ValueError(
            f"X and y of `validation` must have the same number of rows; got {X.shape[0]} and {len(labels)}. Align them."
        )
    _check_labels(list(dict.fromkeys(labels)), trainer)
    known = trainer.model.class_number
    codes = np.array([known.get(label, -1) for label in labels], np.int64)
    return functools.partial(_judge_here, Table(X, trainer.recipe.dtype), codes)


def _check_width(width: int, trainer: Trainer) -> None:
    if width != trainer.model.n_features:
        raise ValueError(
            f"The validation examples must have the features of the shards, {trainer.model.n_features}; got {width}. Prepare "
            "both in the same way."
        )


def _by_name(X: Any, y: Any, names: list[str]) -> Any:
    """The columns of a frame in the order of the shards' columns."""
    label = [y] if isinstance(y, str) and y in X.columns else []
    own = {str(name): name for name in X.columns if name not in label}
    if own.keys() != set(names):
        raise ValueError(
            f"The validation examples must have the columns of the shards, {few(names)}; got {few(list(own))}. Prepare both in "
            "the same way."
        )
    return X[[own[name] for name in names] + label]


def _check_labels(labels: list[Any], trainer: Trainer) -> None:
    """Raise if no validation label occurs in the shards; warn if some do not."""
    classes = list(trainer.model.classes)
    strangers = [label for label in labels if label not in trainer.model.class_number]
    if len(strangers) == len(labels):
        got = few([repr(label) for label in labels]) or "none"
        raise ValueError(
            f"The validation examples must have labels of the shards, {few([repr(label) for label in classes])}; got {got}. "
            "Prepare both in the same way."
        )
    if strangers:
        warnings.warn(
            f"In `validation` {describe_strangers([*classes, *strangers], classes)}", UserWarning, stacklevel=4
        )


def _wrong(scores: Any, codes: Any) -> Judgement:
    return Judgement(int(codes.size), int((predicted_classes(scores) != codes).sum()))


def _judge_here(table: Table, codes: Any, model: Model) -> Judgement:
    return _wrong(model.scores(table), codes)


def _judge_files(paths: Any, encoder: Encoder, model: Model) -> Judgement:
    result = Judgement()
    stream = open_stream(paths, encoder=encoder)
    for batch in stream:
        known = np.array(
            [model.class_number.get(label, len(model.classes)) for label in stream.labels] + [-1], np.int64
        )
        kept = np.flatnonzero(batch.codes >= 0)
        part = _wrong(model.scores(batch.table(model.n_features, model.dtype))[kept], known[batch.codes[kept]])
        result = Judgement(result.examples + part.examples, result.mistakes + part.mistakes)
    return result
