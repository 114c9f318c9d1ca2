"""
One update, before and after
============================

An update adds a positive example to the weight vector and turns it towards the example.
"""

from rosenblatt.plots import figures

figure = figures.update()

# %%
# It subtracts a negative example, and the weight vector turns away from it:

figure = figures.update(w=(0.6, 1.5), x=(1.5, 1.0), y=-1)

# %%
# One update is not always enough. The angle is smaller now, but the example is still wrong:

figure = figures.update(w=(-2.6, 0.8), x=(1.0, 0.5), y=1)

# %%
# ``figure.savefig("update.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.update` lists the arguments.
