"""
All learners side by side
=========================

Every linear learner goes through the same stream, shuffled ten times, and is scored on the answers that it gives before it
learns. Settings are chosen on the first part of each stream, so nothing is chosen by what it is judged on.
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
# Rules that hold their steps back lead, because they keep variances (AROW, SCW), soften the step (PA-II) or average; rules that
# jump at every mistake come last. The same from a terminal: ``rosenblatt compare DATA``. More sets, and what to take when, are
# in `Which learner when <../choosing.html>`_.

display = plots.ComparisonDisplay(comparison).plot()
display.figure_.set_size_inches(8.4, 6)
display.ax_.set(xlim=(0.02, 0.11), ylim=(0.5, len(comparison.standings) - 0.5))  # guessing the larger class is far off
plt.show()
