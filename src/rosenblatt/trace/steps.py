"""A trace: its steps, and a summary of the run."""

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
    """One visit to one example; in a batch run one epoch.

    Weights have one row for each weight vector (one for two classes, else one for each class; of a committee one for each of its
    perceptrons), the bias first.

    Attributes
    ----------
    number, epoch : int
        Number of the step and of the pass, from 1.
    example : int or None
        Number of the example, counted from 1: row ``example - 1`` of X. None for a batch step.
    x : array or None
        The example with the bias feature 1 first. For a kernel run its kernel values with all training examples.
    label, predicted
        The true class, and the class predicted by the weights before the step.
    scores : array or None
        The score of each weight vector.
    correct : bool
        Whether the prediction is correct; `on_zero` decides ties.
    before, after : array of shape (weight vectors, features)
        The weights; for a kernel run the coefficient of each training example.
    moves : array or None
        Step of each weight vector along x: in logarithms for Winnow, along the example itself for a kernel run.
    update : array of shape (weight vectors, features)
        The update as vectors that are added to the weights (to their logarithms for Winnow).
    mistakes : tuple of int
        The misclassified examples, which a batch step adds up.
    squeeze : Squeeze or None
        kγ, ⟨w, u⟩, ‖w‖ and √k·R after the step, if a comparator u is known.
    average : array or None
        The average of the weights so far (averaged perceptron).
    survived : float or None
        Number of examples that the weights after the step have survived so far (voted perceptron).
    pocket : float or None
        The training mistakes of the weights in the pocket.
    held : array or None
        The weights in the pocket after the step (pocket perceptron).
    kernel : bool
        Whether `x` holds kernel values and the weights are coefficients of the examples.
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
    held: Floats | None = None
    kernel: bool = False

    @property
    def moved(self) -> bool:
        """Whether the step changed the weights."""
        return bool(self.update.any())

    @property
    def cos_x(self) -> Floats | None:
        """The cosine of the angle between each weight vector before the step and x; NaN for a vector of length 0.

        A point is predicted as positive if its angle with w is below 90°, where the cosine is positive. None for batch and kernel
        runs.
        """
        if self.x is None or self.kernel:
            return None
        return _cosines(self.before, self.x)

    @property
    def cos_x_after(self) -> Floats | None:
        """The same for the weights after the step, which an update has turned towards y·x."""
        if self.x is None or self.kernel:
            return None
        return _cosines(self.after, self.x)

    @property
    def cos_u(self) -> float | None:
        """The cosine of the angle between the weights after the step and the separator u; None without u or for weights 0."""
        if self.squeeze is None or self.squeeze.length == 0:
            return None
        return min(1.0, max(-1.0, self.squeeze.along_comparator / self.squeeze.length))

    @property
    def tie(self) -> bool:
        """Whether the prediction is the label, and yet a mistake because another class has the same score."""
        return not self.correct and self.scores is not None and bool(self.predicted == self.label)


def _cosines(weights: Floats, x: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines: Floats = weights @ x / (np.linalg.norm(weights, axis=1) * np.linalg.norm(x))
    return np.clip(cosines, -1.0, 1.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Survivor:
    """A weight vector of a voted run, and the number of examples that it survived."""

    weights: Floats
    count: float


@dataclasses.dataclass(frozen=True, eq=False)
class Comparator:
    """A separator u of length 1, with its margin and radius.

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
    """Record of a run. It is printed as a table; iterate over it or index it to get its steps.

    Attributes
    ----------
    algorithm : str
        The name of the learner.
    classes : tuple
        The labels; of two classes the second is the positive one.
    features : tuple of str
        The names of the weights; the bias is "1", or "bias" if a feature has that name.
    examples, epochs, total, total_mistakes, total_updates : int
        Numbers of examples, passes, steps, mistakes and updates of the run, including steps that were not kept. In a batch run
        all mistakes of a pass are one update.
    start, weights : array of shape (weight vectors, features)
        The starting weights, and those used for predictions at the end (the average for the averaged perceptron, the pocket for
        the pocket algorithm).
    steps : tuple of Step
        The steps that were kept: all, or a sample of long runs.
    kind : {"weights", "logarithms", "committee", "dual"}
        What the updates are added to. In a committee these are the weights of several perceptrons that vote.
    comparator : Comparator or None
        The separator of the squeeze.
    formula : str
        The squeeze as a formula.
    bound : float or None
        Upper bound on the number of updates in any order and for any number of passes, as the squeeze proves.
    survivors : tuple of Survivor
        The weight vectors of a voted run with their counts, without those with a count of 0.
    note : str
        Note about steps that were not kept; empty if all were kept.
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

    @property
    def vector_names(self) -> tuple[str, ...]:
        """A name for each weight vector: that of its class; in a committee "w1", "w2" and so on."""
        if self.kind == "committee":
            return tuple(f"w{number}" for number in range(1, len(self.start) + 1))
        return tuple(map(str, self.classes))

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
        """Format the run as a table of plain text.

        Parameters
        ----------
        columns : list of str, "notes" or None, default=None
            The columns, from "step", "epoch", "example", "x", "label", "weights", "score", "predicted", "correct", "update",
            "after", "average", "survived", "pocket", "squeeze", "cos_x", "cos_x_after" and "cos_u" (the cosines of the angles
            between w and x, and between w and u). "notes": step, weights, score, correct and update, as in
            lecture notes. None: those that apply to this run.
        digits : int, default=6
            Significant digits of numbers that are not whole; at least 1.

        Returns
        -------
        str
        """
        return tables.text(self, columns, digits)

    def to_cells(self, columns: Any = None, digits: int = 6) -> tuple[list[str], list[list[list[str]]]]:
        """The headings and the cells of the table, each cell a list of lines; see `to_text` for the parameters."""
        return tables.grid(self, columns, digits)

    def to_markdown(self, columns: Any = None, digits: int = 6) -> str:
        """Format the run as a Markdown table; see `to_text` for the parameters."""
        return tables.markdown(self, columns, digits)

    def to_html(self, columns: Any = None, digits: int = 6) -> str:
        """Format the run as an HTML table with its own style; see `to_text` for the parameters."""
        return tables.html(self, columns, digits)

    def to_json(self, indent: int | None = None) -> str:
        """Convert the whole trace to JSON; `from_json` reads it.

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
        """Read a trace that `to_json` wrote."""
        return exports.from_json(cls, text)

    def to_csv(self) -> str:
        """Convert to CSV: a header, one line for each step and one column for each number."""
        return exports.to_csv(self)

    def to_frame(self) -> Any:
        """Convert to a pandas DataFrame with the rows of `to_csv`."""
        return exports.to_frame(self)
