"""The trace of a kernel run: coefficients of examples instead of weights of features."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.dual.model import KernelModel
from rosenblatt.dual.rows import Block
from rosenblatt.dual.streams import canonical
from rosenblatt.dual.training import Epochs
from rosenblatt.model.scores import margins, positive_first, predicted_classes, wrong
from rosenblatt.theory.bounds import Squeeze, block_novikoff
from rosenblatt.training.schedule import VisitingOrder

from .sampling import Sample
from .steps import Comparator, Floats, Step, Trace

LARGEST_SET = 2000
"""Limit on the number of examples: the kernel matrix and a coefficient for each example at every step must fit into memory."""


def trace_kernel(learner: Any, settings: dict[str, Any], X: Any, y: NDArray[Any], sample: Sample) -> Trace:
    """Pass one example at a time to the engine of `KernelPerceptron` and record its steps."""
    from sklearn.utils import check_random_state

    if len(y) > LARGEST_SET:
        raise ValueError(
            f"A trace of a kernel run can have {LARGEST_SET:,} examples at most, because every step shows the coefficient of "
            f"each; got {len(y):,}. Trace a part of them."
        )
    estimator = learner(**{"tol": None, **settings})
    estimator._check_parameters()
    if estimator.budget is not None:
        raise ValueError(
            f"`budget` of a traced kernel run must be None, so that no example is dropped; got {estimator.budget!r}. Leave it "
            "out."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"The labels of a kernel run must hold at least 2 classes; got 1 class, {classes.tolist()[0]!r}. Check that y is the "
            "label column."
        )
    if positive_first(classes, estimator.positive, "trace"):
        classes, codes = classes[::-1], 1 - codes
    codes = codes.astype(np.int64)
    random = check_random_state(estimator.random_state)
    model = KernelModel(estimator._settings(X, random), len(classes))
    model.refuse_standstill()
    machine: Any = model.machine
    data = Block.of(canonical(X), np.arange(len(y), dtype=np.int64))
    gram: Floats = np.asarray(model.kernel(data, data), dtype=np.float64)
    passes = Epochs(machine, model.kernel, data, codes, np.ones(len(y)), 1)

    dual: Floats = np.zeros((machine.columns, len(y)))
    wrong_passes = epochs = 0
    orders = VisitingOrder(estimator.shuffle, random)
    for number in range(estimator.max_iter):
        order = orders.whole(np.arange(len(y)), number)
        epochs += 1
        before_pass = machine.n_updates
        for t in range(len(order)):
            row, events = int(order[t]), len(machine.event_row)
            before, moves = dual, np.zeros(machine.columns)
            passes.run(order[t : t + 1])
            scores = passes.scores[row].copy()
            if len(machine.event_row) > events:
                moves, scores = machine.event_tau.view[-1].copy(), machine.event_score.view[-1].copy()
                dual = dual.copy()
                dual[:, row] += moves
            mistake = bool(moves.any()) and bool(wrong(scores[None], codes[row : row + 1], estimator.on_zero)[0])
            wrong_passes += mistake
            best = predicted_classes(scores[None])[0]
            update = np.zeros_like(dual)
            update[:, row] = moves
            sample.add(
                Step(
                    number=sample.total + 1,
                    epoch=epochs,
                    example=row + 1,
                    x=gram[row],
                    label=classes[codes[row]].item(),
                    predicted=classes[best].item(),
                    scores=scores,
                    correct=not mistake,
                    before=before,
                    after=dual,
                    moves=moves,
                    update=update,
                    kernel=True,
                )
            )
        if machine.n_updates == before_pass:
            break
    steps, note = sample.steps()
    known = _last_weights(dual, gram, codes, str(estimator.multiclass))
    return Trace(
        algorithm="kernel",
        classes=tuple(classes.tolist()),
        features=tuple(f"φ(x{number})" for number in range(1, len(y) + 1)),
        examples=len(y),
        epochs=epochs,
        total=sample.total,
        total_mistakes=wrong_passes,
        total_updates=int(machine.n_updates),
        start=np.zeros_like(dual),
        weights=dual,
        steps=steps if known is None else _squeezed(steps, known, gram, machine),
        kind="dual",
        comparator=known,
        formula="" if known is None else "kγ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √k·R",
        bound=None if known is None else block_novikoff(known.radius, known.margin),
        note=note,
    )


def _last_weights(dual: Floats, gram: Floats, codes: NDArray[np.int64], multiclass: str) -> Comparator | None:
    """The last weights as a comparator in feature space, if they separate the examples."""
    if len(dual) > 1 and multiclass not in ("max", "uniform", "proportional"):
        return None
    reached = float(margins(np.ascontiguousarray((dual @ gram).T), codes).min())
    length = math.sqrt(max(0.0, float(np.vdot(dual @ gram, dual))))
    if reached <= 0 or length == 0:
        return None
    longest = math.sqrt(float(np.diagonal(gram).max()) * (2.0 if len(dual) > 1 else 1.0))
    return Comparator(dual / length, reached / length, longest)


def _squeezed(steps: tuple[Step, ...], known: Comparator, gram: Floats, machine: Any) -> tuple[Step, ...]:
    """Copies of the steps with their squeeze."""
    times = machine.event_time.view
    squeezed = []
    for step in steps:
        updates = int(np.searchsorted(times, step.number))
        raised = step.after @ gram
        squeeze = Squeeze(
            updates * known.margin,
            float(np.vdot(raised, known.weights)),
            math.sqrt(max(0.0, float(np.vdot(raised, step.after)))),
            math.sqrt(updates) * known.radius,
        )
        squeezed.append(dataclasses.replace(step, squeeze=squeeze))
    return tuple(squeezed)
