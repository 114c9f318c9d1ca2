"""
What ten perceptrons see in digits
==================================

With many classes every class has its own weight vector, and the class with the highest score is predicted. For images
a weight vector is itself an image: blue where ink is evidence for the digit, orange where it is evidence against it.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rosenblatt import AveragedPerceptron, Perceptron

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0, stratify=y)
models = [Perceptron(max_iter=1, tol=None), AveragedPerceptron(max_iter=1, tol=None)]
for model in models:
    model.fit(X_train, y_train)
    print(f"{type(model).__name__}: {model.score(X_test, y_test):.1%} of {len(y_test)} test images right")

# %%
# The weights after a single pass, minus their mean over the classes, which changes no prediction. The last weights
# are noisy, because every mistake is visible in them; the average is smoother and more accurate.

ink = LinearSegmentedColormap.from_list("ink", ["#B35A00", "#E69F00", "#FFFFFF", "#0072B2", "#003B66"])
fig, axes = plt.subplots(3, 10, figsize=(11, 3.9), layout="constrained")
for digit in range(10):
    axes[0, digit].imshow(X_train[y_train == digit].mean(axis=0).reshape(8, 8), cmap="gray_r")
    axes[0, digit].set_title(digit, fontsize=12)
for row, model in zip(axes[1:], models, strict=True):
    weights = model.coef_ - model.coef_.mean(axis=0)
    limit = np.abs(weights).max()
    for ax, image in zip(row, weights, strict=True):
        ax.imshow(image.reshape(8, 8), cmap=ink, vmin=-limit, vmax=limit)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
for ax, title in zip(axes[:, 0], ("mean image", "last weights", "average"), strict=True):
    ax.set_ylabel(title, fontsize=11)
plt.show()

# %%
# The test images with the largest errors of the averaged perceptron, with the prediction and the true digit.

scores = models[1].decision_function(X_test)
lead = scores[np.arange(len(y_test)), y_test] - np.where(np.eye(10, dtype=bool)[y_test], -np.inf, scores).max(axis=1)
worst = np.argsort(lead)[:8]
fig, axes = plt.subplots(1, 8, figsize=(11, 1.9), layout="constrained")
for ax, i in zip(axes, worst, strict=True):
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{models[1].predict(X_test[[i]])[0]}, was {y_test[i]}", fontsize=11)
    ax.set(xticks=[], yticks=[])
plt.show()
