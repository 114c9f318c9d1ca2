"""The scikit-learn interface of a linear model: fitting, streams, predictions, fitted attributes.

A learner is a dataclass: its fields are its parameters. ``class Perceptron(OnlineParameters, LinearClassifier, step=step)``
turns a step function into an estimator.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.engine.steps import step_parameters
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.rule import Penalty, Rule
from rosenblatt.model.scores import in_sorted_order, ordered, positive_first, predicted_classes, sorting
from rosenblatt.training.history import History
from rosenblatt.training.loop import Block, BlockPasses, smallest_margin, train
from rosenblatt.training.one_vs_rest import train_classes
from rosenblatt.training.schedule import Schedule, VisitingOrder, random_state

from .answers import Answers, Reading
from .bases import bases
from .certificate import Finishing, warn_of_last_epoch
from .export import Exports
from .parameters import Declared

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin
else:
    ClassifierMixin, BaseEstimator = bases()

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

_NO_WEIGHT = np.zeros(0)

MANY_LABELS = 65_536


@contextlib.contextmanager
def as_before_on_failure(estimator: Any) -> Iterator[None]:
    """Restore all attributes after an exception, so that an estimator is never partly fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class _Absent:
    """Replacement of a method that a learner does not have."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        raise AttributeError(
            f"{owner.__name__ if owner else 'This learner'} needs the whole training set and has no `{self.name}`; use `fit`, "
            "or a learner for streams such as AveragedPerceptron"
        )


class LinearLearner(Reading, Exports, Declared, BaseEstimator):
    """Learner with one weight for each feature and weight vector: what classifiers and regressors have in common.

    Notes
    -----
    Keyword arguments of the class statement:

    step : callable
        The learning rule: ``step(margin, [sq_norm,] *hyperparameters) -> tau``, or, for a second-order rule,
        ``step(margin, variance, weight, *hyperparameters) -> alpha, beta``.
    readout : {"last", "average", "vote"}, default="last"
        The weights used for predictions.
    target : float, default=inf
        Examples with a larger margin are skipped without calling `step`.
    constant_step : str, default=None
        The parameter that is the size of every step, if all steps have the same size; the mistake bound holds for such rules.
    streams : bool, default=True
        Whether the learner can learn from a stream (`partial_fit`, `learn_one`).
    """

    _step: ClassVar[Callable[..., Any]]
    _model_class: ClassVar[type[Model]] = Model
    _readout: ClassVar[str] = "last"
    _target_margin: ClassVar[float] = float("inf")
    _constant_step: ClassVar[str | None] = None

    # Parameters that subclasses have as fields; some learners have only part of them.
    on_zero: str
    multiclass: str
    max_iter: int
    warm_start: bool
    fit_intercept: bool
    verbose: int
    tol: float | None
    shuffle: bool | str
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    alpha: float
    l1_ratio: float | None

    def __init_subclass__(
        cls,
        step: Callable[..., Any] | None = None,
        readout: str | None = None,
        streams: bool = True,
        target: float | None = None,
        constant_step: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if step is not None:
            step_parameters(step)
            cls._step = staticmethod(step)
        if readout is not None:
            cls._readout = readout
        if not streams:
            for name in ("partial_fit", "learn_one", "predict_one"):
                absent = _Absent()
                absent.__set_name__(cls, name)
                setattr(cls, name, absent)
        if target is not None:
            cls._target_margin = target
        if constant_step is not None:
            cls._constant_step = constant_step

    # ---- the rule ----

    def _params(self) -> tuple[float, ...]:
        """Values of the step function's hyperparameters."""
        return tuple(float(getattr(self, name)) for name in step_parameters(self._step))

    def _target(self) -> float:
        """The margin above which an example is skipped."""
        return self._target_margin

    def _link(self) -> str:
        return "identity"

    def _initial_variance(self) -> float:
        """Initial value of the variances of a second-order rule."""
        return 1.0

    def _penalty(self) -> Penalty | None:
        """The penalty, whose step is that of the rule if all its steps have one size, else 1."""
        kind = getattr(self, "penalty", None)
        if kind is None:
            return None
        share = {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[kind]
        if share is None:
            raise ValueError(
                f'`l1_ratio` of {type(self).__name__} must be a number from 0 to 1 with penalty="elasticnet"; got None. '
                "It is the share of l1."
            )
        rate = 1.0 if self._constant_step is None else getattr(self, self._constant_step)
        return Penalty(float((1.0 - share) * self.alpha), float(share * self.alpha), float(rate))

    def _rule(self) -> Rule:
        return Rule(
            step=self._step,
            params=self._params(),
            target=self._target(),
            link=self._link(),
            on_zero=self.on_zero,
            multiclass=self.multiclass,
            fit_intercept=bool(self.fit_intercept),
            covariance=getattr(self, "covariance", "diagonal"),
            variance=self._initial_variance(),
            penalty=self._penalty(),
        )

    def _new_model(self, n_features: int | None, dtype: Any) -> Model:
        return self._model_class(
            self._rule(),
            readout=getattr(self, "readout", self._readout),
            n_features=n_features,
            dtype=dtype,
            max_support=getattr(self, "max_support", None),
        )

    def _train(
        self, model: Model, passes: BlockPasses, history: History, on_epoch: Callable[[History], None] | None = None
    ) -> History:
        """Run the epochs, over all classes together. Learners override this if they do more than online passes."""
        return train(model, passes, history, on_epoch=on_epoch)

    def _start(self, model: Model, coef_init: Any, intercept_init: Any) -> None:
        """Set the starting weights: the given ones, or those of the last fit with `warm_start`."""
        if coef_init is None and intercept_init is None:
            before = getattr(self, "model_", None) if self.warm_start else None
            if before is None:
                return
            if before.classes != model.classes or before.n_features != model.n_features:
                raise ValueError(
                    f"warm_start of {type(self).__name__} needs the classes and the number of features of the last fit, "
                    f"{before.classes} and {before.n_features}; got {model.classes} and {model.n_features}. Make a new estimator."
                )
            model.resume(before)
            return
        coef, intercept = self._checked_weights(model, coef_init, intercept_init, "coef_init", "intercept_init")
        model.start_from(coef, intercept)

    def _checked_weights(
        self, model: Model, coef: Any, intercept: Any, first: str, second: str
    ) -> tuple[Floats, Floats]:
        """Weights in the order of `classes_` as those of the core model; None is 0."""
        shape = (model.vectors, model.n_features)
        coef = coef.toarray() if hasattr(coef, "toarray") else coef
        coef = np.zeros(shape) if coef is None else np.asarray(coef, dtype=np.float64)
        intercept = np.zeros(shape[0]) if intercept is None else np.asarray(intercept, dtype=np.float64)
        if coef.shape not in (shape, shape[1:] if shape[0] == 1 else shape):
            raise ValueError(
                f"{first} must have the shape {shape}, one row for each weight vector; got {coef.shape}. Two classes have one "
                "weight vector, for the second of them."
            )
        if intercept.size != shape[0]:
            raise ValueError(
                f"{second} must hold {shape[0]} number(s), one for each weight vector; got {intercept.size}. "
                "Leave it out to start from 0."
            )
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{first} and {second} must be finite; got NaN or infinity. Leave them out to start from 0."
            )
        coef, intercept = coef.reshape(shape), intercept.reshape(shape[0])
        order = sorting(model.classes)
        if order is None:
            return coef, intercept
        if len(order) == 2:
            return 0.0 - coef, 0.0 - intercept
        places = np.argsort(order)
        return coef[places], intercept[places]

    def _weights(self, sample_weight: Any, X: Any, class_weights: Any) -> Floats:
        """Weight of each example, its own times that of its class; an empty array if all are 1."""
        if sample_weight is None and class_weights is None:
            return _NO_WEIGHT
        from sklearn.utils.validation import _check_sample_weight

        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
        if class_weights is not None:
            weight *= class_weights
        if sample_weight is not None and not weight.any():
            raise ValueError(
                "The sample weights must not all be 0, because that leaves no example to learn from; got only zeros. "
                "Leave sample_weight out to count every example once."
            )
        return np.ascontiguousarray(weight)

    def _name_features(self, model: Model) -> None:
        """After fitting a frame, accept dicts with the names of its columns."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None and model.features is None:
            model.features = {str(name): number for number, name in enumerate(names)}
            model.frozen = True

    def _scores(self, X: ArrayLike) -> Floats:
        """Scores in the order of the core model: a row for each example."""
        model = self._fitted()
        return model.scores(self._table(X, model), self._threads())

    def _threads(self) -> int:
        """The number of threads that compute scores."""
        return 1

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitted(self) -> Model:
        model: Model | None = getattr(self, "model_", None)
        if model is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
            )
        return model

    def _attribute(self, name: str) -> Model:
        model: Model | None = getattr(self, "model_", None)
        if model is None:
            raise AttributeError(f"{type(self).__name__} has no attribute `{name}` before it is fitted")
        return model

    def _replace(self, coef: Any, intercept: Any) -> None:
        """Replace the weights; learning goes on from them, and an average starts again."""
        model = self._attribute("coef_")
        coef, intercept = self._checked_weights(model, coef, intercept, "coef_", "intercept_")
        model.replace_weights(coef, intercept)

    def sparsify(self) -> Self:
        """Make `coef_` a CSR matrix, which takes less memory to keep or send if many weights are 0.

        Predictions and further learning do not change. `densify` undoes it.

        Returns
        -------
        self
        """
        self._fitted()
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Make `coef_` an array again.

        Returns
        -------
        self
        """
        self._fitted()
        self._sparse_coef = False
        return self

    @property
    def t_(self) -> float:
        """Number of examples visited, in all epochs, plus 1: the counter of scikit-learn's learners."""
        return 1.0 + self.examples_

    @property
    def mistakes_(self) -> int:
        """Total number of mistakes during learning."""
        return int(self._attribute("mistakes_").state.counters.mistakes)

    @property
    def updates_(self) -> int:
        """Number of examples that changed the weights."""
        return int(self._attribute("updates_").state.counters.updates)

    @property
    def examples_(self) -> int:
        """Number of examples visited, in all epochs."""
        return int(self._attribute("examples_").state.counters.examples)


class LinearClassifier(Answers, Finishing, ClassifierMixin, LinearLearner):
    """Classifier with one weight for each feature and class. Subclasses are dataclasses whose fields are the parameters.

    The keyword arguments of the class statement are those of `LinearLearner`.
    """

    class_weight: Any
    positive: Any
    n_jobs: int | None
    max_support: int | None

    _notes_scores = True  # whether streams note the scores before learning, for probabilities

    # ---- checks ----

    def _check_can_move(self, model: Model) -> None:
        """Refuse `on_zero="keep"` with zero weights: it would never make a mistake, and so never learn."""
        if self.on_zero == "keep" and model.rule.target <= 0 and not model.state.w.any() and not model.state.bias.any():
            raise ValueError(
                f'on_zero="keep" of {type(self).__name__} needs starting weights other than 0, because from 0 every score is 0 '
                'and none of them counts as a mistake; got none. Pass coef_init to fit, or use on_zero="update".'
            )

    # ---- fit ----

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from all examples, in several epochs.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        y : array of shape (n_examples,)
            Their labels: strings, integers or booleans.
        coef_init : array of shape (n_features,) or (n_weight_vectors, n_features), default=None
            Weights to start from; zeros by default.
        intercept_init : float or array of shape (n_weight_vectors,), default=None
            Intercepts to start from.
        sample_weight : array of shape (n_examples,), default=None
            Weight of each example; an example of weight 0 is ignored.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            self.__dict__.pop("calibration_", None)  # it was for the scores of earlier weights
            self._fit(X, y, coef_init, intercept_init, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, coef_init: Any, intercept_init: Any, sample_weight: Any) -> None:
        from sklearn.utils import compute_class_weight
        from sklearn.utils.validation import validate_data

        self._check_parameters()
        X, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        classes, codes = _encode_labels(labels)
        if classes.size < 2:
            raise ValueError(
                f"The labels of {type(self).__name__} must hold at least 2 classes; got 1 class, {classes.tolist()[0]!r}. "
                "Check that y is the label column, or use partial_fit for a stream whose classes come one by one."
            )
        if positive_first(classes, self.positive, type(self).__name__):
            classes, codes = classes[::-1], 1 - codes
        table = Table(X)
        factors = None
        if self.class_weight is not None:
            factors = compute_class_weight(self.class_weight, classes=classes, y=labels)[codes]
        weight = self._weights(sample_weight, X, factors)
        model = self._new_model(table.shape[1], table.dtype)
        model.add_class(*classes.tolist())
        self._start(model, coef_init, intercept_init)
        self._check_can_move(model)
        block = Block(table, codes, weight, whole=True)
        history = self._run(model, block)
        self._name_features(model)
        self._note_labels(labels, first=True)
        self._finish(model, history, smallest_margin(model, [block]), verify=(X, labels))
        if history.stopped == "epochs" and getattr(self, "tol", None) is not None:
            warn_of_last_epoch(self)

    def _run(self, model: Model, block: Block) -> History:
        """Run the epochs of `fit`; one-vs-rest runs those of each class for itself."""
        schedule, seed = Schedule.of(self, seed=0, holdout=0.0), getattr(self, "random_state", 0)
        chosen = self._held_out(block.codes) if getattr(self, "early_stopping", False) else None
        held_out = None if chosen is None else lambda first, count: chosen
        if chosen is not None and block.weights.size and not block.weights[chosen].any():
            raise ValueError(
                "The sample weights for the validation set must not all be 0, because they decide when to stop; got only zeros. "
                "Try another random_state, or turn early_stopping off."
            )
        if not self._is_one_vs_rest(model):
            passes = BlockPasses(
                model, lambda: (block,), VisitingOrder(schedule.shuffle, seed), schedule, held_out=held_out
            )
            return self._train(model, passes, History(), _line_of_epoch if self.verbose else None)
        # As in scikit-learn, each class has a seed of its own, drawn before the first class is trained.
        seeds = random_state(seed).randint(np.iinfo(np.int32).max, size=len(model.classes)).tolist()

        def passes_of(k: int, part: Model, own: Block) -> BlockPasses:
            return BlockPasses(
                part, lambda: (own,), VisitingOrder(schedule.shuffle, seeds[k]), schedule, held_out=held_out
            )

        def line(k: int, history: History) -> None:
            _line_of_epoch(history, f"class {model.classes[k]!r}, ")

        return train_classes(model, block, passes_of, jobs=self._threads(), on_epoch=line if self.verbose else None)

    def _is_one_vs_rest(self, model: Model) -> bool:
        """Whether `fit` trains each class for itself: not if a learner does more than online passes over all classes."""
        separate = self.multiclass == "ovr" and len(model.classes) > 2
        return separate and type(self)._train is LinearClassifier._train

    def _held_out(self, y: Codes) -> NDArray[np.bool_]:
        """The examples to hold out: `validation_fraction` of each class; those that scikit-learn holds out for this seed."""
        from sklearn.model_selection import StratifiedShuffleSplit

        splitter = StratifiedShuffleSplit(1, test_size=self.validation_fraction, random_state=self.random_state)
        chosen = np.zeros(len(y), bool)
        chosen[next(splitter.split(np.zeros((len(y), 1)), y))[1]] = True
        return chosen

    # ---- streams ----

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the examples once, in the given order.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        y : array of shape (n_examples,)
            Their labels. A new class takes part from its first example on.
        classes : array, default=None
            Classes to start with, in the first call. Not needed: a new class is added with its first example.
        sample_weight : array of shape (n_examples,), default=None
            Weight of each example.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        from sklearn.utils.validation import validate_data

        self._check_parameters()
        self._check_stream_weights()
        first = not hasattr(self, "model_")
        table = self._to_learn(X, self.__dict__.get("model_"))
        if table is None:
            X, labels = validate_data(
                self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=first
            )
            table = Table(X, None if first else self.model_.dtype)
        else:
            labels = checked_labels(y, len(table))
        distinct, places = _encode_labels(labels)
        model = self._new_model(table.shape[1], table.dtype) if first else self.model_
        if first:
            if classes is not None:
                model.add_class(*ordered(np.unique(classes).tolist(), self.positive, type(self).__name__))
            self._check_positive_of_stream(len(model.classes))
            self._check_can_move(model)
        elif classes is not None and set(np.asarray(classes).tolist()) != set(model.classes):
            raise ValueError(
                f"`classes` of a later call of partial_fit must be those of the model, {sorted(model.classes)}; got "
                f"{np.unique(np.asarray(classes)).tolist()}. Leave it out: a new class is added with its first example."
            )
        names = distinct.tolist()
        of_class = None if self.class_weight is None else np.array([self._importance(n) for n in names])[places]
        if "calibration_" in self.__dict__:
            self._observe(model, table, labels.tolist())
        elif self._notes_scores:
            model.note_scores()
        model.learn(table, names, places, self._weights(sample_weight, labels, of_class))
        self._name_features(model)
        self._note_labels(labels if classes is None else np.concatenate([labels[:0], np.asarray(classes)[:0]]), first)
        self.model_ = model

    def _check_stream_weights(self) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight of {type(self).__name__} must be a dict or None on a stream; got {self.class_weight!r}. The "
                "balance of a stream is not known in advance: pass the weights, for instance computed on a sample."
            )

    def _importance(self, label: Any) -> float:
        return float(self.class_weight.get(label, 1.0))

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Any:
        """Predict the class of one example, then learn it.

        Parameters
        ----------
        x : dict or 1-D array
            Features by name (new names may appear at any time), or all features in order.
        y : label
            The true class; a new class is added.
        sample_weight : float, default=1.0
            Weight of the example.

        Returns
        -------
        label or None
            The prediction made before learning; None before the first label.
        """
        if "encoder_" in self.__dict__ and isinstance(x, Mapping | str):
            prediction = self.predict_one(x)
            if sample_weight != 0.0:
                one: list[Any] = [x]
                self.partial_fit(one, [y], sample_weight=[sample_weight])
            return prediction
        if self.class_weight is not None:
            self._check_stream_weights()
            sample_weight *= self._importance(y)
        model = self.__dict__.get("model_")
        if model is None:
            self._check_parameters()
            model = self._new_model(None, np.float64)
            self._check_positive_of_stream(0)
            self._check_can_move(model)
        if "calibration_" in self.__dict__:
            self._observe(model, model._row_table(x), [y])
        elif self._notes_scores and not model.notes_scores:
            model.note_scores()
        guess = model.learn_one(x, y, sample_weight)
        if self.__dict__.get("n_features_in_") != model.n_features:
            self.n_features_in_ = model.n_features
            self.model_ = model
        return guess

    def predict_one(self, x: Any) -> Any:
        """Predict the class of one example, a dict or a 1-D array; None before the first label."""
        model = getattr(self, "model_", None)
        if model is not None and "encoder_" in self.__dict__ and isinstance(x, Mapping | str):
            return model.classes[int(predicted_classes(self._scores_of_one(x), len(model.classes))[0])]
        return None if model is None else model.predict_one(x)

    # ---- predict ----

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of the examples in the order of `classes_`: one for each example with two classes, else one for each class."""
        scores = in_sorted_order(self._scores(X), self._fitted().classes, axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the highest score; at a score of exactly 0 the class +1, in a tie the one that came first."""
        scores, model = self._scores(X), self._fitted()
        return self._labels(model.classes)[predicted_classes(scores, len(model.classes))]

    def _threads(self) -> int:
        """The number of threads that `n_jobs` stands for."""
        self._check_parameters("n_jobs")
        if self.n_jobs is None and "joblib" not in sys.modules:  # then no context of joblib can be active
            return 1
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.n_jobs))

    # ---- fitted ----

    def _labels(self, classes: list[Any]) -> NDArray[Any]:
        """Classes as an array of the type of the labels that were learned."""
        labels = np.array(classes)
        kind = self.__dict__.get("_label_type")
        if kind is None or labels.dtype.kind not in "biuf":
            return labels
        typed = labels.astype(kind)
        return typed if (typed == labels).all() else labels  # a later label may need a larger type

    def _note_labels(self, labels: NDArray[Any], first: bool) -> None:
        """Remember the type of numbers used as labels, so that predictions have it, too."""
        kind = labels.dtype if labels.dtype.kind in "biuf" else None
        before = None if first else self.__dict__.get("_label_type")
        known = kind if before is None or kind is None else np.result_type(np.dtype(before), kind)
        self._label_type = None if known is None else known.newbyteorder("=").str[1:]

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in sorted order."""
        return self._labels(sorted(self._attribute("classes_").classes))

    @property
    def coef_(self) -> Any:
        """The weights: one row for two classes, else one row for each class. Read-only; assign an array to replace them."""
        model = self._attribute("coef_")
        coef = in_sorted_order(model.coef()[0], model.classes)
        coef.flags.writeable = False
        if self.__dict__.get("_sparse_coef"):
            from scipy.sparse import csr_matrix

            return csr_matrix(coef)
        return coef

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        self._replace(coef, self.intercept_)

    @property
    def intercept_(self) -> Floats:
        """The weights of the bias feature. Read-only; assign an array to replace them."""
        model = self._attribute("intercept_")
        intercept = in_sorted_order(model.coef()[1], model.classes)
        intercept.flags.writeable = False
        return intercept

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        self._replace(self.coef_, intercept)


def _line_of_epoch(history: History, prefix: str = "") -> None:
    """Print a line for the last epoch."""
    epoch = history.done[-1]
    loss = f"loss {epoch.mean_loss:.6g}"
    print(f"{prefix}epoch {len(history.done)}: {epoch.mistakes} mistakes, {epoch.updates} updates, {loss}")


def checked_labels(y: Any, examples: int) -> NDArray[Any]:
    """The labels or targets of a frame, one for each row."""
    from sklearn.utils import column_or_1d

    labels: NDArray[Any] = column_or_1d(y)
    if labels.size != examples:
        raise ValueError(f"There must be a label for each of the {examples} rows; got {labels.size}. Check X and y.")
    return labels


def _encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Distinct labels in sorted order, and the number of each example's label."""
    kinds = sorted({type(label).__name__ for label in y.tolist()}) if y.dtype == object else []
    if len(kinds) > 1:
        raise ValueError(
            f"The labels must all be of one type, such as strings or integers; got {' and '.join(kinds)}. Convert them, for "
            "instance with y.astype(str)."
        )
    if y.dtype.kind in "iu" and y.size and int(y.max()) - int(y.min()) < MANY_LABELS:
        lowest = y.min()  # for small integers counting is faster than sorting
        codes = y.astype(np.int64) - lowest.astype(np.int64)  # a difference of two int8 may need more bits
        present = np.bincount(codes) > 0
        if not present.all():
            codes = (np.cumsum(present) - 1)[codes]
        return np.flatnonzero(present).astype(y.dtype) + lowest, codes
    if y.dtype.kind not in "bU":
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64, copy=False)
