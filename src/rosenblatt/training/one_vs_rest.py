"""One-vs-rest training: for each class a run of its own, which stops by itself; several runs at once in threads."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from rosenblatt.model.linear import Model
from rosenblatt.model.one_vs_rest import Reunion, binary_model
from rosenblatt.model.scores import in_row_threads

from .history import Epoch, History
from .loop import Block, BlockPasses, train
from .schedule import asking, stopping_when

REASONS = ("interrupted", "epochs", "no improvement", "no mistakes")
"""Why runs end; the first of these that holds for a class is the reason of all together."""


def train_classes(
    model: Model,
    block: Block,
    passes: Callable[[int, Model, Block], BlockPasses],
    *,
    jobs: int = 1,
    on_epoch: Callable[[int, History], None] | None = None,
) -> History:
    """Train each class of a model against all others, in a run of its own.

    No run depends on another, so the result is the same for every number of threads.

    Parameters
    ----------
    model : Model
        A model of three or more classes.
    block : Block
        All examples.
    passes : callable
        ``passes(k, binary model, block)``: the epochs of class k.
    jobs : int, default=1
        Largest number of classes that are trained at the same time.
    on_epoch : callable, default=None
        Called after each epoch of each class with the number of the class and its history.

    Returns
    -------
    History
        All runs together, see `joined`.
    """
    count = len(model.classes)
    reunion, histories = Reunion(model), [History() for _ in range(count)]
    errors: dict[int, BaseException] = {}
    asked = asking()  # threads of a pool do not have the context of the caller

    def run(k: int) -> None:
        part = binary_model(model, k)
        own = Block(block.table, (block.codes == k).astype(np.int64), block.weights, whole=True)
        note = None if on_epoch is None else functools.partial(on_epoch, k)
        with stopping_when(lambda: bool(errors) or asked()):
            train(part, passes(k, part, own), histories[k], cycles=False, on_epoch=note)
        reunion.put(k, part)

    def several(start: int, stop: int) -> None:
        for k in range(start, stop):
            try:
                run(k)
            except BaseException as error:
                errors[k] = error  # the other classes end with their present epoch
                raise

    try:
        in_row_threads(several, count, block.table.entries * count, jobs)
    except ValueError:
        raise errors[min(errors)] from None  # the same error for every number of threads
    reunion.finish(block.table)
    return joined(histories)


def joined(histories: Sequence[History]) -> History:
    """The runs of all classes as one history.

    An epoch adds up the mistakes, updates and losses of the classes that were still training; its examples count once.
    """
    made = History(stopped=next((reason for reason in REASONS if any(h.stopped == reason for h in histories)), ""))
    for together in itertools.zip_longest(*(history.epochs for history in histories)):
        epochs = [epoch for epoch in together if epoch is not None]
        total = Epoch(examples=max(epoch.examples for epoch in epochs), weight=max(epoch.weight for epoch in epochs))
        for name in ("mistakes", "updates", "loss", "held_out", "held_out_mistakes", "seconds"):
            setattr(total, name, sum(getattr(epoch, name) for epoch in epochs))
        made.done.append(total)
    made.start_norm = math.hypot(*(history.start_norm for history in histories))
    made.distance = math.hypot(*(history.distance for history in histories))
    made.steps = sum(history.steps for history in histories)
    made.weighted = any(history.weighted for history in histories)
    return made
