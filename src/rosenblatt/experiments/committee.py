"""The committee problem: p experts vote, the majority of a hidden panel of k is always right, and the panel is to be found.

The perceptron makes at most pk mistakes, Winnow with the rate 1/k at most 2k² ln(p/k): the first bound is linear in the number
of experts, the second logarithmic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.theory.bounds import committee_perceptron, committee_winnow

from ._checks import check_count, whole_numbers

Votes = NDArray[np.int8]

CHUNK_NUMBERS = 4_000_000
"""Number of votes that are held as floats at once."""


@dataclass(frozen=True)
class CommitteeProblem:
    """A hidden panel and a stream of votes.

    Parameters
    ----------
    experts : int
        p, the number of experts; at least 1.
    panel : int
        k, odd and at most p: the size of the panel, whose majority decides.
    random_state : int, default=0
        Seed of the panel and of the votes.
    """

    experts: int
    panel: int = 5
    random_state: int = 0

    def __post_init__(self) -> None:
        committee_winnow(self.experts, self.panel)  # raises an error for a panel that can tie

    @property
    def members(self) -> NDArray[np.int64]:
        """The panel, as the sorted numbers of its experts."""
        rng = np.random.default_rng((self.random_state, 0))
        return np.sort(rng.choice(self.experts, self.panel, replace=False))

    def chunks(self, examples: int, chunk: int | None = None) -> Iterator[tuple[Votes, Votes]]:
        """Generate rounds of votes in chunks, so that a hundred thousand experts fit into memory.

        Parameters
        ----------
        examples : int
            Total number of rounds.
        chunk : int or None, default=None
            Number of rounds per chunk; None: about four million votes. It does not change the votes.

        Yields
        ------
        X : int8 array of shape (rounds, experts)
            Random votes, -1 or +1 with equal probability.
        y : int8 array of shape (rounds,)
            The majority of the panel.
        """
        rng = np.random.default_rng((self.random_state, 1))
        members = self.members
        size = (
            max(1, CHUNK_NUMBERS // self.experts) if chunk is None else check_count("chunk", chunk, "Rounds at a time.")
        )
        width = 8 * -(-self.experts // 64)  # a multiple of 64 bits, so that no draw is split
        for start in range(0, examples, size):
            rounds = min(size, examples - start)
            bits = np.frombuffer(rng.bytes(rounds * width), np.uint8).reshape(rounds, width)
            X = np.unpackbits(bits, axis=1, count=self.experts).view(np.int8)
            X *= 2
            X -= 1
            yield X, np.sign(X[:, members].sum(axis=1, dtype=np.int64)).astype(np.int8)


def committee_examples(
    experts: int, panel: int = 5, examples: int = 1000, random_state: int = 0
) -> tuple[Votes, Votes, NDArray[np.int64]]:
    """Generate rounds of votes in one array.

    Parameters
    ----------
    experts, panel : int
        As in `CommitteeProblem`.
    examples : int, default=1000
        Number of rounds.
    random_state : int, default=0
        Seed of the panel and of the votes.

    Returns
    -------
    X : int8 array of shape (examples, experts)
    y : int8 array of shape (examples,)
    panel : array of shape (panel,)
        The numbers of the experts on the panel.
    """
    problem = CommitteeProblem(experts, panel, random_state)
    rounds = check_count("examples", examples, "It is the number of rounds.")
    X, y = next(problem.chunks(rounds, rounds))
    return X, y, problem.members


def committee_mistakes(
    experts: int,
    panel: int = 5,
    examples: int = 2000,
    random_state: int = 0,
    learners: tuple[str, ...] = ("perceptron", "winnow"),
) -> dict[str, int]:
    """Count the mistakes of learners on one stream of votes, in one pass.

    Parameters
    ----------
    experts, panel : int
        As in `CommitteeProblem`.
    examples : int, default=2000
        Number of rounds. Winnow converges after a few hundred mistakes, the perceptron does not.
    random_state : int, default=0
        Seed of the panel and of the votes.
    learners : tuple of {"perceptron", "winnow"}, default=("perceptron", "winnow")
        The learners to run.

    Returns
    -------
    dict
        The number of mistakes by the name of the learner.
    """
    from rosenblatt.learners.perceptron import Perceptron
    from rosenblatt.learners.winnow import Winnow

    problem = CommitteeProblem(experts, panel, random_state)
    known: dict[str, Any] = {
        "perceptron": Perceptron(fit_intercept=False),
        "winnow": Winnow(eta=1.0 / panel, fit_intercept=False),
    }
    unknown = [name for name in learners if name not in known]
    if unknown:
        raise ValueError(
            f"`learners` must be of 'perceptron' and 'winnow'; got {unknown[0]!r}. Both have a bound here."
        )
    models = {name: known[name] for name in learners}
    for votes, y in problem.chunks(check_count("examples", examples, "It is the number of rounds.")):
        X = votes.astype(np.float64)
        for model in models.values():
            model.partial_fit(X, y, classes=[-1, 1])
    return {name: int(model.mistakes_) for name, model in models.items()}


@dataclass(frozen=True, eq=False)
class CommitteeCurves:
    """Mistakes as a function of the number of experts.

    Attributes
    ----------
    experts : array of shape (sizes,)
        p.
    panel, examples : int
        k, and the number of rounds of each run.
    perceptron, winnow : arrays of shape (sizes, seeds)
        Mistakes of each run.
    perceptron_bound, winnow_bound : arrays of shape (sizes,)
        pk and 2k² ln(p/k).
    """

    experts: NDArray[np.int64]
    panel: int
    examples: int
    perceptron: NDArray[np.int64]
    winnow: NDArray[np.int64]
    perceptron_bound: NDArray[np.float64]
    winnow_bound: NDArray[np.float64]

    @property
    def holds(self) -> bool:
        """Whether all runs stayed within their bounds."""
        below = (self.perceptron <= self.perceptron_bound[:, None]) & (self.winnow <= self.winnow_bound[:, None])
        return bool(below.all())


def committee_curves(
    experts: ArrayLike = (100, 1000, 10_000, 100_000),
    panel: int = 5,
    examples: int = 2000,
    n_seeds: int = 3,
    random_state: int = 0,
) -> CommitteeCurves:
    """Run the perceptron and Winnow on committees of growing size.

    Parameters
    ----------
    experts : list of int, default=(100, 1000, 10_000, 100_000)
        The sizes p.
    panel : int, default=5
        k, odd.
    examples : int, default=2000
        Rounds of votes in each run.
    n_seeds : int, default=3
        Runs for each size, with different panels and votes.
    random_state : int, default=0
        Seed of the first run.

    Returns
    -------
    CommitteeCurves
    """
    sizes = whole_numbers("experts", experts, "They are the numbers of experts.")
    seeds = check_count("n_seeds", n_seeds, "It is the number of runs for each size.")
    runs = [[committee_mistakes(int(p), panel, examples, random_state + seed) for seed in range(seeds)] for p in sizes]
    return CommitteeCurves(
        sizes,
        panel,
        examples,
        np.array([[run["perceptron"] for run in row] for row in runs]),
        np.array([[run["winnow"] for run in row] for row in runs]),
        np.array([committee_perceptron(int(p), panel) for p in sizes]),
        np.array([committee_winnow(int(p), panel) for p in sizes]),
    )
