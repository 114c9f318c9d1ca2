"""Custom learning rules."""

import dataclasses
import inspect
import types
from collections.abc import Callable
from typing import Any, overload

from rosenblatt.engine.steps import is_regression, is_second_order, is_shrinking, step_parameters

from .base import LinearClassifier
from .parameters import OnlineParameters

Step = Callable[..., float]


@overload
def rule(step: Step, /) -> type[LinearClassifier]: ...
@overload
def rule(*, readout: str = "last", target: float = ...) -> Callable[[Step], type[LinearClassifier]]: ...


def rule(step: Step | None = None, /, *, readout: str = "last", target: float = float("inf")) -> Any:
    """Turn a step function into an estimator. The function is compiled.

    Parameters
    ----------
    step : callable
        ``step(margin, [sq_norm,] *hyperparameters) -> tau``. `margin` is y·score, or with many classes the lead of the true
        class over its best rival; `sq_norm` is the change of that margin by a unit step (for two classes ‖x‖², including the bias
        feature). It returns the size of the step, 0 for none. Its other arguments are numbers and become parameters of the
        estimator; each needs a default. It may use `math`, `numpy` and other functions that Numba can compile. With the arguments
        ``(margin, variance, weight, …)`` it returns ``alpha, beta`` for w + alpha y Σx and Σ - beta Σx(Σx)ᵀ, with
        ``(margin, sq_norm, w_sq_norm, steps, weight, …)`` it returns ``shrink, tau`` for shrink w + tau y x.
    readout : {"last", "average", "vote"}, default="last"
        The weights used for predictions.
    target : float, default=inf
        Examples with a larger margin are skipped without calling `step`, which is faster if `step` would return 0 for them.

    Returns
    -------
    class
        An estimator like the built-in ones, named after the function. It is a subclass of `LinearClassifier`.

    Examples
    --------
    >>> import rosenblatt
    >>> @rosenblatt.rule
    ... def Cautious(margin, sq_norm, C=0.1):
    ...     return min(C, max(0.0, 1.0 - margin) / sq_norm)
    >>> Cautious(C=0.5, max_iter=3, tol=None).fit([[0.0], [1.0]], ["no", "yes"]).predict([[2.0]])
    array(['yes'], dtype='<U3')
    """
    if step is None:
        return lambda function: _estimator(function, readout, target)
    return _estimator(step, readout, target)


def _estimator(step: Step, readout: str, target: float) -> type[LinearClassifier]:
    if readout not in ("last", "average", "vote"):
        raise ValueError(
            f"`readout` of a rule must be 'last', 'average' or 'vote'; got {readout!r}. 'last' is the usual choice."
        )
    if readout == "vote" and (is_second_order(step) or is_shrinking(step)):
        raise ValueError(
            f"`readout` of a rule that keeps variances or shrinks w must be 'last' or 'average'; got 'vote' for "
            f"`{step.__name__}`. A vote needs weights that are a sum of examples."
        )
    if is_regression(step):
        raise TypeError(
            f"The first argument of a rule must be `margin`; `{step.__name__}` has `loss`, which learns real targets. Make a "
            "subclass of LinearRegressor, as learners/arow_regressor.py does."
        )
    parameters = inspect.signature(step).parameters
    defaults: dict[str, float] = {}
    for name in step_parameters(step):
        if not isinstance(parameters[name].default, int | float):
            raise TypeError(
                f"The hyperparameter `{name}` of the rule `{step.__name__}` must have a number as its default; got "
                f"{'none' if parameters[name].default is inspect.Parameter.empty else repr(parameters[name].default)}. "
                f"Write `{name}=1.0`."
            )
        defaults[name] = parameters[name].default
    summary = inspect.getdoc(step) or f"Learner with the custom rule `{step.__name__}`."
    namespace: dict[str, Any] = {"__doc__": f"{summary}\n\n{{parameters}}", "_target": lambda self: float(target)}
    namespace |= {"__annotations__": dict.fromkeys(defaults, float), **defaults}
    namespace |= {"__module__": step.__module__, "__qualname__": step.__qualname__}
    step.__qualname__ += "._step"  # the name now refers to the class; pickle finds the function under this one
    made = types.new_class(
        step.__name__,
        (OnlineParameters, LinearClassifier),
        {"step": step, "readout": readout, "target": float(target)},
        lambda body: body.update(namespace),
    )
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(made)
