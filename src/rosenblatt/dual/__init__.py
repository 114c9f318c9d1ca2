"""The kernel perceptron's engine: kernels on blocks of rows, the blocked exact loop, readouts and budgets.

It knows class numbers and blocks, not labels and not scikit-learn; `rosenblatt.learners.kernel_perceptron` puts the
estimator on top.
"""

from rosenblatt.dual.model import KernelModel, Settings
from rosenblatt.dual.rows import Block

__all__ = ["Block", "KernelModel", "Settings"]
