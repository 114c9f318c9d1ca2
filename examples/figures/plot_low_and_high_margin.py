"""
Data of low and of high margin
==============================

The same points, near to the boundary and far from it. The smaller the margin, the more mistakes the theorem allows.
"""

from rosenblatt.plots import figures

figure = figures.low_and_high_margin()

# %%
# ``figure.savefig("low_and_high_margin.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.low_and_high_margin` lists the arguments.
