"""The kernel perceptron's engine: kernels on blocks of rows, the blocked exact loop, readouts and budgets.

It knows class numbers and blocks, not labels and not scikit-learn; `rosenblatt.learners.kernel_perceptron` puts the
estimator on top.
"""
