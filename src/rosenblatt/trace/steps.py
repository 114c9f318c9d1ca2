"""What a trace holds: its steps, and what is known about the run as a whole."""

import dataclasses
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.theory.bounds import Squeeze

from . import exports, tables

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """One visit to one example; of a batch run one epoch.

    Weights stand one row for each weight vector (one for two classes, else one for each class), the bias first.

    Attributes
    ----------
    number, epoch : int
        Which step and which pass, from 1.
    example : int or None
        Which example, counted from 1 as on a blackboard: row ``example - 1`` of X. None for a batch step.
    x : array or None
        The example as the weights see it, with the bias feature 1 first. For a kernel run its kernel values with every
        training example.
    label, predicted
        The true class, and the one that the weights before the step answer.
    scores : array or None
        The score of each weight vector.
    correct : bool
        Whether the answer counts as right, with ties judged as `on_zero` says.
    before, after : array of shape (weight vectors, features)
        The weights; for a kernel run the coefficient of each training example.
    moves : array or None
        How far each weight vector moved along x: in logarithms for Winnow, along the example itself for a kernel run.
    update : array of shape (weight vectors, features)
        The whole update as vectors: what was added to the weights (to their logarithms for Winnow).
    mistakes : tuple of int
        The examples that a batch step adds up.
    squeeze : Squeeze or None
        kγ, ⟨w, u⟩, ‖w‖ and √k·R after the step, where a comparator u is known.
    average : array or None
        The average of the weights so far (averaged perceptron).
    survived : float or None
        How many examples the weights after the step have lasted so far (voted perceptron).
    pocket : float or None
        The training mistakes of the weights in the pocket.
    """

    number: int
    epoch: int
    example: int | None
    x: Floats | None
    label: Any
    predicted: Any
    scores: Floats | None
    correct: bool
    before: Floats
    after: Floats
    moves: Floats | None
    update: Floats
    mistakes: tuple[int, ...] = ()
    squeeze: Squeeze | None = None
    average: Floats | None = None
    survived: float | None = None
    pocket: float | None = None

    @property
    def moved(self) -> bool:
        """Whether the step changed the weights."""
        return bool(self.update.any())


@dataclasses.dataclass(frozen=True, eq=False)
class Survivor:
    """A weight vector of a voted run, and how many examples it lasted."""

    weights: Floats
    count: float


@dataclasses.dataclass(frozen=True, eq=False)
class Comparator:
    """A separator u of length 1, with the numbers of the theorem.

    Attributes
    ----------
    weights : array of shape (weight vectors, features)
        u, the bias first.
    margin, radius : float
        γ and R. For many classes γ is the smallest score gap of the stacked u, and R is √2 times the longest example.
    """

    weights: Floats
    margin: float
    radius: float


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    """A run laid open. It prints as a table; iterate over it or index it to get its steps.

    Attributes
    ----------
    algorithm : str
        The name of the learner.
    classes : tuple
        The labels; of two classes the second is the positive one.
    features : tuple of str
        The names of the weights, "1" for the bias, or "bias" where a feature has that name.
    examples, epochs, total, total_mistakes, total_updates : int
        How many examples, passes, steps, mistakes and updates the run had, shown or not.
    start, weights : array of shape (weight vectors, features)
        The weights before the first step, and those that the learner ends with (the average for the averaged perceptron,
        the pocket for the pocket algorithm).
    steps : tuple of Step
        The steps that were kept: all, or a sample of long runs.
    kind : {"weights", "logarithms", "dual"}
        What updates are added to.
    comparator : Comparator or None
        The separator that the squeeze compares with.
    formula : str
        What the four numbers of the squeeze are.
    bound : float or None
        So many updates the run can make at most, in any order and however long, as the squeeze proves.
    survivors : tuple of Survivor
        The weight vectors of a voted run with their counts; those that no example met are left out.
    note : str
        What was left out, in words; empty if nothing was.
    """

    algorithm: str
    classes: tuple[Any, ...]
    features: tuple[str, ...]
    examples: int
    epochs: int
    total: int
    total_mistakes: int
    total_updates: int
    start: Floats
    weights: Floats
    steps: tuple[Step, ...]
    kind: str = "weights"
    comparator: Comparator | None = None
    formula: str = ""
    bound: float | None = None
    survivors: tuple[Survivor, ...] = ()
    note: str = ""

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, number: int) -> Step:
        return self.steps[number]

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_text(self, columns: Any = None, digits: int = 6) -> str:
        """The run as a table of plain text.

        Parameters
        ----------
        columns : list of str, "notes" or None, default=None
            Which columns, of "step", "epoch", "example", "x", "label", "weights", "score", "predicted", "correct", "update",
            "after", "average", "survived", "pocket" and "squeeze". "notes": step, weights, score, correct and update, as on
            the blackboard. None: those that say something about this run.
        digits : int, default=6
            Significant digits of numbers that are not whole; at least 1.

        Returns
        -------
        str
        """
        return tables.text(self, columns, digits)

    def to_cells(self, columns: Any = None, digits: int = 6) -> tuple[list[str], list[list[list[str]]]]:
        """The headings and the cells of the table, each cell a list of lines; for the parameters see `to_text`."""
        return tables.grid(self, columns, digits)

    def to_markdown(self, columns: Any = None, digits: int = 6) -> str:
        """The run as a Markdown table; for the parameters see `to_text`."""
        return tables.markdown(self, columns, digits)

    def to_html(self, columns: Any = None, digits: int = 6) -> str:
        """The run as an HTML table that brings its own style; for the parameters see `to_text`."""
        return tables.html(self, columns, digits)

    def to_json(self, indent: int | None = None) -> str:
        """Everything, as JSON; `from_json` reads it back.

        Parameters
        ----------
        indent : int or None, default=None
            Spaces per level; None writes one line.

        Returns
        -------
        str
        """
        return exports.to_json(self, indent)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The trace that `to_json` wrote."""
        return exports.from_json(cls, text)

    def to_csv(self) -> str:
        """One line for each step and one column for each number, with a header."""
        return exports.to_csv(self)

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame."""
        return exports.to_frame(self)
