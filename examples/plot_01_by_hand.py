"""
A perceptron by hand
====================

The algorithm is five lines long. In this example it learns six points, and every update is shown as a picture.
"""

# %%
# There are six points of two classes. A constant feature 1 comes first, so that the line need not pass through the
# origin. The weights start at zero. Whenever the margin :math:`y\,\langle w, x\rangle` of a point is not positive,
# the point, multiplied by its label, is added to the weights.

import matplotlib.pyplot as plt
import numpy as np

import rosenblatt

points = np.array([[2.0, -1.0], [0.5, 2.0], [2.5, 1.5], [-2.0, 2.0], [0.0, -1.0], [-2.0, -1.0]])
y = np.array([1, 1, 1, -1, -1, -1])
X = np.column_stack([np.ones(6), points])

w = np.zeros(3)
steps = []
for epoch in range(10):
    mistakes = 0
    for i in range(6):
        if y[i] * (w @ X[i]) <= 0:
            before, w = w, w + y[i] * X[i]
            steps.append((epoch + 1, i, before, w))
            mistakes += 1
    if mistakes == 0:
        break

print(f"{len(steps)} updates in {epoch + 1} passes, the last without a mistake; w = {w}")

# %%
# Each picture shows one update. The dashed line belongs to the weights before the update, the solid line to those
# after it, and the circle marks the point that was wrong. The arrow is the normal of the line: it turns towards a
# positive point and away from a negative one.

BLUE, ORANGE = "#0072B2", "#E69F00"
across = np.array([-4.0, 4.0])


def draw_line(ax, weights, **style):
    bias, *normal = weights
    if np.linalg.norm(normal) > 0:
        middle = -bias * np.asarray(normal) / np.dot(normal, normal)
        along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
        ax.plot(*(middle[:, None] + 2 * along[:, None] * across), **style)
    return normal


fig, axes = plt.subplots(1, len(steps), figsize=(3.1 * len(steps), 3.4), layout="constrained", squeeze=False)
for number, (ax, (epoch, i, before, after)) in enumerate(zip(axes[0], steps, strict=True), start=1):
    for label, colour, marker in ((1, BLUE, "o"), (-1, ORANGE, "s")):
        ax.scatter(*points[y == label].T, c=colour, marker=marker, s=60, zorder=3)
    ax.scatter(*points[i], s=260, facecolors="none", edgecolors="#B22222", linewidths=2, zorder=4)
    draw_line(ax, before, color="0.6", linestyle="--", linewidth=1.5)
    normal = draw_line(ax, after, color="black", linewidth=2)
    ax.annotate("", xy=normal / np.linalg.norm(normal) * 1.6, xytext=(0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2})
    ax.set(xlim=(-3.3, 3.3), ylim=(-3.3, 3.9), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"update {number}, pass {epoch}\nw = ({', '.join(f'{v:g}' for v in after)})", fontsize=11)
plt.show()

# %%
# The :class:`~rosenblatt.Perceptron` of the library gives the same weights, and :func:`rosenblatt.trace` prints the
# run as in lecture notes.

model = rosenblatt.Perceptron(shuffle=False, tol=None).fit(points, y)
assert np.array_equal(model.coef_[0], w[1:])
assert model.intercept_[0] == w[0]
print(rosenblatt.trace(points, y, max_iter=10).to_text(columns="notes"))
