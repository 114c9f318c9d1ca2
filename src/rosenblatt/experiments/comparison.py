"""Comparison of all linear learners by their mistakes in one pass over the same data, in many random orders.

Each example is predicted before it is learned. Hyperparameters are chosen on the first part of each stream and mistakes are
counted on the rest, so that no setting is chosen on the examples that are scored.
"""

import dataclasses
import functools
import inspect
import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.learners import classes, find
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.regression import RealModel, bits_of

from ._checks import check_count

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

POWERS = tuple(2.0**k for k in range(-10, 5, 2))


@dataclasses.dataclass(frozen=True)
class Contender:
    """A learner to compare, and the settings to choose from on the first part of a stream.

    Parameters
    ----------
    name : str
        Name in the results.
    learner : str
        The name of its class in `rosenblatt`.
    fixed : mapping
        Fixed parameters.
    grid : mapping
        Parameters to choose, each with its values.
    """

    name: str
    learner: str
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)

    def settings(self) -> list[dict[str, Any]]:
        """All combinations of the values of the grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]


def _second_order(name: str, learner: str, grid: Mapping[str, Sequence[Any]], **fixed: Any) -> list[Contender]:
    return [Contender(f"{name}{end}", learner, {**fixed, "covariance": kind}, grid) for kind, end in
            (("diagonal", ""), ("full", ", full"))]  # fmt: skip


_NAMED = (
    Contender("Perceptron", "Perceptron"),
    Contender("averaged perceptron", "AveragedPerceptron"),
    Contender("margin perceptron", "MarginPerceptron", {}, {"b": POWERS}),
    Contender("Winnow, balanced", "Winnow", {"balanced": True}, {"eta": (0.003, 0.01, 0.03, 0.1, 0.3)}),
    Contender("PA", "PassiveAggressive", {"variant": "PA"}),
    Contender("PA-I", "PassiveAggressive", {"variant": "PA-I"}, {"C": POWERS}),
    Contender("PA-II", "PassiveAggressive", {"variant": "PA-II"}, {"C": POWERS}),
    Contender("PA, averaged", "PassiveAggressive", {"variant": "PA", "readout": "average"}),
    Contender("PA-I, averaged", "PassiveAggressive", {"variant": "PA-I", "readout": "average"}, {"C": POWERS}),
    Contender("PA-II, averaged", "PassiveAggressive", {"variant": "PA-II", "readout": "average"}, {"C": POWERS}),
    Contender("ROMMA", "ROMMA"),
    Contender("ROMMA, aggressive", "ROMMA", {"variant": "aggressive"}),
    Contender("ALMA", "ALMA", {}, {"alpha": (0.6, 0.8, 0.95), "B": (0.5, 1.0, 2.0), "C": (0.25, 0.5, 1.0, 2.0)}),
    *_second_order("second-order perceptron", "SecondOrderPerceptron", {"a": (0.1, 1.0, 10.0)}),
    *_second_order("AROW", "AROW", {"r": (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)}),
    *_second_order("SCW-I", "SoftConfidenceWeighted", {"C": POWERS, "phi": (0.25, 0.5, 1.0, 2.0)}),
    *_second_order("SCW-II", "SoftConfidenceWeighted", {"C": POWERS, "phi": (0.25, 0.5, 1.0, 2.0)}, variant="SCW-II"),
)  # fmt: skip

REGRESSORS = (
    Contender("PA", "PassiveAggressiveRegressor", {"variant": "PA", "epsilon": 0.0}),
    Contender("PA-I", "PassiveAggressiveRegressor", {"variant": "PA-I", "epsilon": 0.0}, {"C": POWERS}),
    Contender("PA-II", "PassiveAggressiveRegressor", {"variant": "PA-II", "epsilon": 0.0}, {"C": POWERS}),
    *_second_order("AROW", "AROWRegressor", {"r": (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)}),
)
"""Learners of real targets. Their loss without an epsilon is the absolute error."""

CONTENDERS: tuple[Contender, ...]
"""Learners of streams at the cost of a linear model. Voted, pocket, batch and kernel learners cost more."""


@functools.cache
def _contenders() -> tuple[Contender, ...]:
    """Those above, and every other learner whose class has the settings to try in `_grid`."""
    found = list(_NAMED)
    for name in classes():
        learner = find(name) if all(one.learner != name for one in _NAMED) else None
        grid = getattr(learner, "_grid", None)
        if learner is not None and grid is not None:
            has_matrix = "covariance" in inspect.signature(learner).parameters
            found += _second_order(name, name, grid) if has_matrix else [Contender(name, name, {}, grid)]
    return tuple(found)


def __getattr__(name: str) -> Any:
    """Compute `CONTENDERS` on first use, because this imports all learners and scikit-learn."""
    if name != "CONTENDERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _contenders()


FEW_FEATURES = 200
"""Largest number of features for full covariance matrices: each update costs its square."""


@dataclasses.dataclass(frozen=True, eq=False)
class Standing:
    """Results of one learner, with one number for each order.

    Attributes
    ----------
    name : str
        Name of the learner.
    rates : array
        Mistakes made before learning, as a fraction of the scored examples; of real targets the mean absolute error.
    updates : array
        Updates on the scored examples, as a fraction of them.
    seconds : array
        Processor time for learning one example, times the scored examples.
    chosen : list of dict
        The settings that were chosen on the first part.
    """

    name: str
    rates: Floats
    updates: Floats
    seconds: Floats
    chosen: list[dict[str, Any]]

    @property
    def favourite(self) -> dict[str, Any]:
        """The settings that were chosen most often."""
        texts = Counter(json.dumps(setting) for setting in self.chosen)
        favourite: dict[str, Any] = json.loads(texts.most_common(1)[0][0])
        return favourite


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Results of all learners, the one with the fewest mistakes first.

    Attributes
    ----------
    standings : list of Standing
        Results of each learner.
    examples, features, scored : int
        The size of the data, and the number of scored examples of each pass.
    repeats, passes, seed : int
        Number of orders, number of passes, and seed.
    shuffled : bool
        Whether the order was random or the given one.
    classes : list
        The labels.
    skipped : list of str
        Learners that were left out, with the reason.
    regression : bool
        Whether the labels are real targets; then there are no classes.
    """

    standings: list[Standing]
    examples: int
    features: int
    scored: int
    repeats: int
    passes: int
    seed: int
    shuffled: bool
    classes: list[Any]
    skipped: list[str]
    regression: bool = False

    def to_text(self) -> str:
        """A readable table."""
        width = max(len(standing.name) for standing in self.standings)
        title, form = ("absolute error", ".5g") if self.regression else ("mistakes", ".4f")
        lines = [f"{'':{width}}  {title:>17}  {'updates':>15}  {'ms':>8}  chosen"]
        for one in self.standings:
            rate = f"{one.rates.mean():{form}} ± {one.rates.std():{form}}"
            updates = f"{one.updates.mean():.3f} ± {one.updates.std():.3f}"
            chosen = ", ".join(f"{name}={value:.3g}" for name, value in one.favourite.items())
            lines.append(
                f"{one.name:{width}}  {rate:>17}  {updates:>15}  {1e3 * one.seconds.mean():>8.2f}  {chosen}".rstrip()
            )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """All results as a dict for JSON."""
        facts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        facts["standings"] = [
            {
                "name": one.name,
                "mean": float(one.rates.mean()),
                "spread": float(one.rates.std()),
                "rates": one.rates.tolist(),
                "updates": one.updates.tolist(),
                "seconds": one.seconds.tolist(),
                "chosen": one.chosen,
            }
            for one in self.standings
        ]
        return facts

    def __str__(self) -> str:
        return self.to_text()


def compare(
    X: Any,
    y: ArrayLike,
    *,
    repeats: int = 20,
    passes: int = 1,
    prefix: float = 0.1,
    seed: int = 0,
    shuffle: bool = True,
    contenders: Sequence[Contender] | None = None,
    regression: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare learners on the same streams by their mistakes.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_examples, n_features)
        The examples.
    y : array of shape (n_examples,)
        Their labels.
    repeats : int, default=20
        Number of random orders.
    passes : int, default=1
        Number of passes in each order; the first part, on which settings are chosen, is not scored in any pass.
    prefix : float, default=0.1
        The fraction of a stream on which the settings are chosen, above 0 and below 1. The rest is scored.
    seed : int, default=0
        Seed of the orders.
    shuffle : bool, default=True
        False keeps the given order, as for a time series; then there is only one repeat.
    contenders : sequence of Contender, default=None
        The learners; None: `CONTENDERS`, or `REGRESSORS`. On more than 200 features full matrices are left out, unless all
        contenders have one.
    regression : bool, default=False
        Whether the labels are real targets. Learners are then compared by the mean absolute error of their last weights, and
        learn the targets scaled by the mean and deviation of the first part.
    threads : int, default=None
        Number of cores to use; None: all.
    progress : callable, default=None
        Called with the number of finished jobs and the number of all jobs.

    Returns
    -------
    Comparison
    """
    if not 0 < prefix < 1:
        raise ValueError(
            f"`prefix` of compare must be between 0 and 1; got {prefix!r}. It is the fraction of a stream on which "
            "settings are chosen."
        )
    repeats = check_count("repeats", repeats, "It is the number of random orders.") if shuffle else 1
    passes = check_count("passes", passes, "It is the number of passes over the data.")
    table = Table(X if hasattr(X, "tocsr") else np.asarray(X), np.float64)
    if regression:
        classes, codes = np.zeros(0), bits_of(np.asarray(y, dtype=np.float64))
    else:
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if (len(classes) < 2 and not regression) or len(table) < 10:
        raise ValueError(
            f"compare needs at least 10 examples of 2 classes; got {len(table)} of {len(classes)}. Check that y is the label."
        )
    head = min(max(2, round(prefix * len(table))), len(table) - 1)
    stream = _Stream(table, codes.astype(np.int64, copy=False), classes.tolist(), head, passes)
    chosen, skipped = (
        list((REGRESSORS if regression else _contenders()) if contenders is None else contenders),
        list[str](),
    )
    if not all(map(_is_full, chosen)):
        chosen, skipped = _affordable(chosen, table.shape[1], len(classes))
    orders = [_orders(len(table), passes, seed + number, shuffle) for number in range(repeats)]
    jobs = [(one, number) for number in range(repeats) for one in chosen]
    done, lock = itertools.count(1), threading.Lock()

    def work(job: tuple[Contender, int]) -> Any:
        outcome = stream.judge(job[0], orders[job[1]])
        if progress is not None:
            with lock:
                progress(next(done), len(jobs))
        return outcome

    with ThreadPoolExecutor(threads or _cores()) as pool:
        outcomes = dict(zip([(one.name, number) for one, number in jobs], pool.map(work, jobs), strict=True))
    standings = []
    for one in chosen:
        runs = [outcomes[one.name, number] for number in range(repeats)]
        rates, updates, seconds = (np.array([run[place] for run in runs]) for place in range(3))
        standings.append(Standing(one.name, rates, updates, seconds, [run[3] for run in runs]))
    standings.append((_mean if regression else _majority)(codes, orders, head, passes))
    standings.sort(key=lambda standing: float(standing.rates.mean()))
    return Comparison(
        standings,
        len(table),
        table.shape[1],
        len(table) - head,
        repeats,
        passes,
        seed,
        shuffle,
        classes.tolist(),
        skipped,
        regression,
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _affordable(contenders: list[Contender], features: int, classes: int) -> tuple[list[Contender], list[str]]:
    """Split contenders into those that cost as much as a linear model and descriptions of those that are left out."""
    if features * max(1, classes - 2) <= FEW_FEATURES:
        return contenders, []
    left_out = [f"{one.name}: a matrix for {features:,} features" for one in contenders if _is_full(one)]
    return [one for one in contenders if not _is_full(one)], left_out


def _is_full(contender: Contender) -> bool:
    return contender.fixed.get("covariance") == "full"


def _orders(examples: int, passes: int, seed: int, shuffle: bool) -> list[Codes]:
    rng = np.random.RandomState(seed)
    first = rng.permutation(examples) if shuffle else np.arange(examples)
    return [first, *(rng.permutation(first) if shuffle else first for _ in range(passes - 1))]


@dataclasses.dataclass(frozen=True, eq=False)
class _Stream:
    table: Table
    codes: Codes
    classes: list[Any]
    head: int
    passes: int

    def judge(self, contender: Contender, orders: list[Codes]) -> tuple[float, float, float, dict[str, Any]]:
        """Choose settings on the first part of a stream, learn the rest; return rates of mistakes and updates, time, settings."""
        head, rest = orders[0][: self.head], orders[0][self.head :]
        tries = []
        for setting in contender.settings():
            model = self._new_model(contender, setting, head)
            tries.append((self._learn(model, head), setting, model))
        _, setting, model = min(tries, key=lambda attempt: attempt[0])
        before = int(model.state.counters.updates)
        mistakes, scored = 0.0, np.zeros(len(self.codes), bool)
        scored[rest] = True
        start = time.thread_time()
        for number, order in enumerate(orders):
            kept = rest if number == 0 else order[scored[order]]
            mistakes += self._learn(model, kept)
        seconds = time.thread_time() - start
        visits = rest.size * self.passes
        return mistakes / visits, (int(model.state.counters.updates) - before) / visits, seconds, setting

    def _new_model(self, contender: Contender, setting: dict[str, Any], head: Codes) -> Model:
        estimator = find(contender.learner)(**contender.fixed, **setting)
        estimator._check_parameters()
        model: Model = estimator._new_model(self.table.shape[1], np.float64)
        model.add_class(*self.classes)
        if isinstance(model, RealModel):
            model.scale_by(self.codes.view(np.float64)[head])
        return model

    def _learn(self, model: Model, order: Codes) -> float:
        """Learn in this order; return the number of mistakes, or the sum of absolute errors."""
        if isinstance(model, RealModel):
            model.state.counters.loss = 0.0
            model.run(self.table, self.codes, np.zeros(0), order)
            return float(model.state.counters.loss) * model.unit
        if model.readout == "average":
            return int((model.guess_and_learn(self.table, self.codes, order) != self.codes[order]).sum())
        before = int(model.state.counters.mistakes)
        model.run(self.table, self.codes, np.zeros(0), order)
        return int(model.state.counters.mistakes) - before


def _mean(codes: Codes, orders: list[list[Codes]], head: int, passes: int) -> Standing:
    """The baseline of real targets: always predict the mean so far."""
    errors = []
    for sequence in orders:
        targets = codes.view(np.float64)[sequence[0]]
        means = np.cumsum(targets) / np.arange(1, targets.size + 1)
        errors.append(np.abs(targets[1:] - means[:-1])[head - 1 :].mean())
    nothing = np.zeros(len(orders))
    return Standing("mean of the targets", np.array(errors), nothing, nothing, [{}] * len(orders))


def _majority(codes: Codes, orders: list[list[Codes]], head: int, passes: int) -> Standing:
    """The baseline: always predict the most frequent class so far."""
    rates = []
    for sequence in orders:
        labels = codes[sequence[0]]
        seen = np.cumsum(labels[:, None] == np.arange(codes.max() + 1), axis=0)
        guesses = np.concatenate([[-1], seen[:-1].argmax(axis=1)])
        rates.append((guesses != labels)[head:].mean())
    nothing = np.zeros(len(orders))
    return Standing("most frequent class", np.array(rates), nothing, nothing, [{}] * len(orders))
