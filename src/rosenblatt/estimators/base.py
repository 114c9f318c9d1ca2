"""The scikit-learn interface of a linear model: fitting, streams, predictions, fitted attributes.

A learner is a dataclass: its fields are its parameters. ``class Perceptron(OnlineParameters, LinearClassifier, step=step)``
turns a step function into an estimator.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.engine.steps import step_parameters
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.rule import Rule
from rosenblatt.model.scores import ordered, positive_first, predicted_classes
from rosenblatt.training.history import History
from rosenblatt.training.loop import Block, BlockPasses, smallest_margin, train
from rosenblatt.training.one_vs_rest import train_classes
from rosenblatt.training.schedule import Schedule, VisitingOrder, random_state

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


class LinearClassifier(Finishing, Exports, Declared, ClassifierMixin, BaseEstimator):
    """Classifier with one weight for each feature and class. Subclasses are dataclasses whose fields are the parameters.

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
    _readout: ClassVar[str] = "last"
    _target_margin: ClassVar[float] = float("inf")
    _constant_step: ClassVar[str | None] = None

    # Parameters that subclasses have as fields; some learners have only part of them.
    max_iter: int
    class_weight: Any
    warm_start: bool
    fit_intercept: bool
    on_zero: str
    multiclass: str
    positive: Any
    verbose: int
    n_jobs: int | None
    tol: float | None
    shuffle: bool | str
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    max_support: int | None

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
        )

    def _new_model(self, n_features: int | None, dtype: Any) -> Model:
        return Model(
            self._rule(),
            readout=getattr(self, "readout", self._readout),
            n_features=n_features,
            dtype=dtype,
            max_support=getattr(self, "max_support", None),
        )

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
        self._finish(model, history, smallest_margin(model, [block]), verify=(X, labels))
        if history.stopped == "epochs" and getattr(self, "tol", None) is not None:
            warn_of_last_epoch(self, stacklevel=4)

    def _run(self, model: Model, block: Block) -> History:
        """Run the epochs of `fit`; one-vs-rest runs those of each class for itself."""
        schedule, seed = Schedule.of(self, seed=0, holdout=0.0), getattr(self, "random_state", 0)
        held_out = self._held_out(block.codes) if getattr(self, "early_stopping", False) else None
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

    def _train(
        self, model: Model, passes: BlockPasses, history: History, on_epoch: Callable[[History], None] | None = None
    ) -> History:
        """Run the epochs over all classes together. Learners override this if they do more than online passes."""
        return train(model, passes, history, on_epoch=on_epoch)

    def _held_out(self, y: Codes) -> NDArray[np.bool_]:
        """The examples to hold out: `validation_fraction` of each class; those that scikit-learn holds out for this seed."""
        from sklearn.model_selection import StratifiedShuffleSplit

        splitter = StratifiedShuffleSplit(1, test_size=self.validation_fraction, random_state=self.random_state)
        chosen = np.zeros(len(y), bool)
        chosen[next(splitter.split(np.zeros((len(y), 1)), y))[1]] = True
        return chosen

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
        shape = (model.vectors, model.n_features)
        coef = np.zeros(shape) if coef_init is None else np.asarray(coef_init, dtype=np.float64)
        intercept = np.zeros(shape[0]) if intercept_init is None else np.asarray(intercept_init, dtype=np.float64)
        if coef.shape not in (shape, shape[1:] if shape[0] == 1 else shape):
            raise ValueError(
                f"coef_init must have the shape {shape}, one row for each weight vector; got {coef.shape}. Two classes have one "
                "weight vector, for the second of them."
            )
        if intercept.size != shape[0]:
            raise ValueError(
                f"intercept_init must hold {shape[0]} number(s), one for each weight vector; got {intercept.size}. "
                "Leave it out to start from 0."
            )
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "coef_init and intercept_init must be finite; got NaN or infinity. Leave them out to start from 0."
            )
        model.start_from(coef.reshape(shape), intercept.reshape(shape[0]))

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
            Classes to start with; only needed to fix the order of `classes_`, which is then the same as after `fit`.
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
        X, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=first
        )
        distinct, places = _encode_labels(labels)
        table = Table(X, None if first else self.model_.dtype)
        model = self._new_model(table.shape[1], table.dtype) if first else self.model_
        if first:
            if classes is not None:
                model.add_class(*ordered(np.unique(classes).tolist(), self.positive, type(self).__name__))
            self._check_positive_of_stream(len(model.classes))
            self._check_can_move(model)
        names = distinct.tolist()
        of_class = None if self.class_weight is None else np.array([self._importance(n) for n in names])[places]
        model.learn(table, names, places, self._weights(sample_weight, X, of_class))
        self._name_features(model)
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
        if self.class_weight is not None:
            self._check_stream_weights()
            sample_weight *= self._importance(y)
        model = self.__dict__.get("model_")
        if model is None:
            self._check_parameters()
            model = self._new_model(None, np.float64)
            self._check_positive_of_stream(0)
            self._check_can_move(model)
        guess = model.learn_one(x, y, sample_weight)
        if self.__dict__.get("n_features_in_") != model.n_features:
            self.n_features_in_ = model.n_features
            self.model_ = model
        return guess

    def predict_one(self, x: Any) -> Any:
        """Predict the class of one example, a dict or a 1-D array; None before the first label."""
        model = getattr(self, "model_", None)
        return None if model is None else model.predict_one(x)

    # ---- predict ----

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of the examples: one for each example with two classes, else one for each example and class."""
        from sklearn.utils.validation import validate_data

        model = self._fitted()
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
        )
        scores = model.scores(Table(X), self._threads())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the highest score; at a score of exactly 0 the second of two, in a tie the first."""
        scores, classes = self.decision_function(X), self.classes_
        return classes[predicted_classes(scores.reshape(len(scores), -1), classes.size)]

    def _threads(self) -> int:
        """The number of threads that `n_jobs` stands for."""
        self._check_parameters("n_jobs")
        if self.n_jobs is None and "joblib" not in sys.modules:  # then no context of joblib can be active
            return 1
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.n_jobs))

    # ---- fitted ----

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

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes. After `fit` sorted, of two the positive one last; on a stream in order of first appearance."""
        return np.array(self._attribute("classes_").classes)

    @property
    def coef_(self) -> NDArray[Any]:
        """The weights: one row for two classes, else one row for each class."""
        return self._attribute("coef_").coef()[0]

    @property
    def intercept_(self) -> Floats:
        """The weights of the bias feature."""
        return self._attribute("intercept_").coef()[1]

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


def _line_of_epoch(history: History, prefix: str = "") -> None:
    """Print a line for the last epoch."""
    epoch = history.done[-1]
    loss = f"loss {epoch.mean_loss:.6g}"
    print(f"{prefix}epoch {len(history.done)}: {epoch.mistakes} mistakes, {epoch.updates} updates, {loss}")


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
        present = np.bincount((y - lowest).astype(np.int64)) > 0
        return np.flatnonzero(present).astype(y.dtype) + lowest, (np.cumsum(present) - 1)[y - lowest]
    if y.dtype.kind not in "bU":
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64, copy=False)
