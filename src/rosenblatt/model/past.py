"""The scores that a model gave to past examples before it learned them, from which probabilities are calibrated.

The engine notes them while it learns (`engine.loop.note_scores`). They do not depend on how a stream is divided into calls, and
they change neither weights nor mistakes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.state import State

from .calibration import Calibration

Past = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]

_NUMBERS, _MOST, _LEAST = 1 << 14, 1024, 64
"""The scores that are kept, and the largest and smallest number of examples; about 128 KB unless there are very many classes."""


NO_PAST: Past = np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(2, np.int64)
"""The arrays of a model that notes nothing."""


def empty_past(vectors: int) -> Past:
    """Room for the scores of the last examples that are noted, for their labels and counts."""
    rows = max(_LEAST, min(_MOST, _NUMBERS // vectors))
    return np.zeros((rows, vectors)), np.zeros(rows, np.int64), np.zeros(2, np.int64)


def named_past(past: Past) -> dict[str, Any]:
    """The same by the names that they have in a state."""
    return dict(zip(State._fields[-3:], past, strict=True))


def noted(state: State) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores and labels of the last examples that were noted, the oldest first."""
    rows, count = state.past_labels.size, int(state.past_counts[1])
    order = np.arange(max(0, count - rows), count) % max(1, rows)
    return state.past_scores[order], state.past_labels[order]


def fill_past(state: State, scores: NDArray[np.float64], labels: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Put examples, the oldest first, into a state; `counts` has those before them, too."""
    rows = state.past_labels.size
    state.past_counts[...] = counts
    order = np.arange(int(counts[1]) - labels.size, int(counts[1]))[-rows:] % max(1, rows)
    state.past_scores[order], state.past_labels[order] = scores[-rows:], labels[-rows:]


def move_past(old: State, new: State) -> None:
    """Take over the examples of a state with fewer classes; a class that had not come had the score 0."""
    scores, labels = noted(old)
    missing = new.past_scores.shape[1] - scores.shape[1]
    if scores.shape[1] == 1 and missing:
        scores, missing = np.column_stack([-scores, scores]), missing - 1
    fill_past(new, np.column_stack([scores, np.zeros((labels.size, missing))]), labels, old.past_counts)


def calibration_of(state: State) -> Calibration | None:
    """Probabilities for the scores of a model, from examples that were noted; None without any."""
    scores, labels = noted(state)
    return Calibration.of(scores.shape[1]).fit(scores, labels) if labels.size else None
