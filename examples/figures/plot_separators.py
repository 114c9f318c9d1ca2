"""
Many separators
===============

Each grey line is the result of the perceptron for another order of the same examples. All of them are correct on the
training examples. The coloured line has the largest margin.
"""

from rosenblatt.plots import figures

figure = figures.separators()

# %%
# ``figure.savefig("separators.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.separators` lists the arguments.
