"""What all learners of real targets have in common."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import rosenblatt as rb
from rosenblatt import learners
from tests.helpers import assert_same_model, csr, differences, examples, memory
from tests.test_every_learner import EXCUSED

REGRESSORS = {
    "PA": rb.PassiveAggressiveRegressor(variant="PA", epsilon=0.01),
    "PA-I": rb.PassiveAggressiveRegressor(),
    "PA-II-average": rb.PassiveAggressiveRegressor(variant="PA-II", C=0.3, readout="average"),
    "AROW": rb.AROWRegressor(),
    "AROW-average": rb.AROWRegressor(readout="average", fit_intercept=False),
    "AROW-full": rb.AROWRegressor(covariance="full", r=0.3),
}
EACH = pytest.mark.parametrize("name", REGRESSORS)


def line(n=60, features=4, seed=0, dtype=np.float64):
    """Examples whose targets are nearly linear in them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    X[rng.random((n, features)) < 0.2] = 0.0
    y = X @ rng.normal(size=features) + 3.0 + 0.3 * rng.normal(size=n)
    return np.ascontiguousarray(X, dtype=dtype), y


@st.composite
def integer_targets(draw):
    """X, y, sample weights and whether there is a bias; all numbers are integers."""
    n, d = draw(st.integers(1, 10)), draw(st.integers(1, 11))
    X = draw(arrays(np.int64, (n, d), elements=st.integers(-3, 3))).astype(float)
    y = draw(arrays(np.int64, n, elements=st.integers(-5, 5))).astype(float)
    weight = draw(st.none() | arrays(np.int64, n, elements=st.integers(0, 3)))
    if weight is not None:
        weight = weight.astype(float)
        weight[0] = max(weight[0], 1.0)
    return X, y, weight, draw(st.booleans())


def test_every_regressor_is_tested():
    assert {type(model).__name__ for model in REGRESSORS.values()} == set(learners.regressors())
    assert set(learners.regressors()) <= set(rb.__all__)
    assert not set(learners.regressors()) & set(learners.classes())


def test_regressors_are_found_by_their_names():
    assert learners.find("AROWRegressor") is rb.AROWRegressor
    assert learners.find("arow") is rb.AROW
    assert learners.find("arow", regression=True) is rb.AROWRegressor
    assert learners.find("pass", regression=True) is rb.PassiveAggressiveRegressor
    with pytest.raises(ValueError, match="must be one of arow-regressor, passive-aggressive-regressor; got 'winnow'"):
        learners.find("winnow", regression=True)


@pytest.mark.slow
@EACH
def test_scikit_learns_checks(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(REGRESSORS[name], expected_failed_checks=EXCUSED, on_fail=None, on_skip=None)
    assert {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"} == {}
    assert {r["check_name"] for r in results if r["status"] == "xfail"} <= set(EXCUSED)
    assert is_regressor(REGRESSORS[name])


@EACH
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_sparse_in_chunks_and_one_by_one_give_the_same_bits(name, dtype):
    X, y = line(70, 11, dtype=dtype)
    whole = clone(REGRESSORS[name]).partial_fit(X, y)
    sparse = clone(REGRESSORS[name]).partial_fit(csr(X), y)
    wide = clone(REGRESSORS[name]).partial_fit(csr(X, np.int64), y)
    chunked = clone(REGRESSORS[name])
    for part in np.array_split(np.arange(70), 7):
        chunked.partial_fit(X[part], y[part])
    fitted = clone(REGRESSORS[name]).set_params(shuffle=False, max_iter=1, tol=None).fit(np.asfortranarray(X), y)
    for other in (sparse, wide, chunked, fitted):
        assert_same_model(whole, other)
        assert np.array_equal(whole.predict(X), other.predict(csr(X)))
    assert whole.coef_.dtype == dtype
    single = clone(REGRESSORS[name]).partial_fit(X[:1], y[:1])
    for x, target in zip(X[1:], y[1:], strict=True):
        guess = single.predict_one(x)
        assert guess == single.predict(x[None])[0]
        assert guess == single.learn_one(x, target)
    assert_same_model(whole, single)


@EACH
def test_dicts(name):
    X, y = line(40, 5)
    rows = [dict(enumerate(row)) for row in X.tolist()]
    records, table = clone(REGRESSORS[name]), clone(REGRESSORS[name]).partial_fit(X, y)
    assert records.predict_one(rows[0]) == 0.0
    for row, target in zip(rows, y, strict=True):
        assert records.learn_one(row, target) == pytest.approx(records.predict_one(row), abs=1e3)
    assert np.array_equal(records.coef_, table.coef_)
    assert [records.predict_one(row) for row in rows] == table.predict(X).tolist()


@EACH
def test_examples_of_weight_0_are_ignored(name):
    X, y = line()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], y.size)
    same = {"shuffle": False, "tol": None, "max_iter": 3}
    some, all_ = (clone(REGRESSORS[name]).set_params(**same) for _ in range(2))
    some.fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert_same_model(some, all_.fit(X, y, sample_weight=weight))


@EACH
def test_files_and_pickles_go_on_with_the_same_bits(name, tmp_path):
    X, y = line()
    model = clone(REGRESSORS[name]).partial_fit(X[:30], y[:30])
    model.save(tmp_path / "model")
    for copy in (rb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert differences(memory(model), memory(copy)) == []
        assert np.array_equal(copy.predict(X), model.predict(X))
        assert_same_model(copy.partial_fit(X[30:], y[30:]), clone(REGRESSORS[name]).partial_fit(X, y))


def test_a_file_of_a_regressor_has_no_classes(tmp_path):
    X, y = line()
    model = rb.AROWRegressor().partial_fit(X, y)
    model.model_.classes = ["a", "b", "c"]
    model.save(tmp_path / "model")
    with pytest.raises(rb.model_file.BadModel, match="has no classes"):
        rb.load(tmp_path / "model")


@EACH
def test_a_bad_row_changes_nothing(name):
    X, y = line()
    model = clone(REGRESSORS[name]).partial_fit(X, y)
    before = memory(model)
    bad = X.copy()
    bad[5, 2] = np.nan
    for learn in (lambda: model.partial_fit(bad, y), lambda: model.fit(bad, y), lambda: model.learn_one(bad[5], 1.0)):
        with pytest.raises(ValueError, match="NaN"):
            learn()
        assert differences(before, memory(model)) == []
    for target in (np.nan, np.inf, "5", None):
        with pytest.raises(ValueError, match="target of a regression must be a finite number; got"):
            model.learn_one(X[0], target)
    assert differences(before, memory(model)) == []


@EACH
def test_names_of_columns(name):
    X, y = line()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = clone(REGRESSORS[name]).partial_fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.predict_one(dict(frame.iloc[3])) == model.predict(frame)[3]


def test_the_loss_and_the_end_of_training():
    X, y = line(200, 3)
    exact = X @ [1.0, 2.0, 3.0] + 1.0
    model = rb.PassiveAggressiveRegressor(variant="PA", epsilon=0.05, tol=None).fit(X, exact)
    assert model.converged_
    assert model.n_iter_ < 1000
    assert np.abs(model.predict(X) - exact).max() <= 0.05 + 1e-12
    one = rb.PassiveAggressiveRegressor(epsilon=0.5, max_iter=1, tol=None, shuffle=False)
    losses = []
    for x, target in zip(X, y, strict=True):
        losses.append(max(0.0, abs(target - one.learn_one(x, target)) - 0.5))
    one.fit(X, y)
    assert one.loss_per_epoch_[0] == pytest.approx(np.mean(losses), rel=1e-12)
    assert one.mistakes_ == np.count_nonzero(losses)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 epochs"):
        rb.PassiveAggressiveRegressor(max_iter=2).fit(X, y)


def test_early_stopping_judges_by_r2():
    X, y = line(300, 3)
    model = rb.AROWRegressor(early_stopping=True, max_iter=50).fit(X, y)
    assert model.n_iter_ < 50
    assert model.score(X, y) > 0.9


def test_starting_weights_and_warm_start():
    X, y = line(100, 4)
    same = {"shuffle": False, "max_iter": 1, "tol": None}
    first = rb.AROWRegressor(**same).fit(X, y)
    again = rb.AROWRegressor(**same).fit(X, y, coef_init=first.coef_, intercept_init=first.intercept_)
    warm = rb.AROWRegressor(warm_start=True, **same).fit(X, y)
    warm.fit(X, y)
    assert np.array_equal(again.coef_, warm.coef_)
    first.coef_ = np.zeros(4)
    assert not first.coef_.any()
    with pytest.raises(ValueError, match=r"coef_init must have the shape \(1, 4\)"):
        rb.AROWRegressor().fit(X, y, coef_init=[1.0])


@examples(20)
@given(st.integers(0, 10**6))
def test_the_average_is_the_mean_of_the_weights_after_each_example(seed):
    X, y = line(30, 3, seed)
    for model in (rb.AROWRegressor(readout="average"), rb.PassiveAggressiveRegressor(readout="average")):
        plain, sums = clone(model).set_params(readout="last"), np.zeros(4)
        for x, target in zip(X, y, strict=True):
            model.learn_one(x, target)
            plain.learn_one(x, target)
            sums += np.append(plain.coef_, plain.intercept_)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), sums / 30, rtol=1e-9, atol=1e-12)


@EACH
def test_it_predicts_better_than_the_mean(name):
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import scale

    X, y = load_diabetes(return_X_y=True)
    model = clone(REGRESSORS[name]).set_params(tol=None, max_iter=20, fit_intercept=True, readout="average")
    assert cross_val_score(model, scale(X), y, cv=5).mean() > (0.4 if name == "PA" else 0.45)


@EACH
@pytest.mark.parametrize("delay", [0, 3])
def test_progressive_validation_measures_errors(name, delay):
    X, y = line(50, 3)
    errors, model, waiting = [], clone(REGRESSORS[name]), []
    for x, target in zip(X, y, strict=True):
        errors.append(target - model.predict_one(x))
        waiting.append((x, target))
        if len(waiting) > delay:
            model.learn_one(*waiting.pop(0))
    for result in (
        rb.progressive(clone(REGRESSORS[name]), zip(X, y, strict=True), delay=delay),
        rb.progressive(clone(REGRESSORS[name]), [(X[:20], y[:20]), (csr(X[20:]), y[20:])], delay=delay),
    ):
        assert result.rmse == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-9)
        assert result.mae == pytest.approx(np.mean(np.abs(errors)), rel=1e-9)
        assert [count for count, _, _ in result.curve] == [1, 2, 4, 8, 16, 32, 50]
        assert "RMSE" in str(result)


def test_a_rule_of_real_targets_is_a_subclass_and_not_a_decorated_function():
    with pytest.raises(TypeError, match="first argument of a rule must be `margin`; `nearest` has `loss`"):

        @rb.rule
        def nearest(loss, sq_norm, C=1.0):
            return C * loss / sq_norm
