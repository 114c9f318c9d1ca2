"""Every linear learner on the same data, shuffled many times: who makes the fewest mistakes in one pass?

The score is the protocol's own: each example is predicted before it is learned. Hyperparameters are chosen on the first part of
each stream and the mistakes counted on the rest, so that nothing is chosen by what it is judged on.
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

from ._checks import check_count

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

POWERS = tuple(2.0**k for k in range(-10, 5, 2))


@dataclasses.dataclass(frozen=True)
class Contender:
    """A learner that takes part, and the settings among which the first part of a stream decides.

    Parameters
    ----------
    name : str
        What to call it.
    learner : str
        The name of its class in `rosenblatt`.
    fixed : mapping
        Parameters that are given.
    grid : mapping
        Parameters to choose, each with its values.
    """

    name: str
    learner: str
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)

    def settings(self) -> list[dict[str, Any]]:
        """All combinations of the grid's values."""
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
    Contender("PA-I, averaged", "PassiveAggressive", {"variant": "PA-I", "readout": "average"}, {"C": POWERS}),
    Contender("ROMMA", "ROMMA"),
    Contender("ROMMA, aggressive", "ROMMA", {"variant": "aggressive"}),
    Contender("ALMA", "ALMA", {}, {"alpha": (0.6, 0.8, 0.95), "B": (0.5, 1.0, 2.0), "C": (0.25, 0.5, 1.0, 2.0)}),
    *_second_order("second-order perceptron", "SecondOrderPerceptron", {"a": (0.1, 1.0, 10.0)}),
    *_second_order("AROW", "AROW", {"r": (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)}),
    *_second_order("SCW-I", "SoftConfidenceWeighted", {"C": POWERS, "phi": (0.25, 0.5, 1.0, 2.0)}),
    *_second_order("SCW-II", "SoftConfidenceWeighted", {"C": POWERS, "phi": (0.25, 0.5, 1.0, 2.0)}, variant="SCW-II"),
)  # fmt: skip

CONTENDERS: tuple[Contender, ...]
"""Those that learn from a stream at the cost of a linear model. Votes, pockets, batches and kernels need more than that."""


@functools.cache
def _contenders() -> tuple[Contender, ...]:
    """Those named above, and every other learner whose class says in `_grid` which settings to try."""
    found = list(_NAMED)
    for name in classes():
        learner = find(name) if all(one.learner != name for one in _NAMED) else None
        grid = getattr(learner, "_grid", None)
        if learner is not None and grid is not None:
            has_matrix = "covariance" in inspect.signature(learner).parameters
            found += _second_order(name, name, grid) if has_matrix else [Contender(name, name, {}, grid)]
    return tuple(found)


def __getattr__(name: str) -> Any:
    """`CONTENDERS` when it is first used, since the learners that it asks load scikit-learn."""
    if name != "CONTENDERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _contenders()


FEW_FEATURES = 200
"""Whole matrices take part up to so many features: they cost the square of that for every update."""


@dataclasses.dataclass(frozen=True, eq=False)
class Standing:
    """How one learner did, with one number for each shuffle.

    Attributes
    ----------
    name : str
        What it is called.
    rates : array
        Mistakes made before learning, as a share of the scored examples.
    updates : array
        Updates while those were learned, as a share of them.
    seconds : array
        Processor time for learning one example, times the scored examples.
    chosen : list of dict
        The settings that the first part chose.
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
    """Learners side by side, the one with the fewest mistakes first.

    Attributes
    ----------
    standings : list of Standing
        How each of them did.
    examples, features, scored : int
        The size of the data, and how many examples of each pass over it were scored.
    repeats, passes, seed : int
        How it was done.
    shuffled : bool
        Whether the order was random or the given one.
    classes : list
        The labels.
    skipped : list of str
        Who could not take part, and why.
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

    def to_text(self) -> str:
        """A table for people."""
        width = max(len(standing.name) for standing in self.standings)
        lines = [f"{'':{width}}  {'mistakes':>17}  {'updates':>15}  {'ms':>8}  chosen"]
        for one in self.standings:
            rate = f"{one.rates.mean():.4f} ± {one.rates.std():.4f}"
            updates = f"{one.updates.mean():.3f} ± {one.updates.std():.3f}"
            chosen = ", ".join(f"{name}={value:.3g}" for name, value in one.favourite.items())
            lines.append(
                f"{one.name:{width}}  {rate:>17}  {updates:>15}  {1e3 * one.seconds.mean():>8.2f}  {chosen}".rstrip()
            )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
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
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Let learners go through the same streams, and count their mistakes.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_examples, n_features)
        The examples.
    y : array of shape (n_examples,)
        Their labels.
    repeats : int, default=20
        How many orders to try.
    passes : int, default=1
        How often to go through the data in each; what the first part chose by is not scored in the later passes either.
    prefix : float, default=0.1
        The share of a stream on which the settings are chosen, above 0 and below 1. The rest is scored.
    seed : int, default=0
        Seed of the orders.
    shuffle : bool, default=True
        False keeps the given order, as for a stream in time; then one repeat is all there is.
    contenders : sequence of Contender, default=None
        Who takes part; None: `CONTENDERS`. On more than 200 features whole matrices are left out, unless nothing else is named.
    threads : int, default=None
        How many cores to use; None: all of them.
    progress : callable, default=None
        Called with the jobs done and the jobs in all.

    Returns
    -------
    Comparison
    """
    if not 0 < prefix < 1:
        raise ValueError(
            f"`prefix` of compare must lie between 0 and 1; got {prefix!r}. It is the share of a stream that settings are "
            "chosen on."
        )
    repeats = check_count("repeats", repeats, "It counts the orders tried.") if shuffle else 1
    passes = check_count("passes", passes, "It counts the passes over the data.")
    table = Table(X if hasattr(X, "tocsr") else np.asarray(X), np.float64)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < 2 or len(table) < 10:
        raise ValueError(
            f"compare needs at least 10 examples of 2 classes; got {len(table)} of {len(classes)}. Check that y is the label."
        )
    head = min(max(2, round(prefix * len(table))), len(table) - 1)
    stream = _Stream(table, codes.astype(np.int64), classes.tolist(), head, passes)
    chosen, skipped = list(_contenders() if contenders is None else contenders), list[str]()
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
    standings.append(_majority(codes, orders, head, passes))
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
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _affordable(contenders: list[Contender], features: int, classes: int) -> tuple[list[Contender], list[str]]:
    """Who can take part at the cost of a linear model, and who is left out."""
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
        """Choose the settings on the head of the stream, then go on with them: rates of mistakes and updates, and the time."""
        head, rest = orders[0][: self.head], orders[0][self.head :]
        tries = []
        for setting in contender.settings():
            model = self._new_model(contender, setting)
            tries.append((self._learn(model, head), setting, model))
        _, setting, model = min(tries, key=lambda attempt: attempt[0])
        before = int(model.state.counters.updates)
        mistakes, scored = 0, np.zeros(len(self.codes), bool)
        scored[rest] = True
        start = time.thread_time()
        for number, order in enumerate(orders):
            kept = rest if number == 0 else order[scored[order]]
            mistakes += self._learn(model, kept)
        seconds = time.thread_time() - start
        visits = rest.size * self.passes
        return mistakes / visits, (int(model.state.counters.updates) - before) / visits, seconds, setting

    def _new_model(self, contender: Contender, setting: dict[str, Any]) -> Model:
        estimator = find(contender.learner)(**contender.fixed, **setting)
        estimator._check_parameters()
        model: Model = estimator._new_model(self.table.shape[1], np.float64)
        model.add_class(*self.classes)
        return model

    def _learn(self, model: Model, order: Codes) -> int:
        """The mistakes made on the way."""
        if model.readout == "average":
            return int((model.guess_and_learn(self.table, self.codes, order) != self.codes[order]).sum())
        before = int(model.state.counters.mistakes)
        model.run(self.table, self.codes, np.zeros(0), order)
        return int(model.state.counters.mistakes) - before


def _majority(codes: Codes, orders: list[list[Codes]], head: int, passes: int) -> Standing:
    """Who always says the class that was the most frequent so far: what any learner should beat."""
    rates = []
    for sequence in orders:
        labels = codes[sequence[0]]
        seen = np.cumsum(labels[:, None] == np.arange(codes.max() + 1), axis=0)
        guesses = np.concatenate([[-1], seen[:-1].argmax(axis=1)])
        rates.append((guesses != labels)[head:].mean())
    nothing = np.zeros(len(orders))
    return Standing("most frequent class", np.array(rates), nothing, nothing, [{}] * len(orders))
