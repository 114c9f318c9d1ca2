"""
The 0/1 loss and the hinge loss
===============================

Both losses of one example, as functions of its margin. The 0/1 loss jumps; the loss of the perceptron is continuous
and convex.
"""

from rosenblatt.plots import figures

figure = figures.losses()

# %%
# The losses of support vector machines, logistic regression and boosting are relatives:

figure = figures.losses(relatives=True)

# %%
# ``figure.savefig("losses.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.losses` lists the arguments.
