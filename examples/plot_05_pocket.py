"""
The pocket keeps the best
=========================

If the classes are not linearly separable, the perceptron never stops changing: it goes from good weights to bad ones
and back. The pocket algorithm runs the perceptron and stores the best weights of the run.
"""

# %%
# Two overlapping clouds of points. :func:`rosenblatt.certify` proves that no line separates them.

import matplotlib.pyplot as plt
import numpy as np

import rosenblatt
from rosenblatt import PocketPerceptron, plots

rng = np.random.default_rng(4)
y = np.repeat([-1, 1], 100)
X = rng.normal(size=(200, 2)) + 0.9 * y[:, None] * [1.0, 0.5]
print(rosenblatt.certify(X, y))

# %%
# At every step the trace of the pocket algorithm contains the weights of the run and the number of mistakes of the
# weights in the pocket. On all 200 training examples:


def training_mistakes(weights):
    bias, *normal = np.ravel(weights)
    return int(np.sum(y * (X @ normal + bias) <= 0))


run = rosenblatt.trace(X, y, "pocket", max_iter=6, shuffle=True, limit=None)
steps = np.arange(1, len(run) + 1)
now = [training_mistakes(step.after) for step in run]
kept = [step.pocket for step in run]

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(1.35, 1))
left.plot(steps, now, color="0.75", linewidth=1, label="weights of the run")
left.step(steps, kept, where="post", color="#0072B2", linewidth=2.5, label="weights in the pocket")
left.set(xlabel="examples visited", ylabel="mistakes on the 200 training examples", ylim=(0, 140), xlim=(1, steps[-1]))
left.legend(loc="upper right")
pocket = PocketPerceptron(max_iter=60).fit(X, y)
plots.DecisionRegionDisplay.from_estimator(pocket, X, y, ax=right, show_margin=False, legend=False)
right.set_title(f"the pocket after 60 epochs: {pocket.pocket_mistakes_:g} mistakes", fontsize=12)
right.set(xlabel="", ylabel="", xticks=[], yticks=[])
plt.show()

# %%
# The number of mistakes of the pocket never increases; this is called the ratchet. How close it is to the minimum
# cannot be computed quickly, because `finding the fewest mistakes is NP-hard <../theory/fewest_mistakes.html>`_.
