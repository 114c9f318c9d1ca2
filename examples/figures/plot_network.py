"""
The perceptron as a network
===========================

One neuron: the inputs are multiplied by the weights, the score is their sum, and its sign is the prediction. The bias
is the weight of an input that is always 1.
"""

from rosenblatt.plots import figures

figure = figures.network()

# %%
# With more inputs, on a dark background:

figure = figures.network(inputs=5, dark=True)

# %%
# ``figure.savefig("network.svg")`` saves the last figure, and ``dark=True`` draws it on a dark background.
# :func:`rosenblatt.plots.figures.network` lists the arguments.
