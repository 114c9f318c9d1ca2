"""Estimators whose `fit` runs on a cluster."""

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
    """Mixin with a `fit` on a Dask cluster; comes before the single-machine estimator among the base classes.

    Parameters
    ----------
    mixing : {"uniform", "mistakes", "examples"}, default="uniform"
        How shards are weighted in the mixture.
    shards : int or None, default=None
        Number of shards into which an array or files are split; each partition of a Dask collection is one shard.
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
        """Fit the model on shards.

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
        """The same model as a single-machine estimator; `save` writes this one."""
        learner = next(base for base in type(self).__mro__ if base.__module__.startswith("rosenblatt.learners."))
        own = {field.name for field in dataclasses.fields(ClusterFit)}
        estimator = learner(**{name: value for name, value in vars(self).items() if name in _names(learner)})
        vars(estimator).update({n: v for n, v in vars(self).items() if n not in own and n not in _names(learner)})
        return estimator

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; `rosenblatt.load` reads it as a single-machine estimator."""
        self.to_local().save(path)

    def predict(self, X: Any) -> Any:
        """Predict classes; for a Dask array or dataframe blockwise, as a Dask collection."""
        return self._blockwise("predict", X)

    def decision_function(self, X: Any) -> Any:
        """Compute scores; for a Dask array or dataframe blockwise, as a Dask collection."""
        return self._blockwise("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predictions; for a Dask dataframe y may be the name of the label column."""
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
                f"X must be a Dask array or dataframe, or an array in memory; got a {type(X).__name__}. Predict the items of a "
                "bag with bag.map(model.to_local().predict_one)."
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
    """Weighted accuracy, computed block by block."""
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
    """The perceptron on shards; the mistakes of the shards, weighted like their weights, are at most (R / γ)²."""


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedPerceptron(ClusterFit, averaged_perceptron.AveragedPerceptron):
    """The averaged perceptron on shards; the average is over the weight vectors after every example of every shard."""


@dataclass(kw_only=True, eq=False, repr=False)
class MarginPerceptron(ClusterFit, margin_perceptron.MarginPerceptron):
    """The perceptron with a margin, on shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressive(ClusterFit, passive_aggressive.PassiveAggressive):
    """Passive-aggressive learning on shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class Winnow(ClusterFit, winnow.Winnow):
    """Winnow on shards; the logarithms of the weights are mixed, because Winnow's updates add to them."""


@dataclass(kw_only=True, eq=False, repr=False)
class ALMA(ClusterFit, alma.ALMA):
    """The approximate large margin algorithm on shards; the number of steps is mixed like the weights."""


@dataclass(kw_only=True, eq=False, repr=False)
class ROMMA(ClusterFit, romma.ROMMA):
    """The relaxed online maximum margin algorithm on shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class SecondOrderPerceptron(ClusterFit, second_order_perceptron.SecondOrderPerceptron):
    """The second-order perceptron on shards; Σ⁻¹ and Σ⁻¹w are mixed."""


@dataclass(kw_only=True, eq=False, repr=False)
class AROW(ClusterFit, arow.AROW):
    """AROW on shards; Σ⁻¹ and Σ⁻¹w are mixed, so that a shard with a small variance of a weight counts more for it."""


@dataclass(kw_only=True, eq=False, repr=False)
class SoftConfidenceWeighted(ClusterFit, soft_confidence_weighted.SoftConfidenceWeighted):
    """Soft confidence-weighted learning on shards; Σ⁻¹ and Σ⁻¹w are mixed."""


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelPerceptron(ClusterFit, parallel_perceptron.ParallelPerceptron):
    """A committee of perceptrons on shards; each member is mixed with the same member of the other shards."""


def __getattr__(name: str) -> Any:
    """Create the class of any other learner whose runs can be mixed, so that a new rule needs no entry here."""
    module = classes().get(name)
    learner = None if module is None else getattr(importlib.import_module(f"rosenblatt.learners.{module}"), name)
    if learner is None or not can_be_mixed(learner):
        raise AttributeError(f"module 'rosenblatt.dask' has no attribute {name!r}")
    documentation = f"{name} on shards; see `ClusterFit` for the additional parameters."
    made = type(name, (ClusterFit, learner), {"__module__": __name__, "__doc__": documentation})
    globals()[name] = dataclass(kw_only=True, eq=False, repr=False)(made)
    return globals()[name]
