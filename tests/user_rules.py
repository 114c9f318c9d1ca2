"""User-defined rules in a separate module."""

# ruff: noqa: N802 - a rule has the name of the class that is made from it

import math
from math import sqrt

import numpy as np
from numba import njit

import rosenblatt

LIMIT = 0.75
FLAG = True
INFINITE = float("inf")


def hinge(margin):
    return max(0.0, 1.0 - margin)


@njit
def compiled_hinge(margin):
    return max(0.0, 1.0 - margin)


@rosenblatt.rule
def Plain(margin, eta0=1.0):
    return eta0 if margin <= 0 else 0.0


@rosenblatt.rule(target=1.0)
def Cautious(margin: float, sq_norm: float, C: float = 0.1) -> float:
    """Passive-aggressive with a ceiling."""
    return min(C, max(0.0, 1.0 - margin) / sq_norm)


@rosenblatt.rule(readout="average", target=0.0)
def Mean(margin, eta0=1.0):
    return eta0 if margin <= 0 else 0.0


@rosenblatt.rule(readout="vote", target=0.0)
def Vote(margin, eta0=1.0):
    return eta0 if margin <= 0 else 0.0


@rosenblatt.rule
def WithHelpers(margin, sq_norm, C=0.5):
    if not FLAG:
        return INFINITE
    return min(C * LIMIT / LIMIT, hinge(margin) / sq_norm) * math.sqrt(1.0) * sqrt(1.0) * np.exp(0.0)


@rosenblatt.rule
def WithCompiledHelper(margin, sq_norm, C=0.5):
    return min(C, compiled_hinge(margin) / sq_norm)


@rosenblatt.rule
def NoNumbers(margin):
    return 1.0 if margin <= 0 else 0.0


@rosenblatt.rule
def Whole(margin, eta0=1):
    return eta0 if margin <= 0 else 0


@rosenblatt.rule
def Given(margin, tau=1.0):
    return tau if margin <= 0 else 0.0


@rosenblatt.rule(target=1.0)
def Unsure(margin, variance, weight, r=1.0):
    """A second-order rule, which keeps variances."""
    beta = 1.0 / (variance + r / weight) if margin < 1.0 else 0.0
    return (1.0 - margin) * beta, beta


@rosenblatt.rule
def InTheBall(margin, sq_norm, w_sq_norm, steps, weight, rate=1.0):
    """A rule that shrinks the weights: the perceptron inside the unit ball."""
    if margin > 0:
        return 1.0, 0.0
    tau = rate * weight / math.sqrt(steps + 1.0)
    shrink = 1.0 / math.sqrt(max(1.0, w_sq_norm + 2.0 * tau * margin + tau * tau * sq_norm))
    return shrink, shrink * tau
