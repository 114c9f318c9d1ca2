"""Bounds on mistakes, one function per theorem.

R is the length of the longest example and γ the margin of a unit-length comparator u, the bias feature included in
both; `radius_and_margin` computes the two from data. M is the number of mistakes from zero weights with unit steps unless
stated otherwise. No bound here holds for weighted examples.
"""

from rosenblatt.theory.bounds._perceptron import (
    block_novikoff,
    from_starting_weights,
    hinge_deviation,
    margin_rule_margin,
    margin_rule_updates,
    multiclass,
    not_separable,
    parameter_mixing,
    radius_and_margin,
)
from rosenblatt.theory.bounds._squeeze import Squeeze, margin_from_above, squeeze
from rosenblatt.theory.bounds._winnow import committee_perceptron, committee_winnow, entropy, winnow, winnow_tuned

__all__ = [
    "Squeeze",
    "block_novikoff",
    "committee_perceptron",
    "committee_winnow",
    "entropy",
    "from_starting_weights",
    "hinge_deviation",
    "margin_from_above",
    "margin_rule_margin",
    "margin_rule_updates",
    "multiclass",
    "not_separable",
    "parameter_mixing",
    "radius_and_margin",
    "squeeze",
    "winnow",
    "winnow_tuned",
]
