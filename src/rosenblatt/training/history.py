"""A training run that can be stopped and taken up: how to train, how far it has come, and when it is done."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Epoch", "Run", "ShardedEpoch"]


@dataclasses.dataclass
class Epoch:
    """What happened in one pass. Mistakes are those made before an example was learned.

    Attributes
    ----------
    examples, mistakes, updates, unlabelled
        How many there were.
    loss : float
        The sum of their losses, each times its importance.
    held_out, held_out_mistakes
        Examples that were not learned, and the wrong guesses among them; on a cluster by their importance.
    seconds : float
        How long it took.
    weight : float
        The sum of the importances; 0 where it was not noted.
    readout_accuracy : float or None
        How the average did on what was learned, where that was asked.
    """

    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0
    unlabelled: int = 0
    held_out: float = 0
    held_out_mistakes: float = 0
    seconds: float = 0.0
    weight: float = 0.0
    readout_accuracy: float | None = None

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Epoch":
        """What `dataclasses.asdict` gave, of a pass over shards too."""
        return (ShardedEpoch if "weighted_mistakes" in saved else cls)(**saved)

    @property
    def accuracy(self) -> float:
        """The share predicted rightly before learning."""
        return 1.0 - self.mistakes / self.examples if self.examples else float("nan")

    @property
    def mean_loss(self) -> float:
        """The loss for each example of importance 1."""
        return self.loss / (self.weight or max(1, self.examples))

    @property
    def held_out_accuracy(self) -> float | None:
        """The same for the examples that were set aside and never learned."""
        return 1.0 - self.held_out_mistakes / self.held_out if self.held_out else None


@dataclasses.dataclass
class ShardedEpoch(Epoch):
    """One pass over shards that learn side by side and are mixed afterwards.

    Attributes
    ----------
    weighted_mistakes : float
        Σ μᵢkᵢ: the mistakes of each shard, weighted as its weights were in the mixture.
    bytes_moved : int
        What travelled between machines: weights, their differences and counts; never examples.
    compute_seconds : float
        The time of the busiest thread in the learning itself, without mixing and without waiting.
    shard_mistakes, shard_updates : list of int
        The mistakes and updates of each shard.
    shard_mixing : list of float
        μᵢ: how much each shard counted in the mixture.
    """

    weighted_mistakes: float = 0.0
    bytes_moved: int = 0
    compute_seconds: float = 0.0
    shard_mistakes: list[int] = dataclasses.field(default_factory=list)
    shard_updates: list[int] = dataclasses.field(default_factory=list)
    shard_mixing: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Run:
    """How to train, and how far it has come.

    Attributes
    ----------
    epochs : int
        Passes in all.
    shuffle : bool
        Whether to visit in a fresh order.
    seed : int
        Decides the orders and who is set aside.
    holdout : float
        The share of examples that are set aside.
    tol, patience
        Stop when the held-out accuracy, or else the mean loss, has not improved by `tol` for so many epochs; None: never.
    done : list of Epoch
        The passes that are complete.
    current : Epoch
        The pass that is not.
    stopped : str
        Why it ended: "epochs", "no mistakes", "no improvement", "read once" or "interrupted".
    """

    epochs: int
    shuffle: bool | str = True
    seed: int = 0
    holdout: float = 0.0
    tol: float | None = 1e-3
    patience: int = 5
    done: list[Epoch] = dataclasses.field(default_factory=list)
    current: Epoch = dataclasses.field(default_factory=Epoch)
    stopped: str = ""

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, for the model file."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Run":
        """What `to_json` gave."""
        parts = {
            "done": [Epoch.from_json(epoch) for epoch in saved["done"]],
            "current": Epoch.from_json(saved["current"]),
        }
        return cls(**{**saved, **parts})

    def _merit(self, epoch: Epoch) -> float:
        return epoch.held_out_accuracy if epoch.held_out_accuracy is not None else -epoch.mean_loss

    def finished(self) -> str:
        """Why no further epoch is needed; empty if one is."""
        if self.done and self.done[-1].mistakes == 0 and self.done[-1].updates == 0:
            return "no mistakes"
        if len(self.done) >= self.epochs:
            return "epochs"
        if self.tol is not None and self._waiting(self.tol) >= self.patience:
            return "no improvement"
        return ""

    def _waiting(self, tol: float) -> int:
        """For how many epochs there has been no improvement.

        Only epochs that were judged as the last one was are compared: by examples held out, or by the loss. An average lags
        behind the weights: where it still improves when they no longer do, waiting begins anew.
        """
        best, best_readout, waiting = -float("inf"), -float("inf"), 0
        for epoch in self.done:
            if (epoch.held_out_accuracy is None) != (self.done[-1].held_out_accuracy is None):
                continue
            merit = self._merit(epoch)
            waiting = 0 if merit > best + tol else waiting + 1
            best = max(best, merit)
            if epoch.readout_accuracy is not None and epoch.readout_accuracy > best_readout + tol:
                best_readout, waiting = epoch.readout_accuracy, 0
        return waiting

    def aside(self, first: int, count: int) -> NDArray[np.bool_]:
        """Which of the examples from number `first` on are set aside: decided by their numbers and the seed alone."""
        if not self.holdout:
            return np.zeros(count, bool)
        mixed = np.arange(first, first + count, dtype=np.uint64) + np.uint64((self.seed * 0x9E3779B97F4A7C15) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64, which has no pattern
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        return np.asarray(mixed < np.uint64(self.holdout * 2.0**64))
