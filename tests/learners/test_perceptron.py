"""The perceptron compared with the algorithm of the lecture notes, and its convergence theorem."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from rosenblatt import Perceptron
from tests import oracles
from tests.helpers import SCHEMES, blobs, examples, fitted, followed, integer_runs, last_weights


def check(model, run):
    assert np.array_equal(last_weights(model), run.W)
    assert model.mistakes_ == run.mistakes
    assert model.updates_ == run.updates
    assert model.examples_ == run.examples
    assert model.mistakes_per_epoch_.tolist() == run.mistakes_per_epoch
    assert model.n_iter_ == len(run.mistakes_per_epoch)


@examples(150)
@given(integer_runs(), st.sampled_from([0.25, 1.0, 4.0]), st.booleans())
def test_two_classes(problem, eta0, sparse):
    model = fitted(Perceptron(eta0=eta0), problem, sparse)
    run = followed(model, oracles.perceptron(eta0), problem)
    check(model, run)
    assert np.array_equal(model.coef_, run.W[:, :-1])
    assert np.array_equal(model.intercept_, run.W[:, -1])
    scores = np.array([oracles.scores(run.W, x)[0] for x in problem["X"]])
    assert np.array_equal(model.decision_function(problem["X"]), scores)
    assert np.array_equal(model.predict(problem["X"]), (scores >= 0).astype(int))


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(80)
@given(st.data(), st.integers(3, 5), st.booleans())
def test_many_classes(scheme, data, classes, sparse):
    problem = data.draw(integer_runs(classes))
    model = fitted(Perceptron(eta0=0.5, multiclass=scheme), problem, sparse)
    run = followed(model, oracles.perceptron(0.5), problem, scheme=scheme)
    check(model, run)
    scores = np.array([oracles.scores(run.W, x) for x in problem["X"]])
    assert np.array_equal(model.decision_function(problem["X"]), scores)
    assert np.array_equal(model.predict(problem["X"]), scores.argmax(axis=1))


@pytest.mark.parametrize("classes", [2, 3, 9, 13])
def test_real_values_in_the_documented_order_of_summation(classes):
    X, y = blobs(80, 19, classes)
    run = oracles.learn(oracles.perceptron(0.1), X, y, classes=classes, epochs=3)
    model = Perceptron(eta0=0.1, max_iter=3, tol=None, shuffle=False).fit(X, y)
    check(model, run)


@given(integer_runs(on_zero=("positive",)), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_delta_form_gives_the_same_weights(problem, eta):
    problem["weight"] = None
    w = np.zeros(problem["X"].shape[1] + 1) if problem["W"] is None else problem["W"][0].copy()
    model = fitted(Perceptron(eta0=eta), problem)
    for _ in range(model.n_iter_):
        for x, label in zip(problem["X"], problem["y"], strict=True):
            z, y = np.append(x, float(problem["bias"])), (1 if label == 1 else -1)
            h = 1 if w @ z >= 0 else -1
            w = w - eta / 2 * (h - y) * z
    assert np.array_equal(last_weights(model)[0], w)


@st.composite
def separable(draw, classes=2):
    """Integer separators and the integer examples that they classify with a positive margin."""
    d, n = draw(st.integers(1, 6)), draw(st.integers(4, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    vectors = 1 if classes == 2 else classes
    U = rng.integers(-3, 4, (vectors, d + 1)).astype(float)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    S = X @ U[:, :-1].T + U[:, -1]
    if vectors == 1:
        y, room = (S[:, 0] > 0).astype(int), np.abs(S[:, 0])
    else:
        top = np.sort(S, axis=1)
        y, room = S.argmax(axis=1), top[:, -1] - top[:, -2]
    X, y, room = X[room > 0], y[room > 0], room[room > 0]
    assume(len(set(y.tolist())) == classes)
    return X, y, U, room.min()


@examples(60)
@given(separable(), st.booleans(), st.integers(0, 100), st.sampled_from(["update", "positive"]))
def test_the_block_novikoff_bound_holds_in_any_order(problem, shuffle, seed, on_zero):
    X, y, U, room = problem
    radius, gamma = np.sqrt((X**2).sum(axis=1).max() + 1), room / np.linalg.norm(U)
    model = Perceptron(tol=None, max_iter=100_000, shuffle=shuffle, random_state=seed, on_zero=on_zero).fit(X, y)
    assert model.mistakes_ <= (radius / gamma) ** 2 * (1 + 1e-12)
    assert model.mistakes_per_epoch_[-1] == 0
    assert model.score(X, y) == 1
    k, w = model.mistakes_, last_weights(model)[0]
    u = U[0] / np.linalg.norm(U)
    slack = 1 + 1e-9
    assert k * gamma <= w @ u * slack <= np.linalg.norm(w) * slack**2 <= np.sqrt(k) * radius * slack**3


@examples(60)
@given(separable(), st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_block_novikoff_bound_holds_from_starting_weights(problem, seed, eta):
    X, y, U, room = problem
    start = np.random.default_rng(seed).integers(-5, 6, X.shape[1] + 1).astype(float)
    radius, gamma = np.sqrt((X**2).sum(axis=1).max() + 1), room / np.linalg.norm(U)
    model = Perceptron(tol=None, max_iter=100_000, eta0=eta).fit(X, y, coef_init=start[:-1], intercept_init=start[-1])
    bound = radius**2 / gamma**2 + 2 * np.linalg.norm(start) / (eta * gamma)
    assert model.mistakes_ <= bound * (1 + 1e-12)
    assert model.converged_


@pytest.mark.parametrize("scheme", ["max", "uniform", "proportional"])
@examples(40)
@given(problem=separable(classes=3))
def test_the_block_novikoff_bound_holds_for_many_classes(scheme, problem):
    X, y, U, room = problem
    radius, gamma = np.sqrt((X**2).sum(axis=1).max() + 1), room / np.linalg.norm(U)
    model = Perceptron(tol=None, max_iter=100_000, multiclass=scheme).fit(X, y)
    assert model.mistakes_ <= 2 * (radius / gamma) ** 2 * (1 + 1e-12)
    assert model.converged_


def test_the_scheme_all_can_fail_on_separable_data():
    X, y = np.array([[-3.0, 1], [3, 2], [2, 0], [-2, 1]]), [1, 1, 2, 0]
    same = {"tol": None, "shuffle": False, "max_iter": 2000}
    assert Perceptron(multiclass="max", **same).fit(X, y).converged_
    failing = Perceptron(multiclass="all", **same).fit(X, y)
    assert not failing.converged_
    assert (failing.mistakes_per_epoch_ > 0).all()
    assert failing.n_iter_ == 2000


def test_on_zero_decides_whether_a_score_of_zero_is_a_mistake():
    X, y = np.zeros((2, 1)), np.array([0, 1])
    same = {"fit_intercept": False, "max_iter": 1, "tol": None, "shuffle": False}
    assert Perceptron(on_zero="update", **same).fit(X, y).mistakes_ == 2
    assert Perceptron(on_zero="positive", **same).fit(X, y).mistakes_ == 1
    kept = Perceptron(on_zero="keep", **same).fit(X, y, coef_init=[1.0])
    assert kept.mistakes_ == 0
    assert kept.predict(X).tolist() == [1, 1]
    assert not kept.converged_, "scores of 0 do not separate"


def test_mistakes_on_ties_between_many_classes():
    X, y = np.array([[0.0], [0.0], [0.0]]), np.array([0, 1, 2])
    same = {"fit_intercept": False, "max_iter": 1, "tol": None, "shuffle": False}
    assert Perceptron(on_zero="update", **same).fit(X, y).mistakes_ == 3
    assert Perceptron(on_zero="positive", **same).fit(X, y).mistakes_ == 2
    assert Perceptron(on_zero="keep", **same).fit(X, y, coef_init=[[1.0], [0], [0]]).mistakes_ == 0


def test_keep_from_zero_weights_is_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match=r'on_zero="keep".*starting weights other than 0.*coef_init'):
        Perceptron(on_zero="keep").fit(X, y)
    with pytest.raises(ValueError, match="keep"):
        Perceptron(on_zero="keep").partial_fit(X, y)
    with pytest.raises(ValueError, match="keep"):
        Perceptron(on_zero="keep").learn_one({"a": 1}, "yes")


def test_from_zero_weights_the_rate_only_scales_the_weights():
    X, y = blobs()
    one = Perceptron(max_iter=3, tol=None).fit(X, y)
    two = Perceptron(max_iter=3, tol=None, eta0=2.0).fit(X, y)
    assert np.array_equal(two.coef_, 2 * one.coef_)
    assert one.mistakes_ == two.mistakes_


def test_the_radius_is_the_same_to_the_last_bit_for_dense_and_sparse_rows():
    # The same values in other columns: the norms differ only in their rounding, which an approximate norm does not show.
    rng = np.random.default_rng(5)
    for _ in range(50):
        values = np.concatenate([rng.standard_normal(25), np.zeros(75)])
        X = np.array([rng.permutation(values) for _ in range(4)])
        y = np.array([0, 1, 0, 1])
        dense = Perceptron(max_iter=2, tol=None, shuffle=False).fit(X, y)
        sparse = Perceptron(max_iter=2, tol=None, shuffle=False).fit(csr_matrix(X), y)
        assert sparse.certificate_.radius == dense.certificate_.radius
