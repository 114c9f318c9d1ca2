"""Penalties of additive rules: scikit-learn's results, an oracle in plain NumPy, the same bits in every form."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt.estimators.parameters import declarations
from rosenblatt.learners import find, names
from tests.helpers import assert_same_model, blobs, csr, differences, memory, model_memory

PENALTIES = ("l2", "l1", "elasticnet")
SAME = {"shuffle": False, "max_iter": 60}


def standardized(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(y))
    return StandardScaler().fit_transform(X)[order], y[order]


# ---- scikit-learn ----


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("alpha", [1e-4, 1e-3, 1e-2, 0.3, 2.0])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_dense_rows_give_the_weights_of_scikit_learn(load, alpha, penalty):
    X, y = standardized(load)
    same = {
        "penalty": penalty,
        "alpha": alpha,
        "max_iter": 7,
        "tol": None,
        "shuffle": False,
        "eta0": 0.7,
        "l1_ratio": 0.4,
    }
    ours = rb.Perceptron(multiclass="ovr", **same).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(**same).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
    assert np.array_equal(ours.coef_ == 0, theirs.coef_ == 0)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_sparse_rows_give_the_weights_of_scikit_learn(alpha, penalty):
    X, y = blobs(300, 40, seed=2)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    # Without a bias: scikit-learn slows its learning on sparse rows.
    same = {"penalty": penalty, "alpha": alpha, "max_iter": 7, "tol": None, "shuffle": False, "fit_intercept": False}
    ours = rb.Perceptron(**same).fit(csr(X), y)
    theirs = sklearn.linear_model.Perceptron(**same).fit(csr(X), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("alpha", [1e-4, 1e-3, 1e-2])
def test_training_stops_after_as_many_epochs_as_in_scikit_learn(load, alpha):
    X, y = standardized(load)
    same = {"penalty": "l2", "alpha": alpha, "shuffle": False, "max_iter": 200}
    ours = rb.Perceptron(multiclass="ovr", **same).fit(X, y == 1)
    theirs = sklearn.linear_model.Perceptron(**same).fit(X, y == 1)
    assert ours.n_iter_ == theirs.n_iter_ > 5
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)


def test_the_average_is_that_of_scikit_learn():
    X, y = standardized(load_breast_cancer)
    same = {"penalty": "l2", "alpha": 0.01, "max_iter": 3, "tol": None, "shuffle": False}
    ours = rb.AveragedPerceptron(**same).fit(X, y)
    other = {"loss": "perceptron", "learning_rate": "constant", "eta0": 1.0, "average": True}
    theirs = sklearn.linear_model.SGDClassifier(**same, **other).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)


# ---- an oracle ----


def oracle(X, y, *, ridge, lasso, rate=1.0, weight=None, target=0.0, classes=2, epochs=1):
    """The algorithm in plain NumPy, for two classes and for the top rival of many: last weights, average, mean loss."""
    d, vectors = X.shape[1], 1 if classes == 2 else classes
    W, B, paid, total = np.zeros((vectors, d)), np.zeros(vectors), np.zeros((vectors, d)), np.zeros((vectors, d + 1))
    weight = np.ones(len(X)) if weight is None else weight
    owed = loss = 0.0
    for x, label, c in zip(np.tile(X, (epochs, 1)), np.tile(y, epochs), np.tile(weight, epochs), strict=True):
        if c == 0:
            continue
        s = W @ x + B
        if vectors == 1:
            sign = 1.0 if label else -1.0
            margin, share = sign * s[0], np.array([sign])
        else:
            rival = max((k for k in range(classes) if k != label), key=lambda k, s=s: (s[k], -k))
            margin, share = s[label] - s[rival], np.eye(classes)[label] - np.eye(classes)[rival]
        loss += c * (max(0.0, target - margin) + ridge / 2 * (W**2).sum() + lasso * np.abs(W).sum())
        W *= max(0.0, 1.0 - ridge * rate)
        if margin <= target:
            W += c * rate * np.outer(share, x)
            B += c * rate * share
        owed += lasso * rate
        for k, j in np.ndindex(W.shape):
            if x[j]:
                before = W[k, j]
                W[k, j] = max(0.0, before - owed - paid[k, j]) if before > 0 else min(0.0, before + owed - paid[k, j])
                paid[k, j] += W[k, j] - before
        total += c * np.column_stack([W, B])
    return np.column_stack([W, B]), total / np.tile(weight, epochs).sum(), loss / weight.sum() / epochs


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize(
    ("penalty", "alpha", "ratio"), [("l2", 0.2, 0.0), ("l1", 0.01, 1.0), ("elasticnet", 0.3, 0.05), ("l2", 3.0, 0.0)]
)
def test_weights_and_averages_follow_the_algorithm(penalty, alpha, ratio, form, classes):
    X, y = blobs(250, 9, classes, seed=1)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.5], 250)
    ridge, lasso = alpha * (1 - ratio), alpha * ratio
    last, mean, loss = oracle(X, y, ridge=ridge, lasso=lasso, rate=0.6, weight=weight, classes=classes, epochs=3)
    same = {"penalty": penalty, "alpha": alpha, "l1_ratio": ratio, "eta0": 0.6, "max_iter": 3, "tol": None}
    for learner, wanted in ((rb.Perceptron, last), (rb.AveragedPerceptron, mean)):
        model = learner(shuffle=False, **same).fit(form(X), y, sample_weight=weight)
        np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), wanted, rtol=1e-9, atol=1e-9)
        assert model.loss_per_epoch_.mean() == pytest.approx(loss, rel=1e-9)
        scores = X @ wanted[:, :-1].T + wanted[:, -1]
        np.testing.assert_allclose(model.decision_function(form(X)), np.squeeze(scores), rtol=1e-9, atol=1e-9)


def test_a_rule_with_a_margin_and_steps_of_its_own():
    X, y = blobs(200, 6, seed=3)
    last, _, _ = oracle(X, y, ridge=0.05, lasso=0.0, target=0.7)
    model = rb.MarginPerceptron(b=0.7, penalty="l2", alpha=0.05).partial_fit(X, y)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), last, rtol=1e-9)
    plain = rb.PassiveAggressive().partial_fit(X, y)
    unpenalized = rb.PassiveAggressive(penalty="l2", alpha=0.0).partial_fit(X, y)
    np.testing.assert_allclose(unpenalized.coef_, plain.coef_, rtol=1e-12)
    shrunk = rb.PassiveAggressive(penalty="l2", alpha=0.1).partial_fit(X, y)
    assert np.linalg.norm(shrunk.coef_) < 0.8 * np.linalg.norm(plain.coef_)


def test_an_average_stays_exact_while_the_weights_shrink_to_a_millionth_again_and_again():
    X, y = blobs(3000, 4, seed=6)
    _, mean, _ = oracle(X, y, ridge=0.5, lasso=0.0)
    model = rb.AveragedPerceptron(penalty="l2", alpha=0.5).partial_fit(X, y)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), mean, rtol=1e-10)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_third_class_during_a_stream(penalty):
    X, y = blobs(90, 7, 3, seed=4)
    early = y < 2
    X, y = np.vstack([X[early], X]), np.concatenate([y[early], y])
    whole = rb.AveragedPerceptron(penalty=penalty, alpha=0.02).partial_fit(X, y)
    single = rb.AveragedPerceptron(penalty=penalty, alpha=0.02).partial_fit(csr(X[:1]), y[:1])
    for x, label in zip(X[1:], y[1:].tolist(), strict=True):
        single.learn_one(x, label)
    assert_same_model(single, whole)
    # Until then w of the second class is the opposite of that of the first; l1 takes the same from both.
    two = rb.Perceptron(penalty=penalty, alpha=0.02).partial_fit(X[:40], y[:40])
    coef = two.coef_[0]
    two.model_.add_class(2)
    np.testing.assert_array_equal(two.coef_, [-coef, coef, np.zeros(7)])


# ---- the rest of the interface ----


def test_l1_gives_weights_of_exactly_0_that_need_no_memory():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 300)) * (rng.random((2000, 300)) < 0.2)
    y = X[:, :5].sum(axis=1) > 0
    model = rb.Perceptron(penalty="l1", alpha=0.001, max_iter=20, tol=None).fit(csr(X), y)
    assert (model.coef_ == 0).mean() > 0.5
    assert (model.coef_[0, :5] > 0).all()
    scores = model.decision_function(X)
    model.sparsify()
    assert sp.issparse(model.coef_)
    assert model.coef_.nnz < 150
    assert np.array_equal(model.decision_function(X), scores)


@pytest.mark.parametrize("learner", [rb.Perceptron, rb.AveragedPerceptron, rb.MarginPerceptron, rb.PassiveAggressive])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stored_model_goes_on_with_the_same_bits(classes, penalty, learner, tmp_path):
    X, y = blobs(80, 6, classes, seed=5)
    whole = learner(penalty=penalty, alpha=0.05).partial_fit(X, y)
    part = learner(penalty=penalty, alpha=0.05).partial_fit(X[:40], y[:40])
    part.save(tmp_path / "a.model")
    again = rb.load(tmp_path / "a.model")
    assert again.get_params() == part.get_params()
    assert differences(model_memory(again.model_), model_memory(part.model_)) == []
    assert_same_model(again.partial_fit(X[40:], y[40:]), whole)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_bound_is_claimed(penalty):
    X = np.array([[3.0, 1], [2, 2], [-1, -3], [-2, -1]])
    model = rb.Perceptron(penalty=penalty, max_iter=20, tol=None).fit(X, [1, 1, 0, 0])
    assert model.converged_
    certificate = model.certificate_
    assert certificate.mistake_bound is None
    assert certificate.margin[1] == np.inf
    assert certificate.verify(X, [1, 1, 0, 0])
    plain = rb.Perceptron(max_iter=20, tol=None).fit(X, [1, 1, 0, 0])
    assert plain.certificate_.mistake_bound is not None
    assert plain.certificate_.margin[1] < np.inf


def test_a_pass_without_mistakes_does_not_end_training_with_a_penalty():
    X = np.array([[3.0, 1], [2, 2], [-1, -3], [-2, -1]])
    model = rb.Perceptron(penalty="l2", alpha=0.1, max_iter=30, tol=None).fit(X, [1, 1, 0, 0])
    assert model.n_iter_ == 30
    assert model.mistakes_per_epoch_[5:].max() == 0


def test_wrong_values_are_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match=r"`penalty` of Perceptron must be None, 'l2', 'l1' or 'elasticnet'; got 'l3'"):
        rb.Perceptron(penalty="l3").fit(X, y)
    with pytest.raises(ValueError, match=r"`l1_ratio` of Perceptron must be a number from 0 to 1.*got None"):
        rb.Perceptron(penalty="elasticnet", l1_ratio=None).fit(X, y)
    with pytest.raises(ValueError, match=r"`alpha` of PassiveAggressive.*got -1"):
        rb.PassiveAggressive(penalty="l2", alpha=-1).fit(X, y)


def test_predictions_one_by_one_are_those_of_the_table():
    X, y = blobs(60, 6, 3, seed=8)
    for learner in (rb.Perceptron, rb.AveragedPerceptron):
        model = learner(penalty="elasticnet", alpha=0.05, l1_ratio=0.2)
        result = rb.progressive(
            learner(penalty="elasticnet", alpha=0.05, l1_ratio=0.2), [(X[:7], y[:7]), (X[7:], y[7:])]
        )
        mistakes = sum(model.learn_one(x, label) != label for x, label in zip(X, y.tolist(), strict=True))
        assert result.mistakes == mistakes
        assert [model.predict_one(x) for x in X] == model.predict(X).tolist()


def test_on_the_command_line(tmp_path):
    X, y = blobs(200, 5, seed=9)
    lines = [",".join(map(repr, [*x.tolist(), f"c{label}"])).replace("'", "") for x, label in zip(X, y, strict=True)]
    data, model = tmp_path / "a.csv", tmp_path / "a.model"
    data.write_text("a,b,c,d,e,label\n" + "\n".join(lines) + "\n")
    options = ["--set", "penalty=l1", "--set", "alpha=0.01", "--algorithm", "perceptron", "--json", "-q"]
    command = [sys.executable, "-m", "rosenblatt.cli"]
    done = subprocess.run([*command, "train", data, "-m", model, *options], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["epochs"]
    stored = rb.load(model)
    assert (stored.penalty, stored.alpha) == ("l1", 0.01)
    assert stored.model_.rule.penalty == (0.0, 0.01, 1.0)
    assert (stored.model_.memory.paid != 0).any()


def test_a_fit_and_its_copy_are_the_same():
    X, y = blobs(50, 4, 3)
    import copy
    import pickle

    model = rb.AveragedPerceptron(penalty="elasticnet", alpha=0.05).fit(X, y)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.partial_fit(X, y)
        assert differences(memory(other), memory(copy.deepcopy(model).partial_fit(X, y))) == []


def test_a_trace_and_a_cluster_refuse_penalties():
    X, y = blobs(20)
    with pytest.raises(ValueError, match=r"`penalty` of trace must be None.*got 'l1'"):
        rb.trace(X, y, penalty="l1")
    pytest.importorskip("dask.distributed")
    import rosenblatt.dask

    with pytest.raises(ValueError, match=r"`penalty` of Perceptron on shards must be None.*got 'l2'"):
        rosenblatt.dask.Perceptron(penalty="l2").fit(X, y)


def test_the_certificate_says_that_no_bound_is_claimed():
    X, y = blobs(20)
    assert "no bound is claimed" in str(rb.Perceptron(penalty="l2").fit(X, y).certificate_)
    assert "no bound is claimed" not in str(rb.Perceptron().fit(X, y).certificate_)


@pytest.mark.parametrize("algorithm", names())
def test_every_classifier_takes_no_penalty(algorithm):
    learner = find(algorithm)
    learner(penalty=None).fit([[0.0], [1.0]], ["no", "yes"])
    if "l1_ratio" not in declarations(learner):
        with pytest.raises(ValueError, match=r"`penalty` of \w+ must be None; got 'l2'. .* Perceptron"):
            learner(penalty="l2").fit([[0.0], [1.0]], ["no", "yes"])
