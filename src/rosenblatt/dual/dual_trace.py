"""The dual perceptron one example at a time, every step laid open: for teaching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rosenblatt.dual.functions import Kernel
from rosenblatt.dual.machine import columns_for
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.dual.schemes import OnZero, Scheme, correction


@dataclass(frozen=True)
class DualStep:
    """One visit to one example.

    Attributes
    ----------
    epoch, example : int
        Which pass (from 1) and which example (from 0).
    scores : array of shape (columns,)
        Before the update: one score for two classes, else one per class.
    label : int
        Class number; of two classes 0 is the negative one.
    mistake : bool
    dual : array of shape (n, columns)
        Coefficients of all examples after the visit: w = Σ dual[i] φ(x_i).
    """

    epoch: int
    example: int
    scores: Floats
    label: int
    mistake: bool
    dual: Floats


def dual_trace(
    data: Block,
    y: Integers,
    kernel: Kernel,
    max_iter: int = 1,
    scheme: Scheme = Scheme.MAX,
    on_zero: OnZero = OnZero.UPDATE,
) -> list[DualStep]:
    """Run the dual perceptron in the given order and keep every step; ends early after a pass without a mistake.

    Parameters
    ----------
    data : Block
        A small set: the whole kernel matrix is computed, and every step keeps all coefficients.
    y : array of int
        Class numbers, 0 up to the number of classes less one.
    kernel : Kernel
    max_iter : int, default=1
        Most passes.
    scheme, on_zero
        As `multiclass` and `on_zero` of `KernelPerceptron`.
    """
    gram = kernel(data, data)
    columns = columns_for(int(y.max()) + 1)
    dual, tau = np.zeros((len(data), columns)), np.empty(columns)
    steps: list[DualStep] = []
    for epoch in range(1, max_iter + 1):
        clean = True
        for i in range(len(data)):
            scores = gram[i] @ dual
            mistake = correction(scores, int(y[i]), int(scheme), int(on_zero), tau) > 0
            if mistake:
                dual[i] += tau
                clean = False
            steps.append(DualStep(epoch, i, scores, int(y[i]), mistake, dual.copy()))
        if clean:
            break
    return steps
