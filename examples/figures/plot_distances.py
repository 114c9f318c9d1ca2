"""
Distances in high dimensions
============================

Random points in a cube: with many dimensions all distances are nearly the same.
"""

from rosenblatt.plots import figures

figure = figures.distances()

# %%
# ``figure.savefig("distances.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.distances` lists the arguments.
