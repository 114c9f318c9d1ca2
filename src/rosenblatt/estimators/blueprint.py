"""What a learner is made of: its step function, its parameters and what they may be, and the core model that follows."""

import dataclasses
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rosenblatt.engine import loop
from rosenblatt.engine.codegen import step_parameters
from rosenblatt.engine.multiclass import SCHEMES
from rosenblatt.model.linear import Model, Rule

from .checks import check_count, check_word, is_real
from .parameters import ONLINE_PARAMETERS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Blueprint", "positive"]


def positive(default: float, hint: str, most: float = math.inf) -> Any:
    """A parameter that must be greater than 0 and at most `most`; the hint, what it does, ends the error message."""
    return dataclasses.field(default=default, metadata={"positive": hint, "most": most})


class _Absent:
    """Takes the place of a method that a learner does not have."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        raise AttributeError(
            f"{owner.__name__ if owner else 'This learner'} needs the whole training set and has no `{self.name}`; use `fit`, "
            "or a learner for streams such as AveragedPerceptron"
        )


class Blueprint:
    """What the class statement of a learner and its parameters say; `LinearClassifier` describes the class statement."""

    _step: ClassVar[Callable[..., Any]]
    _readout: ClassVar[str] = "last"
    _target_margin: ClassVar[float] = float("inf")
    _constant_step: ClassVar[str | None] = None
    _words: ClassVar[dict[str, list[Any]]] = {}
    """The parameters that are words, and the words that each may be."""

    # Parameters that a subclass has as fields; some have only a part of them.
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
        if cls.__doc__ and "{online_parameters}" in cls.__doc__:
            # Clean, since from Python 3.13 on docstrings no longer have the indentation of their class.
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace(
                "{online_parameters}", inspect.cleandoc(ONLINE_PARAMETERS)
            )

    # ---- the rule ----

    def _params(self) -> tuple[float, ...]:
        """The numbers that the step function takes after margin and squared norm."""
        return tuple(float(getattr(self, name)) for name in step_parameters(self._step))

    def _target(self) -> float:
        """The margin above which an example is left alone."""
        return self._target_margin

    def _link(self) -> str:
        return "identity"

    def _initial_variance(self) -> float:
        """What the variances of a second-order rule start from."""
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

    def _check_parameters(self) -> None:
        for field in dataclasses.fields(cast("DataclassInstance", self)):
            hint = field.metadata.get("positive")
            if hint is not None:
                self._check_positive(field.name, hint, field.metadata["most"])
        words = {"on_zero": list(loop.ON_ZERO), "multiclass": list(SCHEMES)} | self._words
        for parameter, allowed in words.items():
            self._check_word(parameter, allowed)
        self._check_count("max_iter", "More epochs may find more.")
        if getattr(self, "max_support", None) is not None:
            self._check_count("max_support", "None keeps all.")

    def _check_positive(self, parameter: str, hint: str, most: float = math.inf) -> None:
        value = getattr(self, parameter)
        if not is_real(value) or not 0 < value < math.inf or value > most:
            limit = f" and at most {most:g}" if most < math.inf else ""
            raise ValueError(
                f"`{parameter}` of {type(self).__name__} must be a number greater than 0{limit}; got {value!r}. {hint}"
            )

    def _check_word(self, parameter: str, allowed: list[Any]) -> None:
        check_word(self, parameter, allowed)

    def _check_count(self, parameter: str, hint: str) -> None:
        check_count(self, parameter, hint)

    def _check_can_move(self, model: Model) -> None:
        """`on_zero="keep"` from zero weights never makes a mistake, so it would never learn anything."""
        if self.on_zero == "keep" and model.rule.target <= 0 and not model.state.w.any() and not model.state.bias.any():
            raise ValueError(
                f'on_zero="keep" of {type(self).__name__} needs starting weights other than 0, because from 0 every score is 0 '
                'and none of them counts as a mistake; got none. Pass coef_init to fit, or use on_zero="update".'
            )
