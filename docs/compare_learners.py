"""The learners side by side on two data sets that ship with scikit-learn: python docs/compare_learners.py [LEARNER ...].

Each line is the mean and the standard deviation of the accuracy over ten splits, a quarter of the examples held out in each.
Features are scaled to [-1, 1] on the training part. Settings that are not shown are the defaults.
"""

import sys
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import rosenblatt as rb

LEARNERS = {
    "perceptron": rb.Perceptron(),
    "averaged": rb.AveragedPerceptron(),
    "voted": rb.VotedPerceptron(),
    "pocket": rb.PocketPerceptron(),
    "batch": rb.BatchPerceptron(),
    "batch, fixed increment": rb.BatchPerceptron(variant="fixed-increment"),
    "batch, line search": rb.BatchPerceptron(variant="line-search"),
    "margin": rb.MarginPerceptron(b=10.0),
    "PA": rb.PassiveAggressive(variant="PA"),
    "PA-I": rb.PassiveAggressive(C=0.01),
    "PA-II": rb.PassiveAggressive(C=0.01, variant="PA-II"),
    "PA-I, averaged": rb.PassiveAggressive(C=0.01, readout="average"),
    "ROMMA": rb.ROMMA(),
    "ROMMA, aggressive": rb.ROMMA(variant="aggressive"),
    "ALMA": rb.ALMA(),
    "SOP": rb.SecondOrderPerceptron(),
    "SOP, full": rb.SecondOrderPerceptron(covariance="full"),
    "AROW": rb.AROW(),
    "AROW, full": rb.AROW(covariance="full"),
    "SCW-I": rb.SoftConfidenceWeighted(C=0.1),
    "SCW-II": rb.SoftConfidenceWeighted(C=0.1, variant="SCW-II"),
    "SCW-I, full": rb.SoftConfidenceWeighted(C=0.1, covariance="full"),
    "parallel": rb.ParallelPerceptron(),
    "winnow": rb.Winnow(eta=0.1),
    "winnow, balanced": rb.Winnow(eta=0.1, balanced=True),
    "scikit-learn's Perceptron": ScikitPerceptron(),
}


def main(names: list[str]) -> None:
    """Print one line for each learner whose name begins with one of these, or for all."""
    splits = StratifiedShuffleSplit(10, test_size=0.25, random_state=0)
    data = {"breast cancer": load_breast_cancer(return_X_y=True), "digits": load_digits(return_X_y=True)}
    print(f"{'':26}" + "".join(f"{name:>18}" for name in data))
    for name, learner in LEARNERS.items():
        if names and not name.startswith(tuple(names)):
            continue
        cells = []
        for X, y in data.values():
            if len(set(y)) > 2 and isinstance(learner, rb.ParallelPerceptron):
                cells.append("")
                continue
            model = make_pipeline(MinMaxScaler((-1.0, 1.0)), learner)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = 100 * cross_val_score(model, np.asarray(X), y, cv=splits)
            cells.append(f"{scores.mean():.1f} ± {scores.std():.1f}")
        print(f"{name:26}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
