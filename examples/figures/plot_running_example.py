"""
A run of two updates
====================

Each row is one update: on the left the weights and the wrong example, on the right the new weights.
"""

from rosenblatt.plots import figures

figure = figures.running_example()

# %%
# ``figure.savefig("running_example.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.running_example` lists the arguments.
