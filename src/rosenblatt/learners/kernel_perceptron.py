"""Kernel perceptron: the dual form, with any kernel (Rosenblatt 1958; Aizerman, Braverman & Rozonoer 1964).

Y. Freund and R. E. Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37, 1999.

    on a mistake (y w·φ(x) <= 0):  w = w + y φ(x),  so  w = Σ over the mistakes of y_i φ(x_i)
    w·φ(x) = Σ y_i k(x_i, x): only kernel values are needed
    last: w.  average: the mean of the weights after each example.  vote: Σ c_i sign(w_i·φ(x))

On data separable with margin gamma in feature space, mistakes <= max k(x, x) / gamma^2. Departures: a zero score casts
no vote; for many classes trained together (not one-vs-rest) each weight vector votes for its highest-scoring class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from rosenblatt.dual.budgets import POLICIES
from rosenblatt.dual.functions import KERNELS, resolve_gamma
from rosenblatt.dual.model import KernelModel, Settings
from rosenblatt.dual.readouts import READOUTS
from rosenblatt.dual.rows import Array, Block, Floats, Integers
from rosenblatt.dual.streams import (
    array_row,
    canonical,
    class_numbers,
    dict_row,
    extend_vocabulary,
    join_classes,
    not_negative,
    segments,
)
from rosenblatt.estimators.base import as_before_on_failure
from rosenblatt.estimators.certificate import warn_of_last_epoch
from rosenblatt.estimators.export import Exports
from rosenblatt.estimators.parameters import Declared, choice, parameter, positive, shared, switch, whole
from rosenblatt.estimators.probabilities import Probabilities
from rosenblatt.model.scores import in_sorted_order, ordered, predicted_classes
from rosenblatt.training.dual import DualPasses
from rosenblatt.training.history import History
from rosenblatt.training.loop import run_epochs
from rosenblatt.training.schedule import Schedule, VisitingOrder


@dataclass(kw_only=True, eq=False, repr=False)
class KernelPerceptron(Declared, Probabilities, Exports, ClassifierMixin, BaseEstimator):
    """Perceptron in the feature space of a kernel.

    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes in sorted order.
    support_ : array of shape (n_support,)
        Numbers of the support examples in the order of learning.
    dual_coef_ : array of shape (1 or n_classes, n_support)
        Coefficients of the support rows in the last weights; with two classes row 0 is the score of `classes_[1]`.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
    mistakes_, updates_ : int
        Totals; one-vs-rest counts those of every class.
    mistakes_per_epoch_ : array of shape (epochs,)
    loss_per_epoch_ : array of shape (epochs,)
        The mean loss max(0, -margin) of `fit`; not with a budget.
    n_iter_ : int
    converged_ : bool
        Whether the last weights of `fit` classify every training example correctly, with a margin above 0.
    n_features_in_ : int
    """

    _vocabulary = cast(
        "dict[Any, int] | None", None
    )  # feature names, if rows are dicts; without annotation, so that it is not a field

    _arrived = cast("Array", None)  # the classes in the order in which they came: that of the coefficients

    kernel: str | Callable[[Any, Any], Any] = choice(
        "poly",
        KERNELS,
        '"poly" is (gamma x·z + coef0)^degree, "rbf" exp(-gamma ‖x - z‖²), "sigmoid" tanh(gamma x·z + coef0). With "precomputed" '
        "X is the matrix of kernel values. A function of two blocks of rows that returns this matrix can be any other kernel.",
        other=("callable", callable),
        positional=True,
    )
    degree: int = whole(
        3,
        "Degree of the polynomial kernel; larger values bend the boundary more. Degree 1 is the linear perceptron with a bias.",
    )
    gamma: float | str | None = positive(
        None,
        'Scale of the inner product or distance. "auto" is 1 / n_features, "scale" 1 / (n_features * X.var()), `fit` only. None '
        'is 1 for "poly", as in the paper, and "auto" otherwise. Smaller values make the kernel smoother.',
        choices=("auto", "scale"),
        none=True,
    )
    coef0: float = parameter(
        1.0,
        'Constant of "poly" and "sigmoid"; larger values give more weight to lower powers, and 0 removes the bias. Use 1 for the '
        "kernel of Freund & Schapire.",
        number="float",
    )
    readout: str = choice(
        "last",
        READOUTS,
        "Weights used for predictions. May be changed after training with `set_params`.",
    )
    normalize: bool = switch(
        False, "Divide each score by the length of its weight vector in feature space. May be changed after training."
    )
    multiclass: str = shared("multiclass")
    on_zero: str = shared("on_zero")
    max_iter: int = shared("max_iter")
    tol: float | None = shared("tol")
    n_iter_no_change: int = shared("n_iter_no_change")
    shuffle: bool | str = shared("shuffle")
    random_state: Any = shared("random_state")
    penalty: str | None = shared("penalty")
    budget: int | None = whole(
        None,
        "Largest number of support rows; larger values keep more but take more time and memory. Use None to keep every mistake.",
        none=True,
    )
    budget_policy: str = choice(
        "random", POLICIES, "How the support set is reduced when it is full. Only used with a `budget`."
    )
    eta: float = positive(
        0.1,
        "Projectron++ only: largest projection error, as a share of the longest φ(x). Smaller values project less and keep "
        "more support rows.",
    )
    block_size: int = whole(
        512, "Examples per matrix product. Affects speed and memory, not the mistakes (up to rounding)."
    )
    positive: Any = shared("positive")  # last, because in the lines above `positive` declares a number

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator: sparse input is allowed; a precomputed kernel is pairwise."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a whole data set, from scratch.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, n_features); kernel="precomputed": (n, n) kernel values
        y : array of shape (n,)
        sample_weight : array of shape (n,) or None
            Factors of the updates, at least 0; an example of weight 0 is ignored.
        """
        with as_before_on_failure(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        schedule: Schedule | None = None,
        on_epoch: Callable[[History], None] | None = None,
    ) -> History:
        """Train with the schedule of the parameters or with another one; return the history."""
        self.__dict__.pop("calibration_", None)  # it was for the scores of earlier weights
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X of KernelPerceptron must be a square matrix of kernel values between the training examples when "
                f'kernel="precomputed"; got shape {X.shape}. Pass kernel values, or name a kernel to compute them.'
            )
        classes = np.array(ordered(unique_labels(y), self.positive, type(self).__name__))
        if len(classes) < 2:
            raise ValueError(
                f"y of KernelPerceptron must hold at least 2 classes to fit; got 1 class, {classes.tolist()[0]!r}. "
                "Use partial_fit with `classes` for a stream that has only one class so far."
            )
        weight = not_negative(_check_sample_weight(sample_weight, X, dtype=np.float64))
        kept = np.flatnonzero(weight > 0.0)
        if len(kept) == 0:
            raise ValueError(
                "`sample_weight` of KernelPerceptron must have a value above 0; got only zeros. Leave it out to give "
                "all examples the same weight."
            )
        random = check_random_state(self.random_state)
        model = KernelModel(self._settings(X, random), len(classes))
        data = Block.of(canonical(X), np.arange(X.shape[0], dtype=np.int64))
        numbers = class_numbers(y, classes)
        wanted = Schedule.of(self, seed=0) if schedule is None else schedule
        passes = DualPasses(model, data, numbers, weight, VisitingOrder(wanted.shuffle, random))
        history = run_epochs(
            passes, wanted, History(), merit=lambda epoch: -epoch.mistakes / epoch.examples, on_epoch=on_epoch
        )
        self._vocabulary = None
        self._install(model, classes)
        if self.budget is None:
            self.loss_per_epoch_ = np.array([epoch.mean_loss for epoch in history.epochs])
        self.converged_ = passes.separates()
        if schedule is None and history.stopped == "epochs" and self.tol is not None:
            warn_of_last_epoch(self)
        return history

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn examples in the given order, starting from the current model.

        Parameters
        ----------
        X, y : as for `fit`
        classes : array or None
            Classes to start with, sorted; others are added with their first example.
        sample_weight : as for `fit`
        """
        self._refuse_precomputed_stream()
        first = not hasattr(self, "_model")
        with as_before_on_failure(self):
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=first)
            check_classification_targets(y)
            weight = not_negative(_check_sample_weight(sample_weight, X, dtype=np.float64))
            known = None
            if classes is not None:
                known = np.array(ordered(list(np.unique(classes)), self.positive, type(self).__name__))
            X, y = canonical(X), column_or_1d(y)
            if "calibration_" in self.__dict__ and len(y):
                self._observe(X, y)
            self._learn(X, y, weight, known, first)
        return self

    def learn_one(self, x: Any, y: Any) -> Any:
        """Learn one example, a dict or a 1-D array; return the prediction made before learning (None before the first)."""
        self._refuse_precomputed_stream()
        first = not hasattr(self, "_model")
        predicted = None if first else self.predict_one(x)
        vocabulary = None if first else self._vocabulary
        if isinstance(x, Mapping) and (first or vocabulary is not None):
            vocabulary = extend_vocabulary(vocabulary or {}, x)
        row = self._row(x, vocabulary, first)
        if "calibration_" in self.__dict__:
            self._observe(row, np.asarray([y]))
        self._learn(row, np.asarray([y]), np.ones(1), None, first)
        self._vocabulary = vocabulary
        self.n_features_in_ = row.shape[1]
        return predicted

    def predict_one(self, x: Any) -> Any:
        """Predict one example, a dict or a 1-D array; None before any label was seen."""
        if not hasattr(self, "_model"):
            return None
        self._check_parameters("readout")
        return self._labels(self._decide_one(x))[0]

    def _decide_one(self, x: Any) -> Floats:
        """The scores of one example, in the order in which the classes came."""
        return self._model.decide(Block.of(self._row(x, self._vocabulary, False)), self.readout, self.normalize)

    def _learn(self, X: Any, y: Array, weight: Floats, classes: Array | None, first: bool) -> None:
        known: Array = np.asarray([]) if first else self._arrived
        if classes is not None and not first and set(classes.tolist()) != set(known.tolist()):
            raise ValueError(
                f"`classes` of a later call of partial_fit must be those of the model, {sorted(known.tolist())}; got "
                f"{classes.tolist()}. Leave it out: a new class is added with its first example."
            )
        if classes is not None and first:
            known = join_classes(known, classes)
        if first:
            self._check_positive_of_stream(len(known))
        model = self._new_model(X) if first else self._model
        self._check_parameters("on_zero")
        model.set_on_zero(self.on_zero)
        before = model.snapshot(single=len(y) == 1)
        kept = np.flatnonzero(weight > 0.0)
        try:
            # A new class takes part from its first example on: the result does not depend on how a stream is divided into calls.
            for part, known in segments(y[kept], known):  # noqa: B020
                which = kept[part]
                model.grow(len(known))
                model.learn(Block.of(X[which]), class_numbers(y[which], known), weight[which])
            model.grow(len(known))
        except Exception:
            model.restore(before)
            raise
        self._install(model, known)
        self.converged_ = False

    # ------------------------------------------------------------------ predictions

    def decision_function(self, X: Any) -> Floats:
        """Scores: of `classes_[1]` against `classes_[0]`, shape (n,), or one per class, shape (n, n_classes)."""
        scores = in_sorted_order(self._scores(X), self._arrived.tolist(), axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, X: Any) -> Floats:
        """Scores in the order in which the classes came."""
        check_is_fitted(self, "classes_")
        self._check_parameters("readout")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._model.decide(Block.of(canonical(X)), self.readout, self.normalize)

    def _scores_of_one(self, x: Any) -> Floats:
        check_is_fitted(self, "classes_")
        self._check_parameters("readout")
        return self._decide_one(x)

    def _scored_labels(self) -> list[Any]:
        check_is_fitted(self, "classes_")
        labels: list[Any] = self._arrived.tolist()
        return labels

    def _observe(self, X: Any, y: Array) -> None:
        """Update the probabilities with examples that will be learned next."""
        numbers = {label: number for number, label in enumerate(self._scored_labels())}
        known = np.array([label in numbers for label in y.tolist()])
        if known.any():
            scores = self._model.decide(Block.of(X[known]), self.readout, self.normalize)
            if not self.calibration_.fits(scores.shape[1]):  # a third class has come
                self.calibration_ = type(self.calibration_).of(scores.shape[1])
            codes = np.array([numbers[label] for label in y[known].tolist()], np.int64)
            self.calibration_.observe(scores, codes)

    def predict(self, X: Any) -> Array:
        """Class labels; at a score of exactly 0 the class +1, in a tie the one that came first."""
        return self._labels(self._scores(X))

    def _labels(self, scores: Floats) -> Array:
        return np.asarray(self._arrived[predicted_classes(scores, len(self._arrived))])

    @property
    def support_(self) -> Integers:
        """Numbers of the support examples."""
        return self._model.machine.rows.ids.copy()

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support rows in the last weights."""
        return in_sorted_order(self._model.dual().T, self._arrived.tolist())

    @property
    def support_vectors_(self) -> Any:
        """The support rows."""
        rows = self._model.machine.rows
        return rows.slice(0, len(rows)).rows if len(rows) else np.empty((0, self.n_features_in_))

    # ------------------------------------------------------------------ helpers

    def _install(self, model: KernelModel, classes: Array) -> None:
        machine = model.machine
        self._model = model
        self._arrived, self.classes_ = classes, np.sort(classes)
        self.mistakes_, self.updates_ = machine.n_mistakes, machine.n_updates
        streamed = machine.n_mistakes - sum(model.epochs)
        self.mistakes_per_epoch_ = np.array([*model.epochs, *([streamed] if streamed or not model.epochs else [])])
        self.n_iter_ = max(1, len(model.epochs))

    def _new_model(self, X: Any) -> KernelModel:
        self._check_parameters()
        return KernelModel(self._settings(X, check_random_state(self.random_state)), 0)

    def _settings(self, X: Any, random: np.random.RandomState) -> Settings:
        return Settings(
            kernel=self.kernel,
            degree=self.degree,
            gamma=resolve_gamma(self.kernel, self.gamma, X),
            coef0=self.coef0,
            multiclass=self.multiclass,
            on_zero=self.on_zero,
            budget=self.budget,
            budget_policy=self.budget_policy,
            eta=self.eta,
            seed=int(random.randint(2**31 - 1)) if self.budget is not None else 0,
            block_size=self.block_size,
        )

    def _row(self, x: Any, vocabulary: dict[Any, int] | None, first: bool) -> Any:
        if not isinstance(x, Mapping):
            if vocabulary is not None:
                raise ValueError(
                    "x of KernelPerceptron must be a dict, as at the start of this stream; got an array. "
                    "Keep to one kind of row per model."
                )
            return array_row(x, None if first else self.n_features_in_)
        if vocabulary is None and hasattr(self, "feature_names_in_"):
            return array_row([x.get(name, 0.0) for name in self.feature_names_in_], None)
        if vocabulary is None:
            raise ValueError(
                "x of KernelPerceptron must be a 1-D array, as in the data learned before; got a dict. "
                "Keep to one kind of row per model."
            )
        if first and self.kernel not in ("poly", "linear") and not isinstance(self.gamma, (int, float)):
            raise ValueError(
                f"`gamma` of KernelPerceptron must be a number when rows are dicts; got {self.gamma!r}, which needs "
                "the number of features. Give gamma a number above 0."
            )
        return dict_row(x, vocabulary)

    def _refuse_precomputed_stream(self) -> None:
        if self.kernel == "precomputed":
            raise ValueError(
                '`kernel` of KernelPerceptron must be a function of rows to learn from a stream; got "precomputed". '
                "Use fit with the whole matrix, or name the kernel."
            )
        if self.gamma == "scale":
            raise ValueError(
                '`gamma` of KernelPerceptron must be a number, "auto" or None to learn from a stream; got "scale", '
                "which needs the whole set. Use fit, or give gamma a number."
            )
