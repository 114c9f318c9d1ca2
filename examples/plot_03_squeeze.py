r"""
The squeeze: why it must stop
=============================

The proof of Block and Novikoff in one picture. With every mistake the weights grow by at least :math:`\gamma` along
the separator :math:`u`, but their length grows only like a square root. A linear function exceeds a square root at
some point, so the number of mistakes is bounded.
"""

# %%
# After :math:`k` mistakes :math:`\;k\gamma \le \langle w, u\rangle \le \lVert w\rVert \le \sqrt{k}\,R`. The four
# sides are computed at every mistake of a run on points with a small margin.

import matplotlib.pyplot as plt

from rosenblatt import plots
from rosenblatt.experiments import separable_examples, squeeze_curves

X, y, u = separable_examples(0.05, examples=2000, features=5, random_state=1)
curves = squeeze_curves(X, y, fit_intercept=False)
print("the chain of inequalities holds at every mistake:", curves.holds)

fig, (near, far) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
plots.SqueezeDisplay(curves).plot(ax=near)
plots.SqueezeDisplay(curves).plot(ax=far, to_bound=True, legend=False)
near.set_title("the run")
far.set_title("up to the bound: lower and upper bound meet")
plt.show()

# %%
# On the left the run ends long before the lower bound reaches the upper bound, because the theorem covers the worst
# case. On the right the curves continue to :math:`k = (R/\gamma)^2`, where they meet and no further mistake is
# possible. `The proof <../theory/bounds.html#the-squeeze>`_ takes three lines.
