"""`compare` is fair, repeatable, and agrees with the estimators themselves."""

import ast
import json
import subprocess
import sys

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.experiments import CONTENDERS, Contender, compare
from tests.helpers import blobs, csr

FEW = (
    Contender("perceptron", "Perceptron"),
    Contender("averaged", "AveragedPerceptron"),
    Contender("PA-I", "PassiveAggressive", {"variant": "PA-I"}, {"C": (0.001, 0.1, 10.0)}),
)


def data(n=400, classes=2):
    X, y = blobs(n, 5, classes, seed=1)
    return X, np.where(np.random.default_rng(0).random(n) < 0.2, (y + 1) % classes, y)


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_counts_agree_with_the_estimators(classes):
    X, y = data(classes=classes)
    result = compare(X, y, repeats=3, contenders=FEW, prefix=0.25)
    assert result.scored == 300
    found = {one.name: one for one in result.standings}
    for number in range(3):
        order = np.random.RandomState(number).permutation(400)
        head, rest = order[:100], order[100:]
        plain = rb.Perceptron().partial_fit(X[head], y[head], classes=range(classes))
        before = plain.mistakes_
        assert found["perceptron"].rates[number] == (plain.partial_fit(X[rest], y[rest]).mistakes_ - before) / 300
        mean, wrong = rb.AveragedPerceptron().partial_fit(X[head], y[head], classes=range(classes)), 0
        for x, label in zip(X[rest], y[rest].tolist(), strict=True):
            wrong += mean.learn_one(x, label) != label
        assert found["averaged"].rates[number] == wrong / 300
        tries = {
            C: rb.PassiveAggressive(C=C).partial_fit(X[head], y[head], classes=range(classes))
            for C in (0.001, 0.1, 10.0)
        }
        best = min(tries, key=lambda C: tries[C].mistakes_)
        assert found["PA-I"].chosen[number] == {"C": best}


def test_the_settings_do_not_depend_on_the_scored_examples():
    X, y = data()
    other = y.copy()
    other[40:] = 1 - other[40:]
    a, b = (compare(X, labels, shuffle=False, contenders=FEW) for labels in (y, other))
    chosen = [{one.name: one.chosen for one in result.standings} for result in (a, b)]
    assert chosen[0] == chosen[1]
    assert a.repeats == 1


@pytest.mark.slow
def test_results_do_not_depend_on_threads_or_sparsity():
    X, y = data()
    results = [
        compare(X, y, repeats=4, seed=3, threads=1), compare(X, y, repeats=4, seed=3, threads=4),
        compare(csr(X), y, repeats=4, seed=3),
    ]  # fmt: skip
    rates = [{one.name: one.rates.tolist() for one in result.standings} for result in results]
    assert rates[0] == rates[1] == rates[2]
    assert len(rates[0]) == len(CONTENDERS) + 1
    means = [one.rates.mean() for one in results[0].standings]
    assert means == sorted(means)


def test_a_learner_declares_its_own_grid():
    """Without an entry in the list of learners with a name, as for a new learner."""
    program = (
        "import sys, rosenblatt.experiments as e, rosenblatt.experiments.comparison as c\n"
        "assert 'sklearn' not in sys.modules\n"
        "c._NAMED = tuple(one for one in c._NAMED if one.learner not in ('AROW', 'Perceptron', 'MarginPerceptron'))\n"
        "c.find('AROW')._grid, c.find('MarginPerceptron')._grid = {'r': (1.0, 2.0)}, {'b': (3.0,)}\n"
        "mine = [one for one in e.CONTENDERS if one.learner in ('AROW', 'Perceptron', 'MarginPerceptron')]\n"
        "print([(one.name, one.learner, dict(one.fixed), one.settings()) for one in mine])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert ast.literal_eval(done.stdout) == [
        ("AROW", "AROW", {"covariance": "diagonal"}, [{"r": 1.0}, {"r": 2.0}]),
        ("AROW, full", "AROW", {"covariance": "full"}, [{"r": 1.0}, {"r": 2.0}]),
        ("MarginPerceptron", "MarginPerceptron", {}, [{"b": 3.0}]),
    ]


def test_more_passes():
    X, y = data()
    once, thrice = (compare(X, y, repeats=2, passes=n, contenders=FEW[:1]) for n in (1, 3))
    assert thrice.standings[0].rates.shape == (2,)
    assert once.standings[0].rates[0] != thrice.standings[0].rates[0]


def test_the_forms_of_the_result():
    X, y = data()
    result = compare(X, np.array(["no", "yes"])[y], repeats=2, contenders=FEW)
    lines = str(result).splitlines()
    assert len(lines) == 5
    assert "±" in lines[1]
    facts = json.loads(json.dumps(result.to_json()))
    assert facts["classes"] == ["no", "yes"]
    assert {"name", "mean", "spread", "rates", "updates", "seconds", "chosen"} <= set(facts["standings"][0])
    from rosenblatt.plots import ComparisonDisplay

    display = ComparisonDisplay(result).plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()][-1] == result.standings[0].name


def test_full_matrices_are_skipped_for_wide_data():
    rng = np.random.default_rng(0)
    X, y = csr(rng.normal(size=(30, 300)) * (rng.random((30, 300)) < 0.05)), np.arange(30) % 2
    result = compare(X, y, repeats=1)
    assert any("AROW, full" in reason for reason in result.skipped)
    assert not any("full" in one.name for one in result.standings)
    whole = Contender("whole", "AROW", {"covariance": "full"})
    mixed, alone = (compare(X, y, repeats=1, contenders=chosen) for chosen in ([*FEW, whole], [whole]))
    assert mixed.skipped == ["whole: a matrix for 300 features"]
    assert "whole" in [one.name for one in alone.standings], "requested explicitly, it is run"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"prefix": 0}, "`prefix` of compare must be between 0 and 1; got 0"), ({"repeats": 0}, "`repeats` must be a whole"),
     ({"passes": 1.5}, "`passes` must be a whole")],
)  # fmt: skip
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        compare(*data(), **wrong)
    with pytest.raises(ValueError, match="10 examples of 2 classes"):
        compare(np.ones((20, 2)), np.ones(20))
