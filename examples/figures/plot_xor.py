"""
AND, OR and XOR
===============

One line is enough for AND and OR. For XOR the segments between points of the same class cross, so no line can
separate the classes.
"""

from rosenblatt.plots import figures

figure = figures.xor()

# %%
# ``figure.savefig("xor.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.xor` lists the arguments.
