"""
Last, average, vote: three readouts of one run
==============================================

On noisy data the last weights of a perceptron depend strongly on the last noisy example. Freund and Schapire let all
weight vectors of the run vote, or use their average. The run is the same, but the predictions are much more stable.
"""

# %%
# A stream of 4,000 examples with 20 features; every tenth label is wrong. After every 50 examples the three readouts
# are tested on data with correct labels.

import matplotlib.pyplot as plt
import numpy as np

from rosenblatt import AveragedPerceptron, Perceptron, VotedPerceptron

rng = np.random.default_rng(7)
truth = rng.normal(size=20)
X, X_test = rng.normal(size=(4000, 20)), rng.normal(size=(2000, 20))
y, y_test = np.sign(X @ truth), np.sign(X_test @ truth)
y[rng.random(4000) < 0.1] *= -1

learners = {
    "last weights": Perceptron(fit_intercept=False),
    "vote": VotedPerceptron(fit_intercept=False),
    "average": AveragedPerceptron(fit_intercept=False),
}
seen = np.arange(50, 4001, 50)
errors = {name: [] for name in learners}
for stop in seen:
    for name, model in learners.items():
        model.partial_fit(X[stop - 50 : stop], y[stop - 50 : stop], classes=[-1, 1])
        errors[name].append(100 * (1 - model.score(X_test, y_test)))

# %%
# All three make the same updates; only the predictions differ.

counts = {name: model.mistakes_ for name, model in learners.items()}
print(counts)
assert len(set(counts.values())) == 1

fig, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
for (name, curve), colour, width in zip(errors.items(), ("#BBBBBB", "#E69F00", "#0072B2"), (1.2, 2, 2.4), strict=True):
    ax.plot(seen, curve, color=colour, linewidth=width, label=f"{name}: {curve[-1]:.1f}% at the end")
ax.set(xlabel="examples learned", ylabel="test error in %", ylim=(0, 40), xlim=(0, 4000))
ax.legend(frameon=False)
plt.show()

# %%
# The vote stores every mistake, and a prediction costs one inner product with each. The average needs only one
# additional vector and is as good, so :class:`~rosenblatt.AveragedPerceptron` is a good default.
