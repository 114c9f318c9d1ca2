"""
Winnow: few relevant features among many
========================================

A thousand experts vote on every question. The label is the majority of a hidden panel of five; the votes of the other
995 experts are irrelevant. The perceptron adds the votes of all experts and has to correct the weights of the
irrelevant ones. Winnow multiplies weights, and the panel stands out after a few dozen mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import Perceptron, Winnow, plots
from rosenblatt.experiments import committee_curves, committee_examples

X, y, panel = committee_examples(1000, panel=5, examples=2000, random_state=0)
winnow = Winnow(eta=1 / 5, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
perceptron = Perceptron(fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
print(f"mistakes in 2,000 rounds: Winnow {winnow.mistakes_}, perceptron {perceptron.mistakes_}")

# %%
# The weights of all thousand experts after the run, those of the panel in orange. All other weights of Winnow are
# nearly zero.

fig, axes = plt.subplots(2, 1, figsize=(9, 4.6), layout="constrained", sharex=True)
others = np.setdiff1d(np.arange(1000), panel)
for ax, model in zip(axes, (winnow, perceptron), strict=True):
    weights = model.coef_[0] / np.abs(model.coef_).max()
    ax.vlines(others, 0, weights[others], color="0.55", linewidth=0.8)
    ax.vlines(panel, 0, weights[panel], color="#E69F00", linewidth=2)
    ax.plot(panel, weights[panel], "o", color="#E69F00", markersize=6)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(ylabel="weight", title=f"{type(model).__name__}: {model.mistakes_} mistakes", xlim=(-5, 1005))
axes[1].set_xlabel("expert")
plt.show()

# %%
# The mistakes of the perceptron grow with the number of experts, those of Winnow with its logarithm. Both stay below
# `their bounds <../theory/bounds.html#the-committee>`_.

curves = committee_curves(experts=(30, 100, 300, 1000, 3000), n_seeds=3)
display = plots.CommitteeDisplay(curves).plot()
display.figure_.set_size_inches(8, 4.6)
plt.show()
