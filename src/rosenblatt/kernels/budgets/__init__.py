"""Kernel perceptrons whose support set has a fixed size; one file per paper."""

from rosenblatt.kernels.budgets.forgetron import Forgetron
from rosenblatt.kernels.budgets.projectron import Projectron
from rosenblatt.kernels.budgets.random_eviction import RandomEviction
from rosenblatt.kernels.budgets.slots import BudgetMachine

POLICIES: dict[str, type[BudgetMachine]] = {
    "random": RandomEviction,
    "forgetron": Forgetron,
    "projectron++": Projectron,
}

__all__ = ["POLICIES", "BudgetMachine", "Forgetron", "Projectron", "RandomEviction"]
