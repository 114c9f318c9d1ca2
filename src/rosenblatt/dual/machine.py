"""State of a kernel perceptron: its support rows and its updates in order.

All readouts are computed from them: the weights after update e are w_e = Σ_{i<=e} tau_i φ(x_i).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rosenblatt.dual.rows import Block, Floats, Growing, Integers, RowStore
from rosenblatt.engine.conventions import OnZero, Scheme


def columns_for(n_classes: int) -> int:
    """Number of scores: one for up to two classes (its sign decides), else one per class."""
    return 1 if n_classes <= 2 else n_classes


def spread(values: Floats, columns: int) -> Floats:
    """Widen an array to one column per class: one column w becomes -w, +w, and new classes start at 0."""
    old = values.shape[1]
    wide = np.zeros((len(values), columns))
    if old == 1 and columns > 1:
        wide[:, 0], wide[:, 1] = -values[:, 0], values[:, 0]
    else:
        wide[:, :old] = values
    return wide


@dataclass
class Machine:
    """State of a kernel perceptron without a budget.

    Attributes
    ----------
    rows : the distinct support rows, in the order of their first mistake
    dual : coefficient of each support row for each class, in the last weights
    event_row, event_tau, event_score, event_self, event_time : the updates in order: their support row, their step for
        each class, the scores before the update, k(x, x), and the number of examples before it
    """

    scheme: Scheme
    on_zero: OnZero
    columns: int = 1
    keep_rows: bool = True
    n_seen: int = 0
    n_mistakes: int = 0
    rows: RowStore = field(init=False)

    def __post_init__(self) -> None:
        self.rows = RowStore(self.keep_rows)
        self.dual = Growing(self.columns)
        self.event_row = Growing(None, np.int64)
        self.event_time = Growing(None, np.int64)
        self.event_tau = Growing(self.columns)
        self.event_score = Growing(self.columns)
        self.event_self = Growing(None)

    @property
    def n_updates(self) -> int:
        """Number of corrections of a weight vector: one per mistake (separately for each class with one-vs-rest)."""
        return self.n_mistakes

    def add_updates(
        self,
        block: Block,
        position: Integers,
        row_of: Integers,
        taus: Floats,
        seen: Floats,
        self_products: Floats,
        times: Integers,
    ) -> None:
        """Record updates in order; `row_of` maps example numbers to support rows and is extended by new ones."""
        if len(position) == 0:
            return
        examples = block.ids[position]
        _, first = np.unique(examples, return_index=True)
        first.sort()
        fresh = first[row_of[examples[first]] < 0]
        row_of[examples[fresh]] = len(self.rows) + np.arange(len(fresh))
        self.rows.append(block.take(position[fresh]))
        self.dual.extend(np.zeros((len(fresh), self.columns)))
        which = row_of[examples]
        np.add.at(self.dual.view, which, taus)
        self.event_row.extend(which)
        self.event_time.extend(times)
        self.event_tau.extend(taus)
        self.event_score.extend(seen)
        self.event_self.extend(self_products)

    def grow(self, n_classes: int) -> None:
        """Add classes; a third one turns w into -w and +w for the first two."""
        columns = columns_for(n_classes)
        if columns == self.columns:
            return
        for record in (self.dual, self.event_tau, self.event_score):
            record.replace(spread(record.view, columns))
        self.columns = columns

    def mark(self) -> tuple[int, int, int, int]:
        """A mark of the current state for `rewind` after an error; valid while old rows get no new updates."""
        return len(self.rows), len(self.event_row), self.n_seen, self.n_mistakes

    def rewind(self, mark: tuple[int, int, int, int], columns: int) -> None:
        """Undo everything learned since the mark."""
        rows, events, self.n_seen, self.n_mistakes = mark
        self.rows.truncate(rows)
        self.dual.truncate(rows)
        for record in (self.event_row, self.event_time, self.event_tau, self.event_score, self.event_self):
            record.truncate(events)
        if columns != self.columns:
            # `grow` only spreads or pads columns, so the old ones still exist: +w is the second.
            kept = slice(1, 2) if columns == 1 else slice(0, columns)
            for record in (self.dual, self.event_tau, self.event_score):
                record.replace(np.ascontiguousarray(record.view[:, kept]))
            self.columns = columns
