"""
Perceptrons in parallel
=======================

A single perceptron separates the plane by a line. Several perceptrons that vote can enclose a region. The p-delta
rule of Auer, Burgsteiner and Maass trains all of them with one bit of information: the result of the vote.
"""

# %%
# A disc inside a ring, which no line can separate. The thin lines are the single perceptrons; the colours show the
# majority.

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import ParallelPerceptron, plots

rng = np.random.default_rng(1)
radius = np.sqrt(rng.uniform(0, 1, 500))
turn = rng.uniform(0, 2 * np.pi, 500)
X = 2 * np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
y = np.where(radius < 0.6, "inside", "outside")
keep = np.abs(radius - 0.6) > 0.05
X, y = X[keep], y[keep]

fig, axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
for ax, size in zip(axes, (3, 9, 25), strict=True):
    model = ParallelPerceptron(n_perceptrons=size, eta=0.003, gamma=0.02, max_iter=400, tol=None).fit(X, y)
    plots.DecisionRegionDisplay.from_estimator(model, X, y, ax=ax, show_weights=False, show_margin=False, legend=False)
    across = np.array([-4.0, 4.0])
    limits = ax.get_xlim(), ax.get_ylim()
    for bias, normal in zip(np.ravel(model.intercept_), model.coef_, strict=True):
        middle, along = -bias * normal / (normal @ normal), np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
        ax.plot(*(middle[:, None] + along[:, None] * across), color="black", linewidth=0.7, alpha=0.6)
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal", xlabel="", ylabel="", xticks=[], yticks=[])
    ax.set_title(f"{size} perceptrons: {model.score(X, y):.0%} right", fontsize=12)
plt.show()
