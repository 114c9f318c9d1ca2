"""Step functions of rules: what their arguments say about the rule, their sources, and the addresses of their machine code.

The step functions of the built-in rules are part of the compiled library. Others are compiled by Numba when they are first used,
and only they: the loops call a step function by its address.
"""

import ast
import functools
import inspect
import math
import textwrap
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

from .native import LIBRARY
from .state import Additive, Committee, Diagonal, Full, Scaled

Step = Callable[..., Any]

_PARSING = threading.Lock()
"""Held while a source is parsed: Python 3.11 counts the depth of the tree once for all threads, and may raise a SystemError if
two of them parse."""

_GIVEN = ("margin", "loss", "own", "sq_norm", "w_sq_norm", "steps", "variance", "weight")
"""Arguments of a step function that describe an example; its other arguments are hyperparameters."""

NUMBERS = {
    Additive: ("margin", "sq_norm"),
    Scaled: ("margin", "sq_norm", "w_sq_norm", "steps", "weight"),
    Diagonal: ("margin", "variance", "weight", "unused", "unused_too"),
    Committee: ("margin", "own", "w_sq_norm", "weight", "unused"),
}
"""The numbers that the loops of a kind pass to a rule, in their order. A rule for real targets takes the loss for the margin."""


@functools.cache
def step_parameters(step: Step) -> tuple[str, ...]:
    """The hyperparameters of a step function: its arguments without those that describe an example."""
    names = tuple(inspect.signature(step).parameters)
    if not names or names[0] not in ("margin", "loss"):
        raise TypeError(
            f"The step function `{getattr(step, '__name__', step)}` must take `margin` as its first argument (`loss` for "
            f"real targets), then "
            f"`sq_norm` if it needs it, then its hyperparameters; got ({', '.join(names)}). Rename the first argument."
        )
    return tuple(name for name in names if name not in _GIVEN)


def is_second_order(step: Step) -> bool:
    """Whether a step function has the argument `variance`, and so returns two numbers, alpha and beta."""
    return asks_for(step, "variance")


def is_shrinking(step: Step) -> bool:
    """Whether a step function has the argument `w_sq_norm`, and so also returns the factor of w."""
    return asks_for(step, "w_sq_norm")


def is_regression(step: Step) -> bool:
    """Whether a step function has the argument `loss`, and so learns real targets."""
    return asks_for(step, "loss")


@functools.cache
def asks_for(step: Step, name: str) -> bool:
    """Whether a step function has an argument of this name."""
    return name in inspect.signature(step).parameters


def given_names(step: Step) -> tuple[str, ...]:
    """The arguments of a step function under the names in `NUMBERS`; the loss of a regression takes the place of the margin."""
    return tuple("margin" if name == "loss" else name for name in inspect.signature(step).parameters)


@functools.cache
def kind_of_step(step: Step, covariance: str = "diagonal") -> type:
    """The kind of a rule, one of the classes of states, from the arguments of its step function."""
    if is_second_order(step):
        return Full if covariance == "full" else Diagonal
    if asks_for(step, "own"):
        return Committee
    return Scaled if is_shrinking(step) else Additive


@functools.cache
def step_address(step: Step) -> int:
    """The address of the machine code of a step function."""
    built_in = LIBRARY.step(step)
    if built_in is not None:
        return built_in
    return int(compile_step(step).address)


def compile_step(step: Step) -> Any:
    """Compile a step function with Numba."""
    try:
        from .codegen import compile_step as compiled
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"A rule of your own is compiled by Numba, which is not installed ({error.name} is missing). "
            "Install it with: pip install 'rosenblatt[rules]'",
            name=error.name,
        ) from error
    return compiled(step)


def definitions(function: Step) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the sources of everything that a function refers to and of the function itself, by name."""
    function = getattr(function, "py_func", function)
    source = textwrap.dedent(inspect.getsource(function))
    with _PARSING:
        tree = ast.parse(source).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise OSError("a lambda has no separate source")
    tree.decorator_list = []
    tree.returns = None
    for argument in tree.args.args + tree.args.kwonlyargs:
        argument.annotation = None
    tree.args.defaults = []
    used = inspect.getclosurevars(function)
    for name, value in {**used.globals, **used.nonlocals}.items():
        if isinstance(value, types.ModuleType):
            yield name, ("import", f"import {value.__name__} as {name}")
        elif isinstance(value, bool | int | float):
            yield name, ("import", f"{name} = {value!r}" if math.isfinite(value) else f'{name} = float("{value}")')
        elif isinstance(value, types.BuiltinFunctionType) and value.__module__:
            yield name, ("import", f"from {value.__module__} import {value.__name__} as {name}")
        elif isinstance(getattr(value, "py_func", value), types.FunctionType):
            yield from definitions(value)
        else:
            raise TypeError(
                f"The step function `{function.__name__}` may refer to numbers, modules and functions; got `{name}`, "
                f"a {type(value).__name__}. Pass what it needs as a hyperparameter."
            )
    yield function.__name__, ("function", "@njit(**OPTIONS)\n" + ast.unparse(tree) + "\n")


def step_source(step: Step) -> str | None:
    """The source of a step function without comments, with all that it refers to; None if defined at a prompt."""
    try:
        return "\n".join(text for _, text in dict(definitions(step)).values())
    except OSError:
        return None
