"""
Ambiguous regions of one-versus-rest
====================================

Three perceptrons, one for each class, answer “mine” or “not mine”. Some regions belong to none of them and some to
two. The highest score decides every point.
"""

from rosenblatt.plots import figures

figure = figures.ambiguous_regions()

# %%
# ``figure.savefig("ambiguous_regions.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.ambiguous_regions` lists the arguments.
