"""The parts of a learner: its step function, its parameters, and the core model made from them."""

from collections.abc import Callable
from typing import Any, ClassVar

from rosenblatt.engine.codegen import step_parameters
from rosenblatt.model.linear import Model
from rosenblatt.model.rule import Rule

from .parameters import Declared


class _Absent:
    """Replacement of a method that a learner does not have."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        raise AttributeError(
            f"{owner.__name__ if owner else 'This learner'} needs the whole training set and has no `{self.name}`; use `fit`, "
            "or a learner for streams such as AveragedPerceptron"
        )


class Blueprint(Declared):
    """The settings in the class statement of a learner, described in `LinearClassifier`, and its parameters."""

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
    verbose: int
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
