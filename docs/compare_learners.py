"""Compare the learners on two data sets that ship with scikit-learn: python docs/compare_learners.py.

The accuracy on a held-out quarter in percent, mean and standard deviation of ten splits. Features are scaled to [-1, 1] on the
training part. Settings that are not shown are the defaults. `benchmarks/results/accuracy.json` stores the numbers, and the
pages of the learners show them.
"""

import json
import platform
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import rosenblatt as rb
from rosenblatt import learners

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "accuracy.json"
LEARNERS = (
    rb.Perceptron(),
    rb.AveragedPerceptron(),
    rb.VotedPerceptron(),
    rb.PocketPerceptron(),
    rb.BatchPerceptron(),
    rb.BatchPerceptron(variant="fixed-increment"),
    rb.BatchPerceptron(variant="line-search"),
    rb.MarginPerceptron(b=10.0),
    rb.PassiveAggressive(variant="PA"),
    rb.PassiveAggressive(C=0.01),
    rb.PassiveAggressive(C=0.01, variant="PA-II"),
    rb.PassiveAggressive(C=0.01, readout="average"),
    rb.ROMMA(),
    rb.ROMMA(variant="aggressive"),
    rb.ALMA(),
    rb.SecondOrderPerceptron(),
    rb.SecondOrderPerceptron(covariance="full"),
    rb.AROW(),
    rb.AROW(covariance="full"),
    rb.SoftConfidenceWeighted(C=0.1),
    rb.SoftConfidenceWeighted(C=0.1, variant="SCW-II"),
    rb.SoftConfidenceWeighted(C=0.1, covariance="full"),
    rb.ParallelPerceptron(),
    rb.Winnow(eta=0.1),
    rb.Winnow(eta=0.1, balanced=True),
    rb.KernelPerceptron(degree=3),
    rb.KernelPerceptron(degree=3, readout="average"),
    ScikitPerceptron(),
)
for name in learners.classes():
    learner = getattr(rb, name)
    if all(type(one).__name__ != name for one in LEARNERS):
        LEARNERS += (learner(), *([learner(covariance="full")] if "covariance" in learner().get_params() else []))


def main() -> None:
    """Print a line for each learner and save all of them."""
    splits = StratifiedShuffleSplit(10, test_size=0.25, random_state=0)
    data = {"breast cancer": load_breast_cancer(return_X_y=True), "digits": load_digits(return_X_y=True)}
    rows = []
    for learner in LEARNERS:
        name = repr(learner).replace("'", '"')
        ours = type(learner).__module__.startswith("rosenblatt.")
        row = {"learner": type(learner).__name__ if ours else "", "setting": name if ours else f"scikit-learn's {name}"}
        for title, (X, y) in data.items():
            if len(set(y)) > 2 and isinstance(learner, rb.ParallelPerceptron):
                continue
            model = make_pipeline(MinMaxScaler((-1.0, 1.0)), learner)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = 100 * cross_val_score(model, np.asarray(X), y, cv=splits)
            row[title] = [round(float(scores.mean()), 2), round(float(scores.std()), 2)]
        print(row["setting"], *(row.get(title, "") for title in data), flush=True)
        rows.append(row)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    kept = {"command": "python docs/compare_learners.py", "versions": versions, "data": list(data), "rows": rows}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
