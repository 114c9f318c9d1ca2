"""
The shrinking cone of the proof
===============================

After k mistakes the weights lie in a cone around every separator u. The cone becomes narrower with each mistake.
After (R/γ)² mistakes only u is left, so there cannot be more.
"""

from rosenblatt.plots import figures

figure = figures.cone()

# %%
# ``figure.savefig("cone.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.cone` lists the arguments.
