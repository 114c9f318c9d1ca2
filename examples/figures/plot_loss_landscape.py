"""
Why the 0/1 loss has no useful gradient
=======================================

The weight vector turns through all directions. The 0/1 loss of the data set is flat with jumps; the perceptron
criterion has a slope.
"""

from rosenblatt.plots import figures

figure = figures.loss_landscape()

# %%
# ``figure.savefig("loss_landscape.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.loss_landscape` lists the arguments.
