"""Implementation of the kernel perceptron: kernels on blocks of rows, the blocked exact loop, readouts and budgets.

It uses class numbers and blocks, not labels, and does not depend on scikit-learn; the estimator is in
`rosenblatt.learners.kernel_perceptron`.
"""
