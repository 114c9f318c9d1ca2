"""The state of a run: one record with named fields.

Passing an array to a compiled function costs 0.2 µs, too much for one example with the twenty arrays of a run. So the model has
one record with the address and the shape of every array, and passes the address of that record. `unpack` converts it to named
tuples of arrays. The weights are passed separately because their type (float type, number of dimensions) selects the code.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Return codes of a pass.
DONE, BAD_VALUE, LOG_FULL, RUN_REACHED, OUT_OF_SCALE = range(5)

REFUSED = -1
"""Number of weight vectors to update if the result of the rule is invalid."""


def _record(fields: list[tuple[str, Any]]) -> np.dtype[Any]:
    """The type of a record whose fields are attributes."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


_COUNTS = ("position", "examples", "mistakes", "updates", "run", "goal", "logged")
_SUMS = ("loss", "steps", "shift", "age", "reach")

COUNTERS = _record([(name, np.int64) for name in _COUNTS] + [(name, np.float64) for name in _SUMS])
"""The counters of a run.

position
    Position in the visiting order.
examples, mistakes, updates
    Totals of the run.
run, goal
    Examples since the last update, and the number of them at which to return (0: never).
logged
    Entries in the log of updates.
loss
    Loss of this pass.
steps
    Σ of the step sizes.
shift
    The logarithm by which linked weights are scaled down.
age
    Σ of the weights of the examples.
reach
    The largest ‖x‖² of the examples that changed the weights.
"""


class State(NamedTuple):
    """All arrays that every run changes.

    Attributes
    ----------
    w, bias
        The weights used for scores.
    v, v_bias
        The arrays to which steps are added: the weights, their logarithms (Winnow), or the Δ of a batch.
    u, u_bias
        Σ age · step, used to compute the average; empty without an average. The age of a step is the number of
        examples before it, counted by weight.
    tally
        An array with one record of type `COUNTERS`, which Python reads and writes as `counters`.
    scores
        The scores of the last example, before it was learned.
    log_rows, log_ages, log_steps
        The updates in order: row, age, step for each weight vector; empty without a log.
    tile, columns, amounts, lagged
        Scratch space for many classes: the scores of a tile of rows, and the shares of one update.
    past_scores, past_labels, past_counts
        The scores that the readout gave to past examples before they were learned, and their labels: a ring, see `note_scores`;
        and how many examples were seen and how many of them noted. Empty if nothing is noted.
    """

    w: NDArray[Any]
    bias: NDArray[np.float64]
    v: NDArray[Any]
    v_bias: NDArray[np.float64]
    u: NDArray[np.float64]
    u_bias: NDArray[np.float64]
    tally: NDArray[Any]
    scores: NDArray[np.float64]
    log_rows: NDArray[np.int64]
    log_ages: NDArray[np.float64]
    log_steps: NDArray[np.float64]
    tile: NDArray[Any]
    columns: NDArray[np.int64]
    amounts: NDArray[np.float64]
    lagged: NDArray[np.float64]
    past_scores: NDArray[np.float64]
    past_labels: NDArray[np.int64]
    past_counts: NDArray[np.int64]

    @property
    def counters(self) -> Any:
        """The counters of the run, a record of type `COUNTERS`; compiled code uses ``tally[0]``."""
        return self.tally[0]


class Scales(NamedTuple):
    """The extra arrays of weights that are stored as scale · v, each with one number per weight vector.

    Attributes
    ----------
    scale
        The factor of v and its bias.
    square
        ‖w‖², the bias included.
    steps
        The number of steps taken.
    total
        Σ of the scales after each example, weighted by the examples; it corresponds to `age` of weights without a scale.
    """

    scale: NDArray[np.float64]
    square: NDArray[np.float64]
    steps: NDArray[np.float64]
    total: NDArray[np.float64]


class Penalties(NamedTuple):
    """The extra arrays of a rule with a penalty, each with one number per weight vector if nothing else is said.

    Attributes
    ----------
    scale
        The factor of v; the bias has none.
    square, absolute
        ‖v‖² and Σ|v| without the bias.
    total
        Σ of the scales after each example, weighted by the examples, since the scale was last 1.
    owed
        What every weight should have paid to the l1 penalty so far.
    paid
        The sum of the changes that the l1 penalty has made, in the shape of the weights; empty without that penalty.
    rates
        Constants, see `penalized.FACTOR`.
    """

    scale: NDArray[np.float64]
    square: NDArray[np.float64]
    absolute: NDArray[np.float64]
    total: NDArray[np.float64]
    owed: NDArray[np.float64]
    paid: NDArray[np.float64]
    rates: NDArray[np.float64]


class Variances(NamedTuple):
    """The extra arrays of a second-order rule.

    Attributes
    ----------
    sigma
        The diagonal of Σ in the shape of the weights; or full matrices (vectors, features + 1, features + 1), the bias first.
    sigma_bias
        The variances of the biases, for a diagonal.
    scratch
        Scratch space for Σx of each vector and for x, for full matrices.
    """

    sigma: NDArray[np.float64]
    sigma_bias: NDArray[np.float64]
    scratch: NDArray[np.float64]


class Settings(NamedTuple):
    """Constants of a run."""

    target: float
    """Examples with a larger margin are skipped."""
    bias: float
    """1 with a bias feature, else 0."""
    on_zero: int
    scheme: int
    link: int
    needs_norm: int
    """Whether the rule needs ‖x‖²."""
    regression: int
    """Whether the labels are the bits of real targets and not the numbers of classes."""


class Asked(NamedTuple):
    """The address of a step function and its hyperparameters."""

    address: int
    params: NDArray[Any]


# ---- kinds of rules: one class of states for each ----


class Additive(NamedTuple):
    """The state of rules that add a multiple of x: ``tau = step(margin, …)``."""

    weights: State


class Scaled(NamedTuple):
    """The state of rules that also shrink w: ``shrink, tau = step(margin, sq_norm, w_sq_norm, steps, weight, …)``."""

    weights: State
    scales: Scales


class Penalized(NamedTuple):
    """The state of additive rules with a penalty; their step is that of `Additive`."""

    weights: State
    penalties: Penalties


class Diagonal(NamedTuple):
    """The state of second-order rules with one variance per weight: ``alpha, beta = step(margin, variance, weight, …)``."""

    weights: State
    variances: Variances


class Full(NamedTuple):
    """The state of second-order rules with full covariance matrices."""

    weights: State
    variances: Variances


class Committee(NamedTuple):
    """The state of a committee of perceptrons: ``shrink, tau = step(margin, own, w_sq_norm, weight, …)``."""

    weights: State
    scales: Scales
    own: NDArray[np.float64]
    """Scratch space for the scores of the perceptrons."""


def kind_of(state: Any) -> Any:
    """The kind of a state, which is one of the classes above. Takes a state, its Numba type, or such a class."""
    found = getattr(state, "instance_class", state)
    return found if isinstance(found, type) else type(found)


# ---- the record ----

_ARRAY = _record([("address", np.int64), ("rows", np.int64), ("columns", np.int64)])
_SETTINGS = _record(
    [(name, np.float64 if kind is float else np.int64) for name, kind in Settings.__annotations__.items()]
)

_ONE_EXAMPLE = ("label", "weight", "order")
_ARRAYS = tuple(
    dict.fromkeys(
        (*State._fields[1:], "params", *_ONE_EXAMPLE, *Scales._fields, *Penalties._fields, *Variances._fields, "own")
    )
)

RUN = _record([*((name, _ARRAY) for name in _ARRAYS), ("step", np.int64), ("settings", _SETTINGS)])
"""A run: address and shape of each of its arrays by name, the address of the step function, the settings."""


def make_run(arrays: Mapping[str, Any], step: int, settings: Settings) -> NDArray[Any]:
    """Make the record of a run; it is valid as long as the arrays exist."""
    run = np.zeros(1, RUN)
    for name, array in arrays.items():
        columns = array.shape[-1] if array.ndim > 1 else 1
        run[name] = array.ctypes.data, array.size // columns if columns else array.shape[0], columns
    run["step"] = step
    run["settings"] = tuple(settings)
    return run


def since(counters: Any, before: Any) -> Any:
    """The difference of two records of counters, field by field."""
    made = counters.copy()
    for name in _COUNTS + _SUMS:
        made[name] -= before[name]
    return made


def counts_and_sums(state: State) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The integers and the floats of the counters as two arrays that share their memory, as stored in model files."""
    numbers = state.tally.view(np.int64)
    return numbers[: len(_COUNTS)], numbers[len(_COUNTS) :].view(np.float64)
