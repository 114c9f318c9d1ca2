r"""
Separable or not: the proof in a picture
========================================

Either a line separates two classes, or their convex hulls have a common point. There is no third case (Gordan 1873),
and both cases can be proved and verified. :func:`rosenblatt.certify` does both.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

import rosenblatt

rng = np.random.default_rng(11)
y = np.repeat([-1, 1], 14)
apart = rng.normal(size=(28, 2)) + 2.4 * y[:, None] * [1, 0.4]
together = rng.normal(size=(28, 2)) + 0.7 * y[:, None] * [1, 0.4]

# %%
# On the left a separator exists. The certificate contains it, with an interval for the largest margin of a width of
# one percent. On the right no separator exists. The proof is a set of weights :math:`\lambda`, one for each example:
# with these weights the mean of the blue points equals the mean of the orange points, so it lies in both hulls. The
# size of a point shows its weight; all other points have weight 0.

fig, axes = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
for ax, X in zip(axes, (apart, together), strict=True):
    certificate = rosenblatt.certify(X, y)
    assert certificate.verify()
    share = np.zeros(len(y)) if certificate.combination is None else certificate.combination
    for label, colour, marker in ((1, "#0072B2", "o"), (-1, "#E69F00", "s")):
        mine = y == label
        hull = X[mine][ConvexHull(X[mine]).vertices]
        ax.fill(*hull.T, color=colour, alpha=0.15)
        ax.scatter(*X[mine].T, c=colour, marker=marker, s=30 + 600 * share[mine], zorder=3, edgecolors="white")
    if certificate.status == "separable":
        coef, intercept = certificate.separator
        normal, bias = coef.ravel(), float(np.ravel(intercept)[0])
        length = np.linalg.norm(normal)
        middle, along = -bias * normal / length**2, np.array([-normal[1], normal[0]]) / length
        band = np.min(y * (X @ normal + bias)) / length
        for shift, style in ((0, "-"), (band, ":"), (-band, ":")):
            line = (middle + shift * normal / length)[:, None] + along[:, None] * np.array([-6, 6])
            ax.plot(*line, color="black", linestyle=style)
        ax.set(xlim=(X[:, 0].min() - 0.5, X[:, 0].max() + 0.5), ylim=(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5))
        ax.set_title(f"separable: at most {certificate.mistake_bound:.0f} mistakes")
    else:
        common = (share[y == 1] / share[y == 1].sum()) @ X[y == 1]
        ax.plot(*common, "*", color="#B22222", markersize=20, zorder=5, markeredgecolor="white")
        ax.set_title("inseparable: the star lies in both hulls")
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Both are verified with integers, without rounding. The certificate of the set on the right:

print(certificate)
print("checked in exact arithmetic:", certificate.verify(together, y))
