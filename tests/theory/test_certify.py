"""`certify` decides the hard cases, proves the answers, and refuses a proof that was changed."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from rosenblatt.theory import certify, margin
from tests.theory import oracle


def check(X, y, status, **options):
    """Certify dense and sparse rows; check the status, its proof, and that the margin is known to the tolerance."""
    dense, sparse = certify(X, y, **options), certify(sp.csr_matrix(np.asarray(X, dtype=float)), y, **options)
    for certificate in (dense, sparse):
        assert certificate.status == status
        assert certificate.verify() is True
        assert certificate.verify(X, y) is True
        lower, upper = certificate.margin
        if status == "separable":
            assert certificate.combination is None
            assert 0 <= lower <= upper
            tol = options.get("tol", 0.01)
            assert tol is None or upper - lower <= tol * upper
        else:
            assert certificate.separator is None
            assert certificate.mistake_bound is None
            assert upper == 0
            assert certificate.combination.min() >= 0
            assert certificate.combination.sum() == pytest.approx(1)
    return dense


# --- known answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_exclusive_or_is_inseparable(fit_intercept):
    certificate = check(
        [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, -1, -1, 1], "inseparable", fit_intercept=fit_intercept
    )
    if fit_intercept:  # without a bias two opposite examples are enough
        assert certificate.combination.tolist() == [0.25, 0.25, 0.25, 0.25]


def test_or_has_the_margin_computed_by_hand():
    certificate = check([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1], "separable", tol=1e-9)
    assert certificate.margin == pytest.approx((1 / 3, 1 / 3))
    assert certificate.radius == pytest.approx(np.sqrt(3))
    assert certificate.mistake_bound == pytest.approx(27)
    coef, intercept = certificate.separator
    assert coef.shape == (1, 2)
    assert intercept.shape == (1,)
    assert coef[0] / intercept == pytest.approx([-2, -2])


def test_the_data_on_which_the_scheme_all_fails_is_separable():
    X, y = np.array([[-3, 1], [3, 2], [2, 0], [-2, 1]]), np.array([1, 1, 2, 0])
    certificate = check(X, y, "separable", tol=1e-6)
    coef, intercept = certificate.separator
    assert (certificate.classes[np.argmax(X @ coef.T + intercept, axis=1)] == y).all()
    lower, _ = certificate.margin
    assert certificate.mistake_bound == pytest.approx(2 * (certificate.radius / lower) ** 2)


def test_stacked_and_one_against_the_rest_differ():
    # Three classes on a line: no threshold separates the middle one from the rest, but its score can be the largest between them.
    X, y = [[-1.0], [0.0], [1.0]], ["a", "b", "c"]
    stacked = check(X, y, "separable")
    rest = check(X, y, "inseparable", problem="one-vs-rest")
    assert "stacked" in stacked.problem
    assert "against the rest" in rest.problem
    assert rest.combination.shape == (3, 3)


def test_the_bound_of_one_against_the_rest_is_the_sum_over_the_learners():
    X, y = [[1.0, 0], [0, 1], [-1, -1]], [0, 1, 2]
    together = check(X, y, "separable", problem="one-vs-rest", tol=1e-6).mistake_bound
    single = [certify(X, np.equal(y, c), tol=1e-6).mistake_bound for c in range(3)]
    assert together == pytest.approx(sum(single), rel=1e-4)


# --- hard cases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12, 1e-15, 1e-30, 1e-200])
@pytest.mark.parametrize("sign", [1, -1])
def test_tiny_margins_and_tiny_overlaps(gap, sign):
    # The same gap on both sides of 0: separable with one sign, overlapping with the other.
    X = np.array([[0.0, gap], [1, gap], [0, -gap], [1, -gap], [0.5, sign * gap]])
    y = [1, 1, -1, -1, 1]
    if sign == 1:
        certificate = check(X, y, "separable")
        assert certificate.margin[0] == pytest.approx(gap, rel=0.02)
    else:
        check(X, y, "inseparable")


def test_thin_margin_in_twenty_dimensions():
    rng = np.random.default_rng(3)
    u = np.linalg.qr(rng.standard_normal((20, 1)))[0].ravel()
    y = rng.choice([-1, 1], 100)
    X = rng.standard_normal((100, 20))
    X -= np.outer(X @ u - 1e-10 * y, u)
    certificate = check(X, y, "separable")
    assert certificate.margin[0] == pytest.approx(1e-10, rel=0.02)


def test_separable_data_on_which_floats_cycle_is_separable():
    check([[1e16, 1e16], [1, -0.5]], [1, -1], "separable", fit_intercept=False)


@pytest.mark.parametrize("classes", [2, 3])
def test_duplicates_with_both_labels_are_a_proof(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = rng.integers(0, classes, 40)
    X[17], y[17], y[4] = X[4], 1, 0
    combination = check(X, y, "inseparable").combination
    assert np.count_nonzero(combination) == 2
    own = combination if classes == 2 else combination.sum(axis=1)
    assert own[[4, 17]].tolist() == [0.5, 0.5]


def test_duplicates_may_differ_in_the_sign_of_zero():
    assert np.count_nonzero(check([[0.0, 1], [-0.0, 1], [5, 5]], [0, 1, 1], "inseparable").combination) == 2


@pytest.mark.parametrize(("label", "sign"), [(1, 1), (-1, -1), (0, 1), ("spam", 1)])
def test_one_example(label, sign):
    certificate = check([[3.0, 4.0]], [label], "separable", fit_intercept=False)
    coef, _ = certificate.separator
    assert sign * (coef @ [3.0, 4.0]) > 0
    assert certificate.margin == pytest.approx((5, 5))
    assert certificate.mistake_bound == pytest.approx(1)


def test_one_class_without_bias_may_be_inseparable():
    check([[1.0], [-1.0]], [1, 1], "inseparable", fit_intercept=False)


def test_zero_rows():
    X, y = [[0.0, 0], [1, 2], [3, -1]], [1, 1, 0]
    assert check(X, y, "inseparable", fit_intercept=False).combination.tolist() == [1, 0, 0]
    check(X, y, "separable")
    check([[0.0]], [1], "inseparable", fit_intercept=False)
    check([[0.0], [0.0]], [1, 0], "inseparable")
    assert check([[0.0, 0], [1, 2], [3, -1]], [0, 1, 2], "inseparable", fit_intercept=False).combination[0].sum() == 1


def test_a_class_with_one_example():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    X[0] = 0
    check(X, np.arange(60) == 0, "inseparable")
    X[0] = 9
    check(X, np.arange(60) == 0, "separable")


def test_collinear_points():
    t = np.arange(10.0)
    line = np.outer(t, [1 / 3, 2 / 7, -1e5])
    check(line, t > 4, "separable")
    check(line, t % 2 == 0, "inseparable")


def test_more_features_than_examples():
    rng = np.random.default_rng(2)
    check(rng.standard_normal((50, 1000)), rng.integers(0, 2, 50), "separable")


def test_huge_and_tiny_scales_mixed():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 4))
    columns, rows = np.array([1e-200, 1e200, 1.0, 1e-3]), 10.0 ** rng.integers(-90, 90, 30)[:, None]
    for y in (X[:, 0] > X[:, 1], rng.integers(0, 2, 30)):
        want = oracle_free_status(X, y)
        check(X * columns * 1.0, y, certify(X * columns, y, tol=None).status)
        assert certify(X, y, fit_intercept=False).status == want
        # Rows and columns scaled by powers of two have the same answer.
        shifted = X * np.ldexp(1.0, [-600, 600, 0, -9]) * np.ldexp(1.0, rng.integers(-200, 200, 30))[:, None]
        check(shifted, y, want, fit_intercept=False)
        check(X * rows, y, certify(X * rows, y, tol=None).status)


def oracle_free_status(X, y):
    return certify(X, y, fit_intercept=False, tol=None).status


def test_columns_that_depend_on_each_other_up_to_rounding():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 5))
    X = np.hstack([X, X @ rng.standard_normal((5, 5))])
    check(X, X[:, 0] > X[:, 6], "separable")
    y = rng.integers(0, 2, 60)
    # Rounding makes 10 independent columns out of 5; the answer holds for the rounded numbers.
    assert certify(X, y).verify()
    assert certify(X, y).status != "undecided"


@pytest.mark.parametrize(
    ("load", "status"),
    [(load_iris, "inseparable"), (load_wine, "separable"), (load_breast_cancer, "separable")],
)
def test_data_sets_of_scikit_learn(load, status):
    check(*load(return_X_y=True), status)


def test_ten_classes():
    X, y = load_digits(return_X_y=True)
    certificate = certify(X[:500], y[:500], tol=0.05)
    assert certificate.status == "separable"
    assert certificate.verify()


# --- against an independent oracle ----------------------------------------------------------------------------------


@st.composite
def small_data(draw):
    classes = draw(st.sampled_from([1, 2, 2, 2, 3]))
    n, d = draw(st.integers(1, 4 if classes == 3 else 8)), draw(st.integers(1, 2 if classes == 3 else 4))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    size = draw(st.integers(1, 3))
    X = rng.integers(-size, size + 1, (n, d)).astype(float)
    kind = draw(st.sampled_from(["integers", "nearly integers", "thirds", "columns", "cells"]))
    if kind == "nearly integers":
        X += rng.integers(-1, 2, (n, d)) * 2.0**-45
    elif kind == "thirds":
        X = X @ rng.integers(-2, 3, (d, d)) / 3
    elif kind == "columns":
        X *= 10.0 ** rng.integers(-200, 200, (1, d))
    elif kind == "cells":
        X *= 10.0 ** rng.integers(-100, 100, (n, d))
    return X, rng.integers(0, classes, n)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(small_data(), st.booleans(), st.sampled_from(["stacked", "one-vs-rest"]), st.sampled_from([None, 0.01, 1e-6]))
def test_agrees_with_the_oracle(data, fit_intercept, problem, tol):
    X, y = data
    check(X, y, oracle.status(X, y, fit_intercept, problem), fit_intercept=fit_intercept, problem=problem, tol=tol)


# --- changed proofs --------------------------------------------------------------------------------------------------


@pytest.fixture
def separable():
    return certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])


@pytest.fixture
def inseparable():
    return certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])


def test_a_changed_separator_is_refused(separable):
    coef, intercept = separable.separator
    lower, upper = separable.margin
    for change in [
        {"status": "inseparable"},
        {"status": "undecided"},
        {"separator": (coef, -intercept)},
        {"separator": (-coef, intercept)},
        {"margin": (lower * 1.0001, upper * 2)},
        {"margin": (lower, upper * 0.9999)},
        {"margin": (upper * 1.5, upper)},
        {"radius": separable.radius * 0.999},
        {"mistake_bound": separable.mistake_bound * 0.999},
        {"mistake_bound": None},
        {"combination": np.full(4, 0.25)},
        {"proof": None},
        {"proof": dataclasses.replace(separable.proof, weights=(1, 1, 0))},
        {"proof": dataclasses.replace(separable.proof, weights=tuple(-v for v in separable.proof.weights))},
    ]:
        assert dataclasses.replace(separable, **change).verify() is False, change
    assert dataclasses.replace(separable, margin=(lower * 0.5, upper * 2), mistake_bound=1000.0).verify() is True


def test_a_changed_combination_is_refused(inseparable):
    for change in [
        {"status": "separable"},
        {"combination": np.array([0.3, 0.2, 0.25, 0.25])},
        {"combination": np.full(5, 0.2)},
        {"combination": None},
        {"margin": (-9.0, -1e-9)},
        {"margin": (-0.1, 0.0)},
        {"mistake_bound": 3.0},
        {"radius": 1.0},
        {"proof": dataclasses.replace(inseparable.proof, given_shares=(1, 1, 1, 2))},
        {"proof": dataclasses.replace(inseparable.proof, given_shares=(-1, -1, -1, -1))},
        {"proof": dataclasses.replace(inseparable.proof, given_shares=(0, 0, 0, 0))},
        {"proof": dataclasses.replace(inseparable.proof, given_shares=(1, 1, 1))},
    ]:
        assert dataclasses.replace(inseparable, **change).verify() is False, change


def test_other_data_do_not_verify(separable, inseparable):
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert separable.verify(X, [0, 1, 1, 1]) is True
    assert separable.verify(sp.csr_matrix(X), ["no", "yes", "yes", "yes"]) is False  # other classes
    assert separable.verify(X, [0, 1, 1, 0]) is False
    assert separable.verify(X[:3], [0, 1, 1]) is False
    assert inseparable.verify(X, [0, 1, 1, 1]) is False
    nearly = np.array(X, dtype=float)
    nearly[3, 1] = np.nextafter(1, 2)
    assert inseparable.verify(nearly, [0, 1, 1, 0]) is False


# --- other tests -----------------------------------------------------------------------------------------------------


def test_undecided_claims_nothing():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((200, 20))
    certificate = certify(X, rng.integers(0, 2, 200), max_steps=1)
    assert certificate.status == "undecided"
    assert certificate.verify() is False
    assert certificate.margin[0] < 0 < certificate.margin[1]
    assert certificate.mistake_bound is None
    assert "undecided" in str(certificate)


def test_certificates_as_text(separable, inseparable):
    assert str(separable).startswith("separable: two classes, with bias")
    assert "27" in str(separable)
    assert "exactly 0" in str(inseparable)
    assert str(certify([[1.0]], [1], fit_intercept=False)).startswith(
        "separable: one class on one side, through the origin"
    )


def test_labels_of_any_type():
    X = [[0.0], [1.0], [2.0]]
    for y in (["no", "yes", "yes"], [False, True, True], [-1, 1, 1], [7, 8, 8]):
        coef, intercept = certify(X, y).separator
        assert (np.ravel(X @ coef.T + intercept) > 0).tolist() == [False, True, True]


def test_repeated_calls_give_the_same_answer():
    X, y = load_wine(return_X_y=True)
    one, two = certify(X, y), certify(X, y)
    assert one.margin == two.margin
    assert np.array_equal(one.separator[0], two.separator[0])


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([1.0, 2.0], [0, 1], {}, "two dimensions"),
        ([[1.0], [np.nan]], [0, 1], {}, "finite"),
        ([[1.0], [np.inf]], [0, 1], {}, "finite"),
        ([[1.0], [2.0]], [0], {}, "one label per example"),
        (np.empty((0, 2)), [], {}, "at least one example"),
        ([[2**60 + 1], [1]], [0, 1], {}, "2\\*\\*53"),
        ([[1.0], [2.0]], [0.0, np.nan], {}, "NaN"),
        ([[1.0], [2.0]], [0, 1], {"tol": 0}, "between 0 and 1"),
        ([[1.0], [2.0]], [0, 1], {"tol": 1.5}, "between 0 and 1"),
        ([[1.0], [2.0]], [0, 1], {"problem": "pairs"}, "one-vs-rest"),
        ([[1.0], [2.0]], [0, 1], {"max_steps": 0}, "at least 1"),
    ],
)
def test_wrong_input_is_refused(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        certify(X, y, **options)


def test_text_features_are_refused():
    with pytest.raises(TypeError, match="numbers"):
        certify([["a"], ["b"]], [0, 1])


# --- the geometric margin --------------------------------------------------------------------------------------------

FAR_FROM_THE_ORIGIN = [[7, 8], [9, 5], [2, 5], [8, 5], [9, 8], [8, 3], [8, 8], [4, 5]], [-1, -1, 1, -1, -1, -1, -1, 1]


def half_the_distance(X, y):
    """The largest geometric margin by a quadratic program: half the distance between the hulls of the classes."""
    from scipy.optimize import minimize

    ours, others = X[y == 1], X[y != 1]

    def square(shares):
        step = shares[: len(ours)] @ ours - shares[len(ours) :] @ others
        return step @ step

    sums = [
        {"type": "eq", "fun": lambda shares: shares[: len(ours)].sum() - 1},
        {"type": "eq", "fun": lambda shares: shares[len(ours) :].sum() - 1},
    ]
    start = np.concatenate([np.full(len(ours), 1 / len(ours)), np.full(len(others), 1 / len(others))])
    found = minimize(
        square, start, bounds=[(0, 1)] * len(X), constraints=sums, options={"ftol": 1e-14, "maxiter": 1000}
    )
    return np.sqrt(found.fun) / 2


def test_the_largest_geometric_margin_is_that_of_a_support_vector_machine():
    X, y = map(np.array, FAR_FROM_THE_ORIGIN)
    certificate = check(X, y, "separable", geometric=True)
    assert certificate.geometric
    assert certificate.margin == pytest.approx((np.sqrt(12.4615384615384615) / 2, 1.7650452162436563), rel=1e-12)
    coef, intercept = certificate.separator
    assert margin(coef, X, y, intercept, geometric=True) == pytest.approx(certificate.margin[0], rel=1e-12)
    coef, intercept = certify(X, y).separator
    assert margin(coef, X, y, intercept, geometric=True) == pytest.approx(0.514, abs=1e-3)
    assert "1.76505 to 1.76505, geometric" in str(certificate)
    assert "with the bias feature" in str(certify(X, y))


def test_the_geometric_margin_against_a_quadratic_program():
    random = np.random.default_rng(5)
    for _ in range(60):
        n, d = random.integers(3, 12), random.integers(1, 4)
        X = random.integers(-9, 10, (n, d)).astype(float) + random.integers(-20, 20, d)
        w = random.normal(size=d)
        scores = X @ w
        y = np.where(scores > np.median(scores), 1, -1)
        if len(set(y.tolist())) < 2 or np.ptp(scores[np.argsort(scores)][n // 2 - 1 : n // 2 + 1]) == 0:
            continue
        certificate = check(X, y, "separable", geometric=True, tol=1e-6)
        assert certificate.margin[1] == pytest.approx(half_the_distance(X, y), rel=1e-4)
        assert certificate.margin[0] >= certify(X, y).margin[0] * (1 - 1e-12)


def test_bounds_of_the_geometric_margin_are_verified():
    X, y = FAR_FROM_THE_ORIGIN
    certificate = certify(X, y, geometric=True)
    lower, upper = certificate.margin
    changed = [
        {"margin": (lower, upper * 0.99)},
        {"margin": (lower * 1.01, upper * 1.02)},
        {"mistake_bound": certificate.mistake_bound * 0.99},
        {"geometric": False},
        {"geometric": False, "proof": dataclasses.replace(certificate.proof, geometric=False)},
    ]
    assert not any(dataclasses.replace(certificate, **change).verify() for change in changed)
    plain = certify(X, y)
    unbalanced = dataclasses.replace(plain, geometric=True, proof=dataclasses.replace(plain.proof, geometric=True))
    assert not unbalanced.verify(), "its combination has a bias, so its length is no bound"
    assert not certificate.verify([*X[:-1], [5, 5]], y)


def test_the_geometric_margin_is_for_two_classes():
    with pytest.raises(
        ValueError, match=r"`geometric` of certify must be False unless there are two classes; got True with 3"
    ):
        certify([[0], [1], [2]], [0, 1, 2], geometric=True)
    with pytest.raises(ValueError, match="got True with 1"):
        certify([[0], [1]], [1, 1], geometric=True)
    assert certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], geometric=True).status == "inseparable"


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_geometric_margin_of_extreme_values(scale):
    X, y = [[scale], [3 * scale], [7 * scale]], [-1, 1, 1]
    certificate = certify(X, y, geometric=True)
    assert certificate.margin == pytest.approx((scale, scale), rel=1e-12)
    assert certificate.verify()
    assert certify(X, y, geometric=True, tol=None).verify()


def test_the_geometric_margin_without_a_bias_is_the_margin_of_the_theorem():
    X, y = load_iris(return_X_y=True)
    plain, geometric = (certify(X[:100], y[:100], fit_intercept=False, geometric=g) for g in (False, True))
    assert plain.margin == geometric.margin
    with_bias = check(X[:100], y[:100], "separable", geometric=True)
    assert with_bias.margin[0] >= plain.margin[0] * 0.99
