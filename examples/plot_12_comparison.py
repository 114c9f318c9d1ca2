"""
All learners side by side
=========================

All linear learners make one pass over the same stream, shuffled ten times, and are scored on the predictions that
they make before learning. Parameters are chosen on the first part of each stream and scored on the rest.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from rosenblatt import plots
from rosenblatt.experiments import compare

X, y = load_breast_cancer(return_X_y=True)
comparison = compare(StandardScaler().fit_transform(X), y, repeats=10)
print(comparison)

# %%
# Rules that limit their steps are best, because they keep variances (AROW, SCW), use a softer step (PA-II) or
# average. Rules that correct every mistake completely come last. The same on the command line: ``rosenblatt compare
# DATA``. More data sets and recommendations are in `Which learner when <../choosing.html>`_.

display = plots.ComparisonDisplay(comparison).plot()
display.figure_.set_size_inches(8.4, 6)
display.ax_.set(xlim=(0.02, 0.11), ylim=(0.5, len(comparison.standings) - 0.5))  # guessing the larger class is far off
plt.show()
