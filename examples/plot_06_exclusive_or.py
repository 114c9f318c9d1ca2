"""
Beyond a straight line: the exclusive or
========================================

No line separates the even corners of a square from the odd ones. This problem ended the first wave of interest in
perceptrons. Two learners of this library solve it: one with a kernel, one with several perceptrons.
"""

import matplotlib.pyplot as plt
import numpy as np

import rosenblatt
from rosenblatt import KernelPerceptron, ParallelPerceptron, Perceptron, plots

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(240, 2))
X = X[(np.abs(X) > 0.12).all(axis=1)]
y = np.where(X[:, 0] * X[:, 1] > 0, "even", "odd")

# %%
# More training does not help a single line. :func:`rosenblatt.certify` finds a point in the convex hulls of both
# classes and checks it in exact arithmetic.

certificate = rosenblatt.certify(X, y)
print(certificate, "\nchecked in exact arithmetic:", certificate.verify())

# %%
# The features of a polynomial kernel of degree 2 include the product of the two coordinates, and this product is the
# label. The radial kernel does not contain the product and learns the corners from the examples. A committee of
# perceptrons uses several lines and a vote.

learners = {
    "a perceptron": Perceptron(max_iter=50, tol=None),
    "kernel of degree 2": KernelPerceptron("poly", degree=2, max_iter=50, tol=None),
    "radial kernel": KernelPerceptron("rbf", gamma=4.0, max_iter=50, tol=None),
    "9 perceptrons that vote": ParallelPerceptron(n_perceptrons=9, gamma=0.02, max_iter=400, tol=None),
}
fig, axes = plt.subplots(2, 2, figsize=(8.4, 8), layout="constrained")
for ax, (title, model) in zip(axes.flat, learners.items(), strict=True):
    model.fit(X, y)
    plots.DecisionRegionDisplay.from_estimator(model, X, y, ax=ax, show_weights=False, show_margin=False, legend=False)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    ax.set_title(f"{title}: {model.score(X, y):.0%} right", fontsize=12)
plt.show()
