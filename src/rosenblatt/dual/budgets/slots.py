"""Common parts of budgeted machines: a fixed number of slots for support rows, and the blocked loop around a policy.

A block needs the kernel values of its examples with the slots and with each other, one matrix product each. Inside the
block the `column` of a slot is the index of its kernel values: a slot at the start of the block, or an example of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from rosenblatt.dual.functions import Kernel
from rosenblatt.dual.machine import columns_for, spread
from rosenblatt.dual.online import TILE, NotFiniteError
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.engine.conventions import OnZero, Scheme

Task: TypeAlias = tuple[Floats, Integers, Floats, int, int]
"""A block: its kernel values with the slots and with itself, of shape (B, old + B), labels, weights, scheme, on_zero."""

State: TypeAlias = tuple[Integers, Floats, int, int]
"""The slots: `column` and `coef`, large enough for the block and changed in place; number of used slots; budget."""


class Slots:
    """Support rows in numbered slots, dense or CSR."""

    def __init__(self, keep_rows: bool) -> None:
        self._keep_rows = keep_rows
        self.block: Block | None = None

    def __len__(self) -> int:
        return 0 if self.block is None else len(self.block)

    @property
    def ids(self) -> Integers:
        """The numbers of the stored examples."""
        return np.empty(0, dtype=np.int64) if self.block is None else self.block.ids

    def slice(self, start: int, stop: int) -> Block:
        """Slots start:stop."""
        assert self.block is not None
        return self.block.take(slice(start, stop))

    def put(self, column: Integers, block: Block) -> None:
        """Set slot s to the old slot column[s], or to the example column[s] - len(self) of the block."""
        old = len(self)
        if self.block is None:
            self.block = self._bare(block).take(column)
            return
        sq_norms = np.concatenate([self.block.sq_norms, block.sq_norms])[column]
        ids = np.concatenate([self.block.ids, block.ids])[column]
        if not self._keep_rows:
            self.block = Block(np.empty((len(ids), 0)), sq_norms, ids)
            return
        self.block = Block(self._put_rows(column, old, block.rows), sq_norms, ids)

    def _bare(self, block: Block) -> Block:
        return block if self._keep_rows else Block(np.empty((len(block), 0)), block.sq_norms, block.ids)

    def _put_rows(self, column: Integers, old: int, rows: Any) -> Any:
        assert self.block is not None
        kept = self.block.rows
        if sp.issparse(kept):
            width = max(kept.shape[1], rows.shape[1])
            parts = [sp.csr_array(part) for part in (kept, rows)]
            parts = [sp.csr_array((p.data, p.indices, p.indptr), shape=(p.shape[0], width)) for p in parts]
            return sp.csr_array(sp.vstack(parts, format="csr"))[column]
        added = rows.toarray() if sp.issparse(rows) else rows
        grown = kept if len(column) == old else np.concatenate([kept, np.empty((len(column) - old, kept.shape[1]))])
        changed = np.flatnonzero(column >= old)
        dtype = np.promote_types(kept.dtype, added.dtype)
        grown = grown.astype(dtype, copy=False)
        grown[changed] = added[column[changed] - old]
        return grown


@dataclass
class BudgetMachine:
    """State of a budgeted kernel perceptron; a policy defines the update when the slots are full.

    Attributes
    ----------
    budget : maximum number of support rows, at least 1
    dual : coefficient of each slot for each class
    """

    scheme: Scheme
    on_zero: OnZero
    columns: int = 1
    keep_rows: bool = True
    budget: int = 100
    seed: int = 0
    eta: float = 0.1
    n_seen: int = 0
    n_mistakes: int = 0
    n_updates: int = 0
    rows: Slots = field(init=False)
    dual: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.rows = Slots(self.keep_rows)
        self.dual = np.zeros((0, self.columns))
        self.prepare()

    def prepare(self) -> None:
        """Create the records of the policy besides the slots."""

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Train on one block; return (slots used, mistakes), with -1 slots if a score is not finite."""
        raise NotImplementedError

    def committed(self, values: Floats, column: Integers, old: int) -> None:
        """Update the records of the policy after a block."""

    def learn(
        self,
        kernel: Kernel,
        data: Block,
        y: Integers,
        weight: Floats,
        block_size: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Train on examples in the given order until `stop()` is true after a block; return the number of mistakes."""
        mistakes = 0
        for start in range(0, len(data), block_size):
            block = slice(start, start + block_size)
            mistakes += self._learn_block(kernel, data.take(block), y[block], weight[block])
            if stop():
                break
        return mistakes

    def _learn_block(self, kernel: Kernel, block: Block, y: Integers, weight: Floats) -> int:
        old = len(self.rows)
        values = np.empty((len(block), old + len(block)))
        for start in range(0, old, TILE):
            stop = min(start + TILE, old)
            values[:, start:stop] = kernel(block, self.rows.slice(start, stop))
        values[:, old:] = kernel(block, block)
        if not np.isfinite(values).all():
            raise NotFiniteError("The kernel values")
        room = min(self.budget, old + len(block))
        column = np.arange(room, dtype=np.int64)
        coef = np.zeros((room, self.columns))
        coef[:old] = self.dual
        task = (values, y, weight, int(self.scheme), int(self.on_zero))
        used, mistakes = self.policy(task, (column, coef, old, self.budget))
        if used < 0:
            raise NotFiniteError("The scores")
        column = column[:used]
        if len(column) > old or (column >= old).any():
            self.rows.put(column, block)
            self.committed(values, column, old)
        self.dual = coef[:used]
        self.n_seen += len(block)
        self.n_mistakes += mistakes
        return mistakes

    def grow(self, n_classes: int) -> None:
        """Add classes; a third one turns w into -w and +w for the first two."""
        columns = columns_for(n_classes)
        if columns != self.columns:
            self.dual = spread(self.dual, columns)
            self.columns = columns
