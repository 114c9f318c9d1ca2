"""What happened in each epoch of a training run; saved with the model, so that an interrupted run can go on."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass
class Epoch:
    """One pass over the examples. A mistake is a wrong prediction made before the example was learned.

    Attributes
    ----------
    examples, mistakes, updates, unlabelled
        Their numbers. Examples without a label are not learned.
    loss : float
        The sum of the losses, each times the weight of its example.
    held_out, held_out_mistakes
        The examples that were held out, and the wrong predictions among them, both counted by weight.
    seconds : float
        The time it took.
    weight : float
        The sum of the weights of the examples; 0 where it was not recorded.
    readout_accuracy : float or None
        The accuracy of the average on the training examples, where the decision to stop needed it.
    lucky : bool
        Whether a pass without an update does not mean that all is learned: some examples were not drawn, or there is a penalty.
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
    lucky: bool = False

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Epoch":
        """Read what `dataclasses.asdict` gave, also of a pass over shards."""
        return (ShardedEpoch if "weighted_mistakes" in saved else cls)(**saved)

    @property
    def accuracy(self) -> float:
        """The share of examples that were predicted correctly before they were learned."""
        return 1.0 - self.mistakes / self.examples if self.examples else float("nan")

    @property
    def mean_loss(self) -> float:
        """The mean loss, weighted by the weights of the examples."""
        return self.loss / (self.weight or max(1, self.examples))

    @property
    def held_out_accuracy(self) -> float | None:
        """The accuracy on the examples that were held out."""
        return (self.held_out - self.held_out_mistakes) / self.held_out if self.held_out else None


@dataclasses.dataclass
class ShardedEpoch(Epoch):
    """One pass over shards that learn in parallel and whose weights are mixed afterwards.

    Attributes
    ----------
    weighted_mistakes : float
        Σ μᵢkᵢ: the mistakes of each shard times its share in the mixture.
    bytes_moved : int
        Bytes sent between machines: weights, their differences and counts; never examples.
    compute_seconds : float
        The learning time of the busiest thread, without mixing and waiting.
    shard_mistakes, shard_updates : list of int
        The mistakes and updates of each shard.
    shard_mixing : list of float
        μᵢ: the share of each shard in the mixture.
    weighted_steps : float or None
        Σ μᵢsᵢ: the sum of the step sizes of each shard times its share in the mixture.
    """

    weighted_mistakes: float = 0.0
    bytes_moved: int = 0
    compute_seconds: float = 0.0
    shard_mistakes: list[int] = dataclasses.field(default_factory=list)
    shard_updates: list[int] = dataclasses.field(default_factory=list)
    shard_mixing: list[float] = dataclasses.field(default_factory=list)
    weighted_steps: float | None = None


@dataclasses.dataclass
class History:
    """The epochs of a training run, and why it ended.

    Attributes
    ----------
    done : list of Epoch
        The complete epochs.
    current : Epoch
        The epoch that is not complete.
    stopped : str
        Why training ended: "no mistakes", "epochs", "no improvement", "cycle", "read once" or "interrupted".
    cycle : array or None
        How often each example (and rival class) was added on the way back to earlier weights: a proof of inseparability.
    start_norm : float
        ‖w₀‖, the length of the starting weights; NaN if it is not known.
    distance : float
        ‖w − w₀‖.
    steps : float
        The sum of the step sizes.
    weighted : bool
        Whether examples have weights of their own.
    mixed : bool
        Whether the weights of several shards were mixed.
    """

    done: list[Epoch] = dataclasses.field(default_factory=list)
    current: Epoch = dataclasses.field(default_factory=Epoch)
    stopped: str = ""
    cycle: NDArray[np.int64] | None = None
    start_norm: float = 0.0
    distance: float = math.inf
    steps: float = 0.0
    weighted: bool = False
    mixed: bool = False

    @property
    def epochs(self) -> list[Epoch]:
        """All epochs that were begun."""
        return [*self.done, self.current] if self.current.examples else self.done

    def close_epoch(self) -> Epoch:
        """Note that the current epoch is complete."""
        epoch = self.current
        self.done.append(epoch)
        self.current = type(epoch)()
        return epoch

    def to_json(self) -> dict[str, Any]:
        """The epochs as plain values, for the model file."""
        asdict = dataclasses.asdict
        return {
            "done": [asdict(epoch) for epoch in self.done],
            "current": asdict(self.current),
            "stopped": self.stopped,
            "start_norm": None if math.isnan(self.start_norm) else self.start_norm,
            "steps": self.steps,
            "weighted": self.weighted,
            "mixed": self.mixed,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "History":
        """Read what `to_json` gave."""
        done = [Epoch.from_json(epoch) for epoch in saved["done"]]
        kept: dict[str, Any] = {name: saved[name] for name in ("steps", "weighted", "mixed") if name in saved}
        start_norm = saved.get("start_norm")  # None: not known, as in files of version 0.1
        kept["start_norm"] = math.nan if start_norm is None else start_norm
        return cls(done, Epoch.from_json(saved["current"]), saved["stopped"], **kept)
