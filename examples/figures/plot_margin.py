"""
The margin
==========

The margin of a separator is the distance of the nearest examples, which are marked by circles.
"""

from rosenblatt.plots import figures

figure = figures.margin()

# %%
# ``figure.savefig("margin.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.margin` lists the arguments.
