"""
The decision boundary and the angle
===================================

The weight vector is perpendicular to the boundary. A point is predicted as positive if its angle with the weight
vector is smaller than 90 degrees.
"""

from rosenblatt.plots import figures

figure = figures.decision_boundary()

# %%
# ``figure.savefig("decision_boundary.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.decision_boundary` lists the arguments.
