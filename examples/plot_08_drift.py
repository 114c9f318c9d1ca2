"""
Learning from a stream with drift
=================================

The direction that separates the classes turns slowly, and in the middle of the stream it changes abruptly. Learners
that give all past examples the same weight fall behind; learners that depend mostly on recent examples follow.
"""

# %%
# 20,000 examples with two relevant features and eight irrelevant ones. The separating direction goes round the circle
# twice in total; at 10,000 it is reversed.

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import AROW, ROMMA, AveragedPerceptron, PassiveAggressive, Perceptron

rng = np.random.default_rng(2)
count = 20_000
X = rng.normal(size=(count, 10))
angle = 4 * np.pi * np.arange(count) / count + np.where(np.arange(count) >= count // 2, np.pi, 0)
y = np.where(X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0, 1, -1)

# %%
# Predict, then learn, in steps of 50: all examples of a step are predicted before any of them is learned.

learners = {
    "averaged perceptron": AveragedPerceptron(),
    "AROW": AROW(r=10.0),
    "perceptron": Perceptron(),
    "passive-aggressive": PassiveAggressive(C=0.1),
    "ROMMA, aggressive": ROMMA(variant="aggressive"),
}
step = 50
wrong = {name: np.zeros(count) for name in learners}
for start in range(0, count, step):
    part = slice(start, start + step)
    for name, model in learners.items():
        wrong[name][part] = model.predict(X[part]) != y[part] if start else True
        model.partial_fit(X[part], y[part], classes=[-1, 1])

# %%
# The fraction of mistakes among the last 1,000 predictions. An average over the whole stream is not useful after the
# direction has changed, and the variances of AROW have become too small for large updates. (Around 12,000 both look
# good for a short time, because the direction is again the one that they learned before.) The other three follow
# closely and recover from the jump within a few hundred examples.

fig, ax = plt.subplots(figsize=(10, 5), layout="constrained")
window = np.ones(1000) / 1000
colours = ("#BBBBBB", "#CC79A7", "#0072B2", "#009E73", "#E69F00")
for (name, mistakes), colour in zip(wrong.items(), colours, strict=True):
    curve = 100 * np.convolve(mistakes, window, mode="valid")
    ax.plot(np.arange(1000, count + 1), curve, color=colour, linewidth=2, label=f"{name}: {100 * mistakes.mean():.1f}%")
ax.axvline(count // 2, color="black", linewidth=1, linestyle=":")
ax.annotate("the direction is reversed", (count // 2, 95), xytext=(6, 0), textcoords="offset points", fontsize=10)
ax.axhline(50, color="0.8", linewidth=1, zorder=0)
ax.set(xlabel="examples seen", ylabel="mistakes among the last 1,000, in %", ylim=(0, 100), xlim=(1000, count))
ax.legend(frameon=False, title="mistakes in all", loc="upper left")
plt.show()
