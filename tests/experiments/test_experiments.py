"""The experiments agree with their theorems."""

import numpy as np
import pytest

from rosenblatt import AveragedPerceptron, BatchPerceptron, Perceptron
from rosenblatt.experiments import (
    CommitteeProblem,
    committee_curves,
    committee_examples,
    committee_mistakes,
    distance_concentration,
    loss_curves,
    losses_along,
    losses_per_epoch,
    margin_against_mistakes,
    separable_examples,
    squeeze_curves,
)
from rosenblatt.theory import margin
from rosenblatt.theory.bounds import committee_perceptron, committee_winnow

# ---- committee ----


@pytest.mark.parametrize(("experts", "panel"), [(5, 5), (16, 3), (1000, 9)])
def test_the_majority_of_the_panel_is_always_right(experts, panel):
    X, y, members = committee_examples(experts, panel, 300, random_state=4)
    assert X.dtype == y.dtype == np.int8
    assert X.shape == (300, experts)
    assert set(np.unique(X)) == {-1, 1}
    assert len(set(members.tolist())) == panel
    np.testing.assert_array_equal(np.sign(X[:, members].astype(int).sum(axis=1)), y)
    assert abs(float(X.mean())) < 0.1


def test_votes_do_not_depend_on_the_chunks():
    problem = CommitteeProblem(100, 5, 1)
    whole, labels = next(problem.chunks(50, 50))
    parts = list(problem.chunks(50, 7))
    assert [len(y) for _, y in parts] == [7] * 7 + [1]
    np.testing.assert_array_equal(np.concatenate([X for X, _ in parts]), whole)
    np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), labels)


def test_seeds_change_the_panel_and_the_votes():
    one, other = CommitteeProblem(1000, 5, 0), CommitteeProblem(1000, 5, 1)
    assert one.members.tolist() != other.members.tolist()
    assert (next(one.chunks(5))[0] != next(other.chunks(5))[0]).any()


def test_streaming_makes_the_same_mistakes_as_one_call():
    X, y, _ = committee_examples(300, 5, 400, random_state=2)
    model = Perceptron(fit_intercept=False).partial_fit(X.astype(float), y, classes=[-1, 1])
    assert committee_mistakes(300, 5, 400, 2, learners=("perceptron",)) == {"perceptron": model.mistakes_}


@pytest.mark.parametrize("panel", [5, 9])
def test_perceptron_and_winnow_stay_within_their_bounds(panel):
    curves = committee_curves((50, 1000), panel=panel, examples=3000, n_seeds=4)
    assert curves.holds
    assert (curves.winnow[1] < curves.perceptron[1]).all()
    assert curves.perceptron.shape == curves.winnow.shape == (2, 4)
    assert curves.perceptron_bound.tolist() == [committee_perceptron(p, panel) for p in (50, 1000)]
    assert curves.winnow_bound.tolist() == [committee_winnow(p, panel) for p in (50, 1000)]
    assert round(curves.winnow_bound[1], 1) == {5: 264.9, 9: 763.1}[panel]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_winnow_stays_within_its_bound_with_a_hundred_thousand_experts(seed):
    made = committee_mistakes(100_000, 5, 4000, seed, learners=("winnow",))
    assert 50 < made["winnow"] <= committee_winnow(100_000, 5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: CommitteeProblem(10, 4), "`panel` must be odd and at most `experts`; got 4 of 10"),
        (lambda: committee_examples(10, 3, 0), "`examples` must be a whole number of at least 1; got 0"),
        (
            lambda: committee_mistakes(10, 3, learners=("svm",)),
            "`learners` must be of 'perceptron' and 'winnow'; got 'svm'",
        ),
        (lambda: committee_curves((10.5,)), "`experts` must be a list of whole numbers of at least 1"),
        (lambda: distance_concentration((0,)), "`dimensions` must be a list of whole numbers of at least 1"),
        (lambda: distance_concentration(points=2), "`points` must be a whole number of at least 3; got 2"),
        (
            lambda: distance_concentration(distribution="cauchy"),
            "`distribution` must be 'uniform' or 'normal'; got 'cauchy'",
        ),
        (lambda: separable_examples(1.5), "`margin` must be between 0 and 1; got 1.5"),
        (lambda: losses_along([[1.0]], [1], [0, 0], [0, 1]), "`y` must hold two classes; got 1"),
        (
            lambda: losses_along([[1.0], [2.0]], [0, 1], [0], [0, 1]),
            "`start` must hold 2 numbers, the bias first; got 1",
        ),
        (lambda: losses_per_epoch([[1.0], [2.0]], [0, 1], 0), "`epochs` must be a whole number of at least 1; got 0"),
        (
            lambda: losses_per_epoch([[1.0], [2.0]], [0, 1], 5, BatchPerceptron()),
            "`estimator` must be an online learner with partial_fit and the parameter shuffle; got BatchPerceptron",
        ),
        (
            lambda: squeeze_curves([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, -1, -1, 1]),
            "The examples must be separable, because the squeeze needs a separator; they are inseparable",
        ),
    ],
)
def test_errors_name_the_parameter(call, said):
    with pytest.raises(ValueError, match=said):
        call()


# ---- other experiments ----


def test_distances_concentrate():
    curves = distance_concentration((2, 20, 200, 2000), points=100)
    assert (np.diff(curves.contrast) < 0).all()
    assert curves.contrast[0] > 10
    assert curves.contrast[-1] < 0.2
    assert (curves.nearest <= curves.mean).all()
    assert (curves.mean <= curves.farthest).all()
    np.testing.assert_allclose(curves.mean[-1], np.sqrt(2000 / 6), rtol=0.01)  # E|x-z|² = d/6 in the unit cube
    normal = distance_concentration((1000,), points=50, distribution="normal")
    np.testing.assert_allclose(normal.mean, np.sqrt(2000), rtol=0.02)


@pytest.mark.parametrize("gamma", [0.3, 0.01])
def test_examples_have_the_requested_margin(gamma):
    X, y, u = separable_examples(gamma, 60, 4, random_state=3)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    np.testing.assert_allclose(margin(u, X, y), gamma, rtol=1e-9)


def test_a_smaller_margin_costs_more_mistakes_within_the_bound():
    curves = margin_against_mistakes((0.4, 0.1, 0.02), examples=200, n_seeds=3)
    assert curves.converged.all()
    assert (curves.mistakes <= curves.bound[:, None]).all()
    assert (np.diff(curves.mistakes.mean(axis=1)) > 0).all()
    np.testing.assert_allclose(curves.bound, [6.25, 100, 2500])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_squeeze_holds_along_a_run(fit_intercept):
    X, y, u = separable_examples(0.05, 200, 5)
    curves = squeeze_curves(X, y, fit_intercept=fit_intercept)
    model = Perceptron(fit_intercept=fit_intercept, shuffle=False, tol=None).fit(X, y)
    assert curves.holds
    assert curves.mistakes[-1] == model.mistakes_ <= curves.bound
    final = np.linalg.norm(np.append(model.coef_, model.intercept_))
    np.testing.assert_allclose(curves.length[-1], final)
    if not fit_intercept:
        own = squeeze_curves(X, y, fit_intercept=False, comparator=u)
        np.testing.assert_allclose(own.margin, 0.05)
        np.testing.assert_allclose(own.bound, 400)


def test_the_losses_of_one_example():
    curves = loss_curves([-2.0, 0.0, 1.0])
    assert curves.zero_one.tolist() == [1, 1, 0]
    assert curves.criterion.tolist() == [2, 0, 0]
    assert loss_curves().places[[0, -1]].tolist() == [-2, 2]


def test_the_losses_along_a_direction():
    X, y = [[1.0], [2.0], [-1.0]], ["b", "b", "a"]
    curves = losses_along(X, y, [0], [1], [-1, 0, 1], fit_intercept=False)
    assert curves.zero_one.tolist() == [1, 1, 0]
    np.testing.assert_allclose(curves.criterion, [4 / 3, 0, 0])
    rng = np.random.default_rng(0)
    wild = losses_along(rng.normal(size=(50, 2)), rng.integers(0, 2, 50), rng.normal(size=3), rng.normal(size=3))
    assert (np.diff(wild.criterion, 2) > -1e-12).all()  # convex along every line


@pytest.mark.parametrize("learner", [Perceptron, AveragedPerceptron])
def test_the_losses_of_each_epoch_agree_with_fit(learner):
    X, y, _ = separable_examples(0.02, 100, 5)
    curves = losses_per_epoch(X, y, 4, learner(random_state=7))
    assert curves.places.tolist() == [0, 1, 2, 3, 4]
    for epoch in (1, 4):
        model = learner(random_state=7, max_iter=epoch, tol=None).fit(X, y)
        signed = y * model.decision_function(X)
        assert curves.zero_one[epoch] == (signed <= 0).mean()
        np.testing.assert_allclose(curves.criterion[epoch], np.maximum(0, -signed).mean())


def test_a_learner_without_mistakes_stops():
    curves = losses_per_epoch([[1.0], [-1.0]], [1, 0], 50)
    assert len(curves.places) < 10
    assert curves.zero_one[-1] == curves.criterion[-1] == 0
