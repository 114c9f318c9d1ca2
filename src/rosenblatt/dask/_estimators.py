"""The estimators whose `fit` runs on a cluster."""

import dataclasses
import functools
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rosenblatt.estimators.checks import as_before_on_failure
from rosenblatt.learners import (
    alma,
    arow,
    averaged_perceptron,
    classes,
    margin_perceptron,
    parallel_perceptron,
    passive_aggressive,
    perceptron,
    romma,
    second_order_perceptron,
    soft_confidence_weighted,
    winnow,
)

from ._agreement import can_be_mixed
from ._fit import train
from ._internals import example_of, kind_of_collection
from ._sources import check_column, in_blocks_of


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterFit:
    """The `fit` of an estimator on a Dask cluster; stands before the estimator for one machine among the bases.

    Parameters
    ----------
    mixing : {"uniform", "mistakes", "examples"}, default="uniform"
        What a shard's weights count by in the mixture.
    shards : int or None, default=None
        How many shards to make of an array or of files; partitions of Dask's collections are shards as they are.
    """

    mixing: str = "uniform"
    shards: int | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        reading: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn from shards, for as many epochs as it takes.

        Parameters
        ----------
        X, y, coef_init, intercept_init, sample_weight, validation, client, checkpoint, reading, progress
            As in `rosenblatt.dask.train`.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            train(
                self, X, y, coef_init, intercept_init, sample_weight, validation=validation, client=client, mixing=self.mixing,
                shards=self.shards, checkpoint=checkpoint, reading=reading, progress=progress,
            )  # fmt: skip
        return self

    def to_local(self) -> Any:
        """The same model as an estimator for one machine, which is what `save` writes."""
        learner = next(base for base in type(self).__mro__ if base.__module__.startswith("rosenblatt.learners."))
        own = {field.name for field in dataclasses.fields(ClusterFit)}
        estimator = learner(**{name: value for name, value in vars(self).items() if name in _names(learner)})
        vars(estimator).update({n: v for n, v in vars(self).items() if n not in own and n not in _names(learner)})
        return estimator

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; `rosenblatt.load` reads it as an estimator for one machine."""
        self.to_local().save(path)

    def predict(self, X: Any) -> Any:
        """The classes; of a Dask array or dataframe as a Dask collection, block by block."""
        return self._blockwise("predict", X)

    def decision_function(self, X: Any) -> Any:
        """The scores; of a Dask array or dataframe as a Dask collection, block by block."""
        return self._blockwise("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of examples that are predicted rightly; of a Dask dataframe y may name the column of the labels."""
        if isinstance(y, str) and hasattr(X, "columns"):
            check_column(X, y)
            X, y = X.drop(columns=[y]), X[y]
        guess = self.predict(X)
        given = [guess, y] if sample_weight is None else [guess, y, sample_weight]
        if all(map(kind_of_collection, given)):
            return _share(guess, in_blocks_of(guess, "y", y), in_blocks_of(guess, "sample_weight", sample_weight))
        from sklearn.metrics import accuracy_score

        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(accuracy_score(np.asarray(y), np.asarray(guess), sample_weight=weights))

    def _blockwise(self, method: str, X: Any) -> Any:
        estimator = self.to_local()
        kind = kind_of_collection(X)
        if not kind:
            return getattr(estimator, method)(X)
        if kind not in ("array", "dataframe"):
            raise ValueError(
                f"X must be a Dask array or dataframe, or an array here; got a {type(X).__name__}. The items of a bag are "
                "predicted by bag.map(model.to_local().predict_one)."
            )
        example = np.zeros((1, X.shape[1]), X.dtype) if kind == "array" else example_of(X)
        example = np.asarray(getattr(estimator, method)(example))
        work = functools.partial(_call, method, estimator, example[:0])
        if kind == "array":
            drop = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (X.chunks[0], (example.shape[1],))}
            whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            return whole.map_blocks(work, dtype=example.dtype, **drop)
        return X.map_partitions(work, meta=example[:0])


def _call(method: str, estimator: Any, nothing: Any, X: Any) -> Any:
    return getattr(estimator, method)(X) if X.shape[0] else nothing


def _share(guess: Any, y: Any, weights: Any) -> float:
    """The share of the weight that was guessed rightly, block by block."""
    import dask

    columns = [values.to_delayed().ravel() for values in (guess, y, weights) if values is not None]
    tallies = dask.compute(*(dask.delayed(_tally)(*blocks) for blocks in zip(*columns, strict=True)))
    right, total = np.sum(tallies, axis=0)
    if total == 0:
        raise ValueError("A score needs examples whose weights are not all 0; got none. Check X and sample_weight.")
    return float(right / total)


def _tally(guess: Any, y: Any, weights: Any = None) -> tuple[float, float]:
    weights = np.ones(guess.shape[0]) if weights is None else np.asarray(weights)
    for name, values in (("y", y), ("sample_weight", weights)):
        if values.shape[0] != guess.shape[0]:
            raise ValueError(
                f"X and {name} must have the same number of rows; a partition has {guess.shape[0]} and {values.shape[0]}. Align "
                "the partitions."
            )
    return float(((guess == np.asarray(y)) * weights).sum()), float(weights.sum())


def _names(learner: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(learner)}


@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(ClusterFit, perceptron.Perceptron):
    """The perceptron on shards: its mistakes, weighted as the shards are mixed, are at most (R / γ)²."""


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedPerceptron(ClusterFit, averaged_perceptron.AveragedPerceptron):
    """The averaged perceptron on shards: every weight vector that judged an example counts once, whatever its shard."""


@dataclass(kw_only=True, eq=False, repr=False)
class MarginPerceptron(ClusterFit, margin_perceptron.MarginPerceptron):
    """The perceptron with a margin, on shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressive(ClusterFit, passive_aggressive.PassiveAggressive):
    """Passive-aggressive learning on shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class Winnow(ClusterFit, winnow.Winnow):
    """Winnow on shards; the logarithms of the weights are mixed, so that a mixture is one of Winnow's own steps."""


@dataclass(kw_only=True, eq=False, repr=False)
class ALMA(ClusterFit, alma.ALMA):
    """The approximate large margin algorithm on shards; the number of steps is mixed as the weights are."""


@dataclass(kw_only=True, eq=False, repr=False)
class ROMMA(ClusterFit, romma.ROMMA):
    """The relaxed online maximum margin algorithm on shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class SecondOrderPerceptron(ClusterFit, second_order_perceptron.SecondOrderPerceptron):
    """The second-order perceptron on shards; Σ⁻¹ and Σ⁻¹w are mixed."""


@dataclass(kw_only=True, eq=False, repr=False)
class AROW(ClusterFit, arow.AROW):
    """AROW on shards; Σ⁻¹ and Σ⁻¹w are mixed, so that a shard that is sure of a weight has the say about it."""


@dataclass(kw_only=True, eq=False, repr=False)
class SoftConfidenceWeighted(ClusterFit, soft_confidence_weighted.SoftConfidenceWeighted):
    """Soft confidence-weighted learning on shards; Σ⁻¹ and Σ⁻¹w are mixed."""


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelPerceptron(ClusterFit, parallel_perceptron.ParallelPerceptron):
    """A committee of perceptrons on shards; each perceptron is mixed with its twins."""


def __getattr__(name: str) -> Any:
    """Any other learner whose runs can be mixed, so that a new rule needs no entry here."""
    module = classes().get(name)
    learner = None if module is None else getattr(importlib.import_module(f"rosenblatt.learners.{module}"), name)
    if learner is None or not can_be_mixed(learner):
        raise AttributeError(f"module 'rosenblatt.dask' has no attribute {name!r}")
    documentation = f"{name} on shards; see `ClusterFit` for the parameters that come with it."
    made = type(name, (ClusterFit, learner), {"__module__": __name__, "__doc__": documentation})
    globals()[name] = dataclass(kw_only=True, eq=False, repr=False)(made)
    return globals()[name]
