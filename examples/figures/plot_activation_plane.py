"""
The activation as a plane
=========================

The score of two features is a plane one dimension above the data. The boundary is the line in which it meets the
plane of the data. Without a bias this line passes through the origin.
"""

from rosenblatt.plots import figures

figure = figures.activation_plane()

# %%
# ``figure.savefig("activation_plane.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.activation_plane` lists the arguments.
