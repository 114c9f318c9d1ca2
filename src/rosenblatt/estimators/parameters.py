"""The parameters of the learners. Each is declared once: default, allowed values and description.

`positive`, `whole`, `switch`, `choice` and `parameter` declare one as a field of a dataclass. The checks and their messages, the
Parameters section of the docstrings, `--set` on the command line, the parameters of the service and the controls of the lab all
come from these declarations. Parameters of several learners are in this file; those of one learner are in its file.
"""

import dataclasses
import functools
import inspect
import math
import numbers
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rosenblatt.engine.conventions import ON_ZERO, SCHEMES

SWITCH = (True, False)


def is_real(value: Any) -> bool:
    """Whether a value is a real number and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parameter:
    """Description and allowed values of a parameter.

    Attributes
    ----------
    about : str
        Description. Its last sentence is also the end of the error message for a wrong number: the advice.
    number : {"float", "int"} or None
        The type of the allowed numbers, if any.
    above, least, most, below : float or None
        Limits of the numbers; `above` and `below` are excluded.
    odd : bool
        Whether the number must be odd.
    nonzero : bool
        Whether the number must not be 0.
    choices : tuple
        The allowed words, True and False.
    other : tuple of a name and a test, or None
        Another allowed type, such as ("dict", test).
    none : bool
        Whether None is allowed.
    fit_only : bool
        Whether `partial_fit` and `learn_one` ignore it.
    """

    about: str
    number: str | None = None
    above: float | None = -math.inf
    least: float | None = None
    most: float | None = None
    below: float | None = math.inf
    odd: bool = False
    nonzero: bool = False
    choices: tuple[Any, ...] = ()
    other: tuple[str, Callable[[Any], bool]] | None = None
    none: bool = False
    fit_only: bool = False

    @property
    def advice(self) -> str:
        """The end of an error message: the advice."""
        if self.choices and not (self.number or self.other):
            return "See the description of the parameter for their meaning."
        return self.about.rpartition(". ")[2]

    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if value is None:
            return self.none
        return (
            (self.number is not None and self._is_number(value))
            or (getattr(value, "ndim", 0) == 0 and value in self.choices)
            or (self.other is not None and self.other[1](value))
        )

    def _is_number(self, value: Any) -> bool:
        if self.number == "int":
            # As in scikit-learn, True is allowed as 1 where 0 is allowed, such as for `verbose`.
            right = isinstance(value, numbers.Integral) and not (isinstance(value, bool) and self.least != 0)
        else:
            right = is_real(value)
        return (
            right
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
            and not (self.odd and value % 2 == 0)
            and not (self.nonzero and value == 0)
        )

    @property
    def limits(self) -> str:
        """The limits in words, such as " greater than 0 and at most 1"."""
        if self.above == 0 and self.below == 1:
            return " between 0 and 1"
        if self.nonzero:
            return " other than 0"
        named = {"greater than": self.above, "of at least": self.least, "at most": self.most}
        words = [f"{words} {limit:g}" for words, limit in named.items() if limit not in (None, -math.inf)]
        return " " + " and ".join(words) if words else ""

    def message(self, name: str, owner: str, value: Any) -> str:
        """Error message for a value that is not allowed."""
        noun = {"float": "a number", "int": "an odd number" if self.odd else "a whole number"}
        allowed = ["None"] * self.none + [repr(word) for word in self.choices]
        if self.choices and self.choices != SWITCH and not (self.none or self.number or self.other):
            must = f"be one of {', '.join(allowed)}"
        elif self.limits.startswith(" between"):
            must = f"be{self.limits}"
        else:
            allowed += [noun[self.number] + self.limits] if self.number else []
            allowed += [f"a {self.other[0]}"] if self.other else []
            must = f"be {_either(allowed)}"
        return f"`{name}` of {owner} must {must}; got {value!r}. {self.advice}"

    def document(self, name: str, default: Any) -> str:
        """Entry in the Parameters section of a docstring."""
        words = [_quoted(word) for word in self.choices if not isinstance(word, bool)]
        kinds = [self.number + self.limits] if self.number else []
        kinds += ["bool"] if True in self.choices else []
        if len(words) > 1 and not kinds:
            words = ["{" + ", ".join(words) + "}"]
        other = [self.other[0]] if self.other else []
        kind = _either([*kinds, *words, *other, *["None"] * self.none])
        text = textwrap.fill(self.about, 120, initial_indent="    ", subsequent_indent="    ")
        return f"{name} : {kind}, default={_quoted(default)}\n{text}"


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# ---- declaring ----


def parameter(default: Any, about: str, *, positional: bool = False, **allowed: Any) -> Any:
    """Declare a parameter; `about` and `allowed` are attributes of `Parameter`."""
    declared = Parameter(about=about, **allowed)
    return dataclasses.field(default=default, kw_only=not positional, metadata={"parameter": declared})


def positive(default: float | None, about: str, **allowed: Any) -> Any:
    """Declare a number greater than 0."""
    return parameter(default, about, number="float", above=0, **allowed)


def whole(default: int | None, about: str, *, least: int | None = 1, **allowed: Any) -> Any:
    """Declare an integer of at least `least`."""
    return parameter(default, about, number="int", least=least, **allowed)


def choice(default: Any, choices: Iterable[Any], about: str, **allowed: Any) -> Any:
    """Declare one of several words."""
    return parameter(default, about, choices=tuple(choices), **allowed)


def switch(default: bool, about: str, **allowed: Any) -> Any:
    """Declare a bool."""
    return parameter(default, about, choices=SWITCH, **allowed)


def shared(name: str, *default: Any) -> Any:
    """Reuse a parameter of `OnlineParameters` or `_CommonParameters`, optionally with another default."""
    field = {**OnlineParameters.__dataclass_fields__, **_CommonParameters.__dataclass_fields__}[name]
    return dataclasses.field(default=default[0] if default else field.default, metadata=field.metadata)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class PenaltyParameters:
    """The penalty of additive rules. List it first among the base classes."""

    penalty: str | None = parameter(
        None,
        "What every example takes off the weights, as in scikit-learn: a share of each (l2), the same amount from each until it "
        "is 0 (l1), or both. No mistake bound holds with a penalty. None takes off nothing.",
        choices=("l2", "l1", "elasticnet"), none=True,
    )  # fmt: skip
    alpha: float = parameter(
        0.0001, "Factor of the penalty. Larger values give smaller weights.", number="float", least=0
    )
    l1_ratio: float | None = parameter(
        0.15,
        'Share of l1 in the penalty "elasticnet"; the rest is l2. Larger values give more weights of 0.',
        number="float", least=0, most=1, none=True,
    )  # fmt: skip


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class OnlineParameters:
    """Parameters of all online learners. List it before `LinearClassifier` among the base classes."""

    fit_intercept: bool = switch(True, "Whether to add a constant feature 1, whose weight is `intercept_`.")
    max_iter: int = whole(
        1000, "Largest number of epochs of `fit`. More epochs may give a better result.", fit_only=True
    )
    tol: float | None = parameter(
        1e-3,
        "Stop when the mean loss has not decreased by this much for `n_iter_no_change` epochs, or after `max_iter`. None trains "
        "until no mistake is left.",
        number="float", least=0, below=None, none=True, fit_only=True,
    )  # fmt: skip
    shuffle: bool | str = choice(
        True,
        [True, False, "replacement"],
        'Visit the examples in a new random order in each epoch; "replacement" draws them with replacement.',
        fit_only=True,
    )
    random_state: Any = parameter(
        0,
        "Seed of all random choices, such as the order of examples. An integer makes the result reproducible.",
        number="int", least=0, other=("RandomState", lambda value: hasattr(value, "randint")), none=True,
    )  # fmt: skip
    early_stopping: bool = switch(
        False,
        "Hold out `validation_fraction` of the examples and stop when the accuracy on them no longer increases by `tol`.",
        fit_only=True,
    )
    validation_fraction: float = parameter(
        0.1,
        "Only with `early_stopping`. It is the share of held-out examples.",
        number="float", above=0, below=1, fit_only=True,
    )  # fmt: skip
    n_iter_no_change: int = whole(
        5,
        "Number of epochs without improvement after which training stops. Larger values wait longer for an improvement.",
        fit_only=True,
    )
    class_weight: Any = parameter(
        None,
        "Factor of the steps of each class; with a larger factor, mistakes on that class count more. A dict maps each class "
        "to its factor.",
        choices=("balanced",), other=("dict", lambda value: isinstance(value, Mapping)), none=True,
    )  # fmt: skip
    warm_start: bool = switch(False, "Start `fit` with the weights of the last fit.", fit_only=True)
    on_zero: str = choice(
        "update",
        ON_ZERO,
        "Meaning of a score of exactly 0: always a mistake; a prediction of the second class (the first of tied classes); never "
        "a mistake.",
    )
    multiclass: str = choice(
        "max",
        SCHEMES,
        "With three or more classes, the classes whose weights decrease in an update: the top rival; all other classes; all that "
        "score as high, in equal parts or by their lead; or none, with one learner for each class against the rest, which `fit` "
        "trains in an order of its own until it stops by itself.",
    )
    positive: Any = parameter(
        None,
        "The class with the label +1 of two classes inside the rule: the class that a score of 0 predicts. None takes the second "
        "class in sorted order, and + of labels such as - and +. `classes_`, `coef_` and the scores stay in sorted order. Name "
        "one of the two classes.",
        other=("label", lambda value: isinstance(value, str | numbers.Real)), none=True, fit_only=True,
    )  # fmt: skip
    verbose: int = whole(0, "1 prints a line for each epoch. 0 prints nothing.", least=0, fit_only=True)
    n_jobs: int | None = whole(
        None,
        "Number of threads that compute the scores of many rows, as in `predict`, and that train classes side by side with "
        '`multiclass="ovr"`; it never changes a result. Otherwise learning takes one thread, because each example is scored with '
        "the weights that the one before it has left. None is 1 except in a `joblib.parallel_config`; -1 is all cores, -2 all "
        "but one. Larger values, up to the number of cores, are faster on large inputs.",
        least=None, nonzero=True, none=True, fit_only=True,
    )  # fmt: skip
    penalty: str | None = parameter(
        None,
        "For code that sets it as for scikit-learn's classes: this learner has no penalty. Leave it out, or take Perceptron, "
        "AveragedPerceptron, MarginPerceptron or PassiveAggressive for one.",
        none=True,
    )


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _CommonParameters:
    """Parameters of some learners."""

    eta0: float = positive(
        1.0, "Size of a step; from zero weights it only scales them. Larger values take larger steps."
    )
    covariance: str = choice(
        "diagonal",
        ["diagonal", "full"],
        "One variance for each weight, or a full matrix: (features + 1)² numbers for each weight vector, and the same time for "
        "each update.",
    )
    readout: str = choice(
        "last", ["last", "average"], "Predict with the last weights, or with the mean of all weights."
    )


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class OnlineRegressionParameters:
    """Parameters of all learners of real targets. List it before `LinearRegressor` among the base classes."""

    fit_intercept: bool = shared("fit_intercept")
    max_iter: int = shared("max_iter")
    tol: float | None = parameter(
        1e-3,
        "Stop when the mean loss has not decreased by this much for `n_iter_no_change` epochs, or after `max_iter`. None trains "
        "until no example has a loss.",
        number="float", least=0, below=None, none=True, fit_only=True,
    )  # fmt: skip
    shuffle: bool | str = shared("shuffle")
    random_state: Any = shared("random_state")
    early_stopping: bool = switch(
        False,
        "Hold out `validation_fraction` of the examples and stop when R² on them no longer increases by `tol`.",
        fit_only=True,
    )
    validation_fraction: float = shared("validation_fraction")
    n_iter_no_change: int = shared("n_iter_no_change")
    warm_start: bool = shared("warm_start")
    verbose: int = shared("verbose")


# ---- using the declarations ----


def declarations(learner: Any) -> dict[str, Parameter]:
    """Declared parameters of a learner by name. A subclass that only changes a default keeps the declaration."""
    return _declarations(learner)


@functools.cache
def _declarations(learner: type) -> dict[str, Parameter]:
    bases = (vars(base).get("__dataclass_fields__", {}) for base in reversed(learner.__mro__))
    fields = [field for fields in bases for field in fields.values() if "parameter" in field.metadata]
    return {field.name: field.metadata["parameter"] for field in fields}


def defaults(learner: Any) -> dict[str, Any]:
    """Defaults of the declared parameters of a learner by name."""
    fields = learner.__dataclass_fields__
    return {name: fields[name].default for name in declarations(learner)}


class Declared:
    """Estimator with declared parameters: they are checked, and replace ``{parameters}`` in its docstring."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and "{parameters}" in cls.__doc__:
            # cleandoc, because from Python 3.13 on docstrings no longer have the indentation of their class.
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{parameters}", _section(cls))

    def _check_parameters(self, *names: str) -> None:
        """Raise an error if one of these parameters (default: all) has a value that is not allowed."""
        declared = declarations(type(self))
        for name in names or declared:
            value = getattr(self, name)
            if not declared[name].allows(value):
                raise ValueError(declared[name].message(name, type(self).__name__, value))

    def _check_positive_of_stream(self, known: int) -> None:
        """Raise an error if `positive` is set and fewer than two classes are known: numbers of classes never change later."""
        value = getattr(self, "positive", None)
        if value is not None and known < 2:
            raise ValueError(
                f"`positive` of {type(self).__name__} must be None on a stream whose two classes are not known in advance; got "
                f"{value!r}. Pass `classes` to the first call of partial_fit."
            )


def _section(cls: type) -> str:
    """Parameters section of a class before it becomes a dataclass: its own parameters come first."""
    own = {name: vars(cls)[name] for name in inspect.get_annotations(cls) if name in vars(cls) and name[0] != "_"}
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("__dataclass_fields__", {})
    entries = ["Parameters", "----------"]
    for name, value in (own | {name: field for name, field in inherited.items() if name not in own}).items():
        default = value.default if isinstance(value, dataclasses.Field) else value
        field = value if isinstance(value, dataclasses.Field) else inherited.get(name)
        declared = field.metadata.get("parameter") if field is not None else None
        entries.append(declared.document(name, default) if declared else f"{name} : float, default={default!r}")
    return "\n".join(entries)
