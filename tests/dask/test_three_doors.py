"""The same data, order and seed give the same bits with `fit`, with `rosenblatt train`, and on a cluster with one shard.

The fitted attributes are the same, too.
"""

import numpy as np
import pytest

import rosenblatt as rb
import rosenblatt.dask as rd
from rosenblatt.learners import find
from rosenblatt.training.history import History
from rosenblatt.training.schedule import Schedule, VisitingOrder
from tests.cli.helpers import call

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

STREAMING = [
    "perceptron",
    "averaged-perceptron",
    "margin-perceptron",
    "passive-aggressive",
    "romma",
    "alma",
    "arow",
    "second-order-perceptron",
    "winnow",
    "parallel-perceptron",
]
WHOLE = ["voted-perceptron", "pocket-perceptron", "batch-perceptron", "kernel-perceptron"]
ATTRIBUTES = ("mistakes_per_epoch_", "updates_per_epoch_", "loss_per_epoch_")


def problem(kind, classes):
    """A separable or noisy set of 160 examples; whole numbers are not rounded in a file."""
    rng = np.random.default_rng(5)
    X = rng.integers(-8, 9, (160, 6)).astype(float)
    scores = X @ rng.normal(size=(6, classes))
    order = np.sort(scores, axis=1)
    keep = order[:, -1] - order[:, -2] > 4
    y = scores.argmax(axis=1)
    if kind == "noisy":
        y = np.where(rng.random(160) < 0.2, rng.integers(0, classes, 160), y)
        keep[:] = True
    return X[keep], np.array([f"class {label}" for label in y[keep]])


def through_file(folder, name, X, y, options):
    """Train on a CSV file with the command line, and load the model."""
    path, model = folder / "data.csv", folder / "a.model"
    lines = [",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])]
    lines += [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    call("train", path, "-m", model, "-q", "-a", name, "--label", "label", "--no-standardize", *options)
    return rb.load(model)


def assert_same(one, other, X):
    """The same weights and the same history."""
    if hasattr(one, "coef_"):
        assert np.array_equal(one.coef_, other.coef_)
        assert np.array_equal(one.intercept_, other.intercept_)
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
    for name in ATTRIBUTES:
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert (one.n_iter_, one.converged_, one.mistakes_) == (other.n_iter_, other.converged_, other.mistakes_)
    assert hasattr(one, "certificate_") == hasattr(other, "certificate_")
    if hasattr(one, "certificate_"):
        ours, theirs = vars(one.certificate_), vars(other.certificate_)
        for name in ours:
            np.testing.assert_equal(theirs[name], ours[name], err_msg=name)


@pytest.mark.parametrize("kind", ["separable", "noisy"])
@pytest.mark.parametrize("name", [*STREAMING, *WHOLE])
def test_file_cluster_and_fit_give_the_same_bits(name, kind, client, tmp_path):
    X, y = problem(kind, 2 if name == "parallel-perceptron" or kind == "noisy" else 3)
    made = find(name)(max_iter=12, **({"random_state": 3} if name != "batch-perceptron" else {})).fit(X, y)
    assert_same(made, through_file(tmp_path, name, X, y, ["--epochs", 12, "--seed", 3]), X)
    if name in STREAMING:
        assert_same(made, rd.train(find(name)(max_iter=12, random_state=3), X, y, shards=1, client=client), X)


@pytest.mark.parametrize("shuffle", ["False", "replacement"])
def test_file_cluster_and_fit_visit_examples_in_the_same_order(shuffle, client, tmp_path):
    X, y = problem("noisy", 3)
    settings = {"max_iter": 5, "shuffle": False if shuffle == "False" else shuffle, "tol": None}
    made = rb.AveragedPerceptron(**settings).fit(X, y)
    options = ["--epochs", 5, "--set", "tol=none", "--set", f"shuffle={shuffle}"]
    assert_same(made, through_file(tmp_path, "averaged-perceptron", X, y, options), X)
    assert_same(made, rd.train(rb.AveragedPerceptron(**settings), X, y, shards=1, client=client), X)


def test_a_run_resumed_on_a_cluster_keeps_its_order(client, tmp_path):
    """A single shard is visited in the order of `fit`, also by a worker that did not run the earlier epochs."""
    X, y = problem("noisy", 2)
    made = rb.Perceptron(max_iter=6, tol=None).fit(X, y)
    first = rb.Perceptron(max_iter=3, tol=None)
    rd.train(first, X, y, shards=1, client=client, checkpoint=tmp_path / "a.model")
    rest = rb.Perceptron(max_iter=6, tol=None)
    rd.train(rest, X, y, shards=1, client=client, checkpoint=tmp_path / "a.model")
    assert_same(made, rest, X)


def test_several_shards_prove_separation_but_no_bound(client):
    """The theorem does not hold for mixed weights, but their separation is checked on every shard."""
    X, y = problem("separable", 2)
    made = rd.train(rb.Perceptron(max_iter=100, tol=None), X, y, shards=4, client=client)
    certificate = made.certificate_
    assert made.converged_
    assert certificate.verify(X, y, True)
    assert certificate.mistake_bound is None
    lower, upper = certificate.margin
    best = rb.certify(X, y).margin[1]
    assert 0 < lower <= best * (1 + 1e-9) <= upper * (1 + 1e-8)


def test_runs_of_an_earlier_version_keep_their_order():
    """Their shards were visited in blocks, even a single one."""
    saved = {"epochs": 3, "tol": None, "patience": 5, "shuffle": True, "seed": 4, "holdout": 0.0}
    assert Schedule.from_json(saved).by_block
    assert not Schedule.from_json(Schedule(3).to_json()).by_block
    before = np.random.default_rng([4, 1, 0]).permutation(np.arange(9))
    assert VisitingOrder(True, 4).block(np.arange(9), 1, 0).tolist() == before.tolist()
    history = History.from_json({"done": [], "current": {"examples": 2}, "stopped": "interrupted"})
    assert history.epochs[0].examples == 2
