"""The parameters of the learners. Each is declared once: default, allowed values and description.

`positive`, `whole`, `switch`, `choice` and `parameter` declare one as a field of a dataclass. The checks and their messages, the
Parameters section of the docstrings, `--set` on the command line, the parameters of the service and the controls of the lab all
come from these declarations. Parameters of several learners stand here; a learner's own stand in its own file.
"""

import dataclasses
import functools
import inspect
import math
import numbers
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rosenblatt.engine.multiclass import SCHEMES
from rosenblatt.engine.state import ON_ZERO

SWITCH = (True, False)


def is_real(value: Any) -> bool:
    """Whether a value is a number that is neither complex nor a truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parameter:
    """What a parameter does and which values it may have.

    Attributes
    ----------
    about : str
        What it does. The last sentence also ends the message about a wrong number: it says what to do.
    number : {"float", "int"} or None
        The kind of numbers that are allowed, if any.
    above, least, most, below : float or None
        Limits of the numbers; `above` and `below` are not allowed themselves.
    odd : bool
        Whether the number must be odd.
    choices : tuple
        The words that are allowed, and True and False.
    other : tuple of a name and a test, or None
        A further kind of values, such as ("dict", test).
    none : bool
        Whether None is allowed.
    fit_only : bool
        Whether it has no effect on `partial_fit` and `learn_one`.
    """

    about: str
    number: str | None = None
    above: float | None = -math.inf
    least: float | None = None
    most: float | None = None
    below: float | None = math.inf
    odd: bool = False
    choices: tuple[Any, ...] = ()
    other: tuple[str, Callable[[Any], bool]] | None = None
    none: bool = False
    fit_only: bool = False

    @property
    def advice(self) -> str:
        """The end of an error message: what to do."""
        if self.choices and not (self.number or self.other):
            return "See the parameter's description for what each of them does."
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
            # As in scikit-learn, True is 1 where 0 would do, such as for `verbose`.
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
        )

    @property
    def limits(self) -> str:
        """The limits of its numbers in words, such as " greater than 0 and at most 1"."""
        if self.above == 0 and self.below == 1:
            return " between 0 and 1"
        named = {"greater than": self.above, "of at least": self.least, "at most": self.most}
        words = [f"{words} {limit:g}" for words, limit in named.items() if limit not in (None, -math.inf)]
        return " " + " and ".join(words) if words else ""

    def message(self, name: str, owner: str, value: Any) -> str:
        """What to tell about a value that is not allowed: what, what is allowed, what came, what to do."""
        noun = {"float": "a number", "int": "an odd number" if self.odd else "a whole number"}
        allowed = ["None"] * self.none + [repr(word) for word in self.choices]
        if self.choices and self.choices != SWITCH and not (self.none or self.number or self.other):
            must = f"be one of {', '.join(allowed)}"
        elif self.limits.startswith(" between"):
            must = f"lie{self.limits}"
        else:
            allowed += [noun[self.number] + self.limits] if self.number else []
            allowed += [f"a {self.other[0]}"] if self.other else []
            must = f"be {_either(allowed)}"
        return f"`{name}` of {owner} must {must}; got {value!r}. {self.advice}"

    def document(self, name: str, default: Any) -> str:
        """Its entry in the Parameters section of a docstring."""
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
    """A parameter; `about` and `allowed` are attributes of `Parameter`."""
    declared = Parameter(about=about, **allowed)
    return dataclasses.field(default=default, kw_only=not positional, metadata={"parameter": declared})


def positive(default: float | None, about: str, **allowed: Any) -> Any:
    """A number greater than 0."""
    return parameter(default, about, number="float", above=0, **allowed)


def whole(default: int | None, about: str, *, least: int | None = 1, **allowed: Any) -> Any:
    """A whole number of at least `least`."""
    return parameter(default, about, number="int", least=least, **allowed)


def choice(default: Any, choices: Iterable[Any], about: str, **allowed: Any) -> Any:
    """One of several words."""
    return parameter(default, about, choices=tuple(choices), **allowed)


def switch(default: bool, about: str, **allowed: Any) -> Any:
    """True or False."""
    return parameter(default, about, choices=SWITCH, **allowed)


def shared(name: str, *default: Any) -> Any:
    """The parameter of that name as `OnlineParameters` or `_CommonParameters` declares it, perhaps with another default."""
    field = {**OnlineParameters.__dataclass_fields__, **_CommonParameters.__dataclass_fields__}[name]
    return dataclasses.field(default=default[0] if default else field.default, metadata=field.metadata)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class OnlineParameters:
    """The parameters that every online learner has; stands before `LinearClassifier` among the bases."""

    fit_intercept: bool = switch(True, "Whether to add a constant feature 1, whose weight is `intercept_`.")
    max_iter: int = whole(1000, "Epochs of `fit` at most. More epochs may find more.", fit_only=True)
    tol: float | None = parameter(
        1e-3,
        "Stop when the mean loss has not fallen by this much for `n_iter_no_change` epochs, or after `max_iter`. None trains "
        "until no mistake is left.",
        number="float", least=0, below=None, none=True, fit_only=True,
    )  # fmt: skip
    shuffle: bool | str = choice(
        True,
        [True, False, "replacement"],
        'Visit the examples in a fresh order each epoch; "replacement" draws them at random, some twice and some never.',
        fit_only=True,
    )
    random_state: Any = parameter(
        0,
        "Seed of everything that is left to chance, such as the order. A number gives the same result each time.",
        number="int", least=0, other=("RandomState", lambda value: hasattr(value, "randint")), none=True,
    )  # fmt: skip
    early_stopping: bool = switch(
        False,
        "Set `validation_fraction` of the examples aside and stop when the accuracy on them no longer rises by `tol`.",
        fit_only=True,
    )
    validation_fraction: float = parameter(
        0.1,
        "Only with `early_stopping`. It is the share of the examples set aside to decide when to stop.",
        number="float", above=0, below=1, fit_only=True,
    )  # fmt: skip
    n_iter_no_change: int = whole(
        5,
        "Epochs without improvement that end training. Larger values wait longer for an improvement.",
        fit_only=True,
    )
    class_weight: Any = parameter(
        None,
        "A factor for the steps of each class; raising it makes mistakes on that class count more. A dict maps each class to its "
        "factor.",
        choices=("balanced",), other=("dict", lambda value: isinstance(value, Mapping)), none=True,
    )  # fmt: skip
    warm_start: bool = switch(False, "Begin `fit` with the weights of the last one.", fit_only=True)
    on_zero: str = choice(
        "update",
        ON_ZERO,
        "What a score of exactly 0 is: always a mistake; a prediction of the second class (the first of tied classes); never a "
        "mistake.",
    )
    multiclass: str = choice(
        "max",
        SCHEMES,
        "Which classes lose when one of three or more classes gains: the top rival; every other class; all that score as high, "
        "evenly or by their lead; or none, K learners each against the rest.",
    )
    verbose: int = whole(0, "1 prints a line for each epoch. 0 prints nothing.", least=0, fit_only=True)
    n_jobs: int | None = whole(
        None,
        "Accepted for compatibility. It has no effect: all classes are learned in one pass.",
        least=None, none=True, fit_only=True,
    )  # fmt: skip


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _CommonParameters:
    """Parameters that some learners have."""

    eta0: float = positive(
        1.0, "The size of a step; from zero weights it only scales them. Larger values take larger steps."
    )
    covariance: str = choice(
        "diagonal",
        ["diagonal", "full"],
        "One variance for each weight, or a whole matrix: (features + 1)² numbers for each weight vector, and as much time for "
        "each update.",
    )
    readout: str = choice(
        "last", ["last", "average"], "Predict with the last weights, or with the mean of all of them."
    )


# ---- using the declarations ----


def declarations(learner: Any) -> dict[str, Parameter]:
    """The declared parameters of a learner by name. A subclass that only changes a default keeps the declaration."""
    return _declarations(learner)


@functools.cache
def _declarations(learner: type) -> dict[str, Parameter]:
    bases = (vars(base).get("__dataclass_fields__", {}) for base in reversed(learner.__mro__))
    fields = [field for fields in bases for field in fields.values() if "parameter" in field.metadata]
    return {field.name: field.metadata["parameter"] for field in fields}


def defaults(learner: Any) -> dict[str, Any]:
    """The defaults of a learner's declared parameters by name."""
    fields = learner.__dataclass_fields__
    return {name: fields[name].default for name in declarations(learner)}


class Declared:
    """An estimator whose parameters are declared: they are checked, and put into its docstring in place of ``{parameters}``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and "{parameters}" in cls.__doc__:
            # Clean, since from Python 3.13 on docstrings no longer have the indentation of their class.
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{parameters}", _section(cls))

    def _check_parameters(self, *names: str) -> None:
        """Refuse values that are not allowed, of these parameters or of all."""
        declared = declarations(type(self))
        for name in names or declared:
            value = getattr(self, name)
            if not declared[name].allows(value):
                raise ValueError(declared[name].message(name, type(self).__name__, value))


def _section(cls: type) -> str:
    """The Parameters section of a class that is about to become a dataclass: its own parameters come first."""
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
