"""A kernel perceptron without scikit-learn, on blocks of examples and class numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.dual.budgets import POLICIES
from rosenblatt.dual.budgets.slots import BudgetMachine
from rosenblatt.dual.functions import Kernel, make_kernel
from rosenblatt.dual.machine import Machine, columns_for
from rosenblatt.dual.readouts import coefficients, decide, linear_scores
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.dual.training import BLOCK_SIZE, learn_stream
from rosenblatt.engine.conventions import ON_ZERO, SCHEMES, OnZero, Scheme
from rosenblatt.model.scores import margins

# Overflow is detected in the scores and raised as an error, so NumPy's warning is not needed.
QUIET = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True)
class Settings:
    """Parameters of a kernel perceptron; see `KernelPerceptron`."""

    kernel: str | Callable[[Any, Any], Any] = "poly"
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0
    multiclass: str = "max"
    on_zero: str = "update"
    budget: int | None = None
    budget_policy: str = "random"
    eta: float = 0.1
    seed: int = 0
    block_size: int = BLOCK_SIZE

    def build_kernel(self) -> Kernel:
        """Create the kernel function and check its parameters."""
        return make_kernel(self.kernel, self.degree, self.gamma, self.coef0)

    def build_machine(self, n_classes: int) -> Machine | BudgetMachine:
        """Create an empty machine."""
        scheme, on_zero = Scheme(SCHEMES[self.multiclass]), OnZero(ON_ZERO[self.on_zero])
        columns, keep_rows = columns_for(n_classes), self.kernel != "precomputed"
        if self.budget is None:
            return Machine(scheme, on_zero, columns, keep_rows)
        return POLICIES[self.budget_policy](
            scheme, on_zero, columns, keep_rows, budget=int(self.budget), seed=self.seed, eta=float(self.eta)
        )


class KernelModel:
    """A kernel perceptron that learns class numbers from blocks of rows.

    Attributes
    ----------
    machine : Machine or BudgetMachine
        The support rows and updates.
    epochs : list of int
        Mistakes of each pass of the last `fit`.
    """

    def __init__(self, settings: Settings, n_classes: int) -> None:
        self.settings = settings
        self.kernel = settings.build_kernel()
        self.machine = settings.build_machine(n_classes)
        self.n_classes = n_classes
        self.epochs: list[int] = []

    def refuse_standstill(self) -> None:
        """Raise for `on_zero="keep"` before the first update."""
        if self.machine.on_zero == OnZero.KEEP and len(self.machine.rows) == 0:
            raise ValueError(
                '`on_zero` of KernelPerceptron must be "update" or "positive" to start from zero weights; got "keep", '
                'with which a score of 0 is never a mistake and nothing would ever be learned. Use on_zero="update".'
            )

    @QUIET
    def learn(self, data: Block, y: Integers, weight: Floats) -> int:
        """Train on new examples in the given order; return the number of mistakes. After an error `restore` a snapshot."""
        self.refuse_standstill()
        machine, size = self.machine, self.settings.block_size
        if isinstance(machine, BudgetMachine):
            numbered = Block(data.rows, data.sq_norms, machine.n_seen + np.arange(len(data)))
            return machine.learn(self.kernel, numbered, y, weight, size)
        return learn_stream(machine, self.kernel, data, y, weight, size)

    def snapshot(self, single: bool) -> Any:
        """The state for `restore` after a failed `learn`; for a `single` example a budget needs no deep copy."""
        machine = self.machine
        if isinstance(machine, Machine):
            return machine.mark(), machine.columns, self.n_classes
        # A single example is checked before anything changes.
        return (dict(machine.__dict__) if single else copy.deepcopy(machine.__dict__)), self.n_classes

    def restore(self, snapshot: Any) -> None:
        """Restore the state of a snapshot."""
        machine = self.machine
        if isinstance(machine, Machine):
            mark, columns, self.n_classes = snapshot
            machine.rewind(mark, columns)
        else:
            kept, self.n_classes = snapshot
            machine.__dict__.update(kept)

    def set_on_zero(self, word: str) -> None:
        """Change how a score of 0 is treated from now on."""
        self.machine.on_zero = OnZero(ON_ZERO[word])

    def grow(self, n_classes: int) -> None:
        """Add classes."""
        self.machine.grow(n_classes)
        self.n_classes = n_classes

    @QUIET
    def decide(self, data: Block, readout: str, normalize: bool) -> Floats:
        """Scores of new examples, shape (n, columns)."""
        machine = self.machine
        if isinstance(machine, Machine):
            return decide(machine, self.kernel, data, readout, normalize)
        self._refuse_history(readout)
        return linear_scores(machine, self.kernel, data, self.dual(readout, normalize))

    def dual(self, readout: str = "last", normalize: bool = False) -> Floats:
        """Coefficient of every support row for every column."""
        machine = self.machine
        if isinstance(machine, Machine):
            return coefficients(machine, readout, normalize)
        self._refuse_history(readout)
        if not normalize or len(machine.rows) == 0:
            return machine.dual
        support = machine.rows.slice(0, len(machine.rows))
        squared = (machine.dual * linear_scores(machine, self.kernel, support, machine.dual)).sum(axis=0)
        if self.settings.multiclass != "ovr":
            squared = np.full_like(squared, squared.sum())
        return machine.dual / np.sqrt(np.where(squared > 0.0, squared, 1.0))

    def _refuse_history(self, readout: str) -> None:
        if readout != "last":
            raise ValueError(
                f'`readout` of KernelPerceptron must be "last" if there is a `budget`; got {readout!r}, which needs '
                "the rows that a budget removes. Use budget=None to average or vote."
            )

    def separates(self, data: Block, y: Integers) -> bool:
        """Whether the current weights classify every example strictly correctly."""
        size = self.settings.block_size
        for start in range(0, len(data), size):
            part = slice(start, start + size)
            if (margins(self.decide(data.take(part), "last", False), y[part]) <= 0.0).any():
                return False
        return True
