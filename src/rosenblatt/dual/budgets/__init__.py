"""Kernel perceptrons with a support set of limited size; one file per paper."""

from rosenblatt.dual.budgets.forgetron import Forgetron
from rosenblatt.dual.budgets.projectron import Projectron
from rosenblatt.dual.budgets.random_eviction import RandomEviction
from rosenblatt.dual.budgets.slots import BudgetMachine

POLICIES: dict[str, type[BudgetMachine]] = {
    "random": RandomEviction,
    "forgetron": Forgetron,
    "projectron++": Projectron,
}
