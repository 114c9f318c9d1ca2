r"""
The margin decides how many mistakes
====================================

The perceptron makes at most :math:`(R/\gamma)^2` mistakes, where :math:`R` is the length of the longest example and
:math:`\gamma` the margin, the distance of the nearest example from the best line. The bound does not depend on the
number of examples or features.
"""

# %%
# Two sets of points on a circle of radius 1; the margin of the second is ten times smaller. The band is the widest
# that fits between the classes, found and proved by :func:`rosenblatt.certify`.

import matplotlib.pyplot as plt
import numpy as np

import rosenblatt
from rosenblatt import plots
from rosenblatt.experiments import margin_against_mistakes, separable_examples

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, margin in zip(axes, (0.3, 0.03), strict=True):
    X, y, _ = separable_examples(margin, examples=150, features=2, random_state=3)
    best = rosenblatt.certify(X, y, fit_intercept=False)
    model = rosenblatt.Perceptron(fit_intercept=False, tol=None).fit(X, y)
    normal = best.separator[0].ravel() / np.linalg.norm(best.separator[0])
    along = np.array([-normal[1], normal[0]])
    gamma = best.margin[0]
    for shift, style in ((0, "-"), (gamma, ":"), (-gamma, ":")):
        ax.plot(*(shift * normal[:, None] + along[:, None] * np.array([-1.05, 1.05])), color="black", linestyle=style)
    for label, colour, marker in ((1, "#0072B2", "o"), (-1, "#E69F00", "s")):
        ax.scatter(*X[y == label].T, c=colour, marker=marker, s=22)
    ax.set_title(f"γ = {gamma:.2f}: {model.mistakes_} mistakes, at most {best.mistake_bound:.0f}", fontsize=12)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.8"))
plt.show()

# %%
# The same for many margins, with twenty seeds each. The number of mistakes grows as the margin decreases. It stays
# below the bound, which is for the worst examples of that margin in the worst order.

curves = margin_against_mistakes(margins=(0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02), n_seeds=20)
display = plots.MarginDisplay(curves).plot()
display.figure_.set_size_inches(8, 4.6)
ticks = [0.02, 0.05, 0.1, 0.2, 0.5]
display.ax_.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
display.ax_.set_xticks([], minor=True)
plt.show()
