"""The scikit-learn interface of a linear model of a real target."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.regression import RealModel, bits_of
from rosenblatt.training.history import History
from rosenblatt.training.loop import BlockPasses, TargetBlock, train
from rosenblatt.training.schedule import Schedule, VisitingOrder

from .base import Floats, LinearLearner, as_before_on_failure, checked_labels
from .bases import bases
from .certificate import warn_of_last_epoch

if TYPE_CHECKING:
    from sklearn.base import RegressorMixin
else:
    RegressorMixin, _ = bases("Regressor")


class LinearRegressor(RegressorMixin, LinearLearner):
    """Regressor with one weight for each feature. Subclasses are dataclasses whose fields are the parameters.

    The keyword arguments of the class statement are those of `LinearLearner`. The step function takes the loss in place of the
    margin, ``step(loss, sq_norm, …) -> tau`` or ``step(loss, variance, weight, …) -> alpha, beta``: the amount by which the error
    between target and score is larger than -target_margin, which is epsilon. The step goes towards the target.
    """

    _model_class: ClassVar[type[Model]] = RealModel
    _target_margin: ClassVar[float] = 0.0
    on_zero = "update"
    multiclass = "max"

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
            Their targets, real numbers.
        coef_init : array of shape (n_features,), default=None
            Weights to start from; zeros by default.
        intercept_init : float or array of shape (1,), default=None
            Intercept to start from.
        sample_weight : array of shape (n_examples,), default=None
            Weight of each example; an example of weight 0 is ignored.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            self._check_parameters()
            X, targets = self._checked(X, y, reset=True)
            table = Table(X)
            model = self._new_model(table.shape[1], table.dtype)
            self._start(model, coef_init, intercept_init)
            block = TargetBlock(table, bits_of(targets), self._weights(sample_weight, X, None), whole=True)
            history = self._run(model, block)
            self._name_features(model)
            self._finish(model, history)
            if history.stopped == "epochs" and self.tol is not None:
                warn_of_last_epoch(self)
        return self

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, Floats]:
        """Examples and targets in the form that the model needs."""
        from sklearn.utils.validation import validate_data

        X, targets = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, y_numeric=True,
            reset=reset,
        )  # fmt: skip
        return X, np.asarray(targets, dtype=np.float64)

    def _run(self, model: Model, block: TargetBlock) -> History:
        """Run the epochs of `fit`."""
        schedule = Schedule.of(self, seed=0, holdout=0.0)
        chosen = self._held_out(block.codes.size) if self.early_stopping else None
        held_out = None if chosen is None else lambda first, count: chosen
        if chosen is not None and block.weights.size and not block.weights[chosen].any():
            raise ValueError(
                "The sample weights for the validation set must not all be 0, because they decide when to stop; got only zeros. "
                "Try another random_state, or turn early_stopping off."
            )
        order = VisitingOrder(schedule.shuffle, self.random_state)
        passes = BlockPasses(model, lambda: (block,), order, schedule, held_out=held_out)
        return self._train(model, passes, History(), _line_of_epoch if self.verbose else None)

    def _train(self, model: Model, passes: BlockPasses, history: History, on_epoch: Any = None) -> History:
        return train(model, passes, history, cycles=False, on_epoch=on_epoch)

    def _held_out(self, examples: int) -> NDArray[np.bool_]:
        """The examples to hold out: those that scikit-learn holds out for this seed."""
        from sklearn.model_selection import ShuffleSplit

        splitter = ShuffleSplit(1, test_size=self.validation_fraction, random_state=self.random_state)
        chosen = np.zeros(examples, bool)
        chosen[next(splitter.split(np.zeros((examples, 1))))[1]] = True
        return chosen

    def _finish(self, model: Model, history: History, *_: Any, **__: Any) -> None:
        """Set the fitted attributes; the same for `fit` and the command line."""
        epochs = history.epochs
        self.model_ = model
        self.n_iter_ = len(epochs)
        self.updates_per_epoch_ = np.array([epoch.updates for epoch in epochs], np.int64)
        self.loss_per_epoch_ = np.array([epoch.mean_loss for epoch in epochs], np.float64)
        self.converged_ = history.stopped == "no mistakes"

    # ---- streams ----

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the examples once, in the given order.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        y : array of shape (n_examples,)
            Their targets.
        sample_weight : array of shape (n_examples,), default=None
            Weight of each example.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            self._check_parameters()
            first = not hasattr(self, "model_")
            table = self._to_learn(X, self.__dict__.get("model_"))
            if table is None:
                X, targets = self._checked(X, y, reset=first)
                table = Table(X, None if first else self.model_.dtype)
            else:
                targets = np.asarray(checked_labels(y, len(table)), dtype=np.float64)
            model = self._new_model(table.shape[1], table.dtype) if first else self.model_
            assert isinstance(model, RealModel)
            model.learn_values(table, targets, self._weights(sample_weight, targets, None))
            self._name_features(model)
            self.model_ = model
        return self

    def learn_one(self, x: Any, y: float, sample_weight: float = 1.0) -> float:
        """Predict the target of one example, then learn it.

        Parameters
        ----------
        x : dict or 1-D array
            Features by name (new names may appear at any time), or all features in order.
        y : float
            The true target.
        sample_weight : float, default=1.0
            Weight of the example.

        Returns
        -------
        float
            The prediction made before learning; 0 for the first example.
        """
        if "encoder_" in self.__dict__ and isinstance(x, Mapping | str):
            prediction = self.predict_one(x)
            if sample_weight != 0.0:
                one: list[Any] = [x]
                self.partial_fit(one, [y], sample_weight=[sample_weight])
            return prediction
        model = self.__dict__.get("model_")
        if model is None:
            self._check_parameters()
            model = self._new_model(None, np.float64)
        guess: float = model.learn_one(x, y, sample_weight)
        if self.__dict__.get("n_features_in_") != model.n_features:
            self.n_features_in_ = model.n_features
            self.model_ = model
        return guess

    def predict_one(self, x: Any) -> float:
        """Predict the target of one example, a dict or a 1-D array; 0 before the first example."""
        model = getattr(self, "model_", None)
        if model is not None and "encoder_" in self.__dict__ and isinstance(x, Mapping | str):
            return float(self._scores_of_one(x)[0, 0])
        return 0.0 if model is None else model.predict_one(x)

    # ---- predict ----

    def predict(self, X: ArrayLike) -> Floats:
        """Predict the target of each example."""
        return self._scores(X)[:, 0]

    # ---- fitted ----

    @property
    def coef_(self) -> Any:
        """The weights. Read-only; assign an array to replace them."""
        coef = self._attribute("coef_").coef()[0][0]
        coef.flags.writeable = False
        if self.__dict__.get("_sparse_coef"):
            from scipy.sparse import csr_matrix

            return csr_matrix(coef[None, :])
        return coef

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        self._replace(coef, self.intercept_)

    @property
    def intercept_(self) -> Floats:
        """The weight of the bias feature, in an array. Read-only; assign an array to replace it."""
        intercept = self._attribute("intercept_").coef()[1]
        intercept.flags.writeable = False
        return intercept

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        self._replace(self.coef_, intercept)


def _line_of_epoch(history: History) -> None:
    """Print a line for the last epoch."""
    epoch = history.done[-1]
    print(f"epoch {len(history.done)}: {epoch.updates} updates, loss {epoch.mean_loss:.6g}")
