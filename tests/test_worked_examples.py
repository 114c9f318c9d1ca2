"""Every entry of worked_examples.json: numbers worked out by hand in lecture notes, compared exactly."""

import json
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import AveragedPerceptron, Perceptron, VotedPerceptron
from rosenblatt.learners.perceptron import step
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.rule import Rule
from rosenblatt.theory import bounds, certify, margin

CASES = json.loads((Path(__file__).parent / "data" / "worked_examples.json").read_text(encoding="utf-8"))


def case_id(case):
    return case["name"]


def parameters(case):
    return {name: case[name] for name in ("on_zero", "fit_intercept", "shuffle")} | {
        "max_iter": case["epochs"],
        "tol": None,
    }


def start(case):
    """Starting weights in the form of `fit`; in the file the bias comes first."""
    init = case["init"]
    if case.get("bias") == "first":
        return {"coef_init": init[1:], "intercept_init": init[0]}
    return {"coef_init": init}


def weights(model, case):
    w = model.coef_[0].tolist()
    return [model.intercept_.item(), *w] if case.get("bias") == "first" else w


def labels(case, count=None):
    return (np.array(case["y"][:count]) > 0).astype(int)


@pytest.mark.parametrize("case", CASES["binary_passes"], ids=case_id)
class TestBinaryPasses:
    def test_weights_after_every_step_of_fit(self, case):
        for t in range(1, len(case["X"]) + 1):
            # The examples after t have weight 0 and are ignored, while both classes are known.
            X = np.vstack([case["X"][:t], np.zeros((2, len(case["X"][0])))])
            y = np.append(labels(case, t), [0, 1])
            weight = np.append(np.ones(t), [0, 0])
            model = Perceptron(**parameters(case)).fit(X, y, sample_weight=weight, **start(case))
            assert weights(model, case) == case["weights_after"][t - 1]
            assert model.mistakes_ == sum(case["mistake"][:t])
            assert model.updates_ == sum(case["mistake"][:t])
            assert model.examples_ == t

    def test_scores_and_weights_one_by_one(self, case):
        """Through the core model, whose starting weights can be set before any example."""
        rule = Rule(step, (1.0,), target=0.0, on_zero=case["on_zero"], fit_intercept=case["fit_intercept"])
        model = Model(rule, n_features=len(case["X"][0]))
        model.add_class(0, 1)
        init = start(case)
        model.start_from(np.array([init["coef_init"]], float), np.array([init.get("intercept_init", 0)], float))
        mistakes = 0
        for t, (x, y) in enumerate(zip(np.array(case["X"], float), labels(case).tolist(), strict=True)):
            assert model.scores(Table(x[None])).tolist() == [[case["scores"][t]]]
            assert model.learn_one(x, y) == int(case["scores"][t] >= 0)
            coef, intercept = model.coef()
            bias_first = [intercept[0]] if case.get("bias") == "first" else []
            assert [*bias_first, *coef[0]] == case["weights_after"][t]
            mistakes += case["mistake"][t]
            assert model.state.counters.mistakes == mistakes


def binary_passes_with(key):
    return pytest.mark.parametrize("case", [case for case in CASES["binary_passes"] if key in case], ids=case_id)


@binary_passes_with("survivors")
def test_survivors_and_average(case):
    X, y = np.array(case["X"], dtype=float), labels(case)
    voted = VotedPerceptron(**parameters(case)).fit(X, y)
    kept = np.cumsum(voted.dual_coef_ * voted.support_[voted.mistake_rows_], axis=0)
    assert kept.tolist() == [s["w"] for s in case["survivors"]]
    assert voted.survived_.tolist() == [0, *(s["count"] for s in case["survivors"])]
    for x in X:
        vote = sum(s["count"] * np.sign(np.dot(s["w"], x)) for s in case["survivors"])
        assert voted.decision_function([x]).tolist() == [vote]
    averaged = AveragedPerceptron(**parameters(case)).fit(X, y)
    assert (averaged.coef_[0] * len(X)).tolist() == case["averaged_direction"]


@binary_passes_with("score_after")
def test_score_after(case):
    X = np.vstack([case["X"], np.zeros((1, len(case["X"][0])))])
    model = Perceptron(**parameters(case)).fit(X, [0, 1], sample_weight=[1, 0], **start(case))
    assert model.decision_function(case["X"]).tolist() == [case["score_after"]]
    assert case["scores"][0] - case["score_after"] == np.square(case["X"]).sum()


@binary_passes_with("status")
def test_status(case):
    X, y = np.array(case["X"], dtype=float), labels(case)
    model = Perceptron(**(parameters(case) | {"max_iter": 5})).fit(X, y)
    assert not model.converged_
    assert not model.coef_.any(), "the pass ends with its starting weights"
    assert (np.array(case["combination"]) * np.array(case["y"]) @ X).tolist() == [0, 0]
    certificate = certify(X, y, fit_intercept=False)
    assert certificate.status == case["status"]
    assert certificate.verify()


@pytest.mark.parametrize("case", CASES["multiclass"], ids=case_id)
@pytest.mark.parametrize("scheme", ["max", "all"])
def test_multiclass(case, scheme):
    d, K = len(case["x"]), len(case["W"])
    X = np.vstack([case["x"], np.zeros((K, d))])
    y = [case["true"], *range(K)]
    model = Perceptron(multiclass=scheme, fit_intercept=case["fit_intercept"], max_iter=1, tol=None, shuffle=False)
    before = model.fit(X, y, coef_init=case["W"], sample_weight=[0, *[1e-300] * K])
    assert before.coef_.tolist() == case["W"]
    assert before.decision_function([case["x"]]).tolist() == [case["scores"]]
    assert before.predict([case["x"]]).tolist() == [case["predicted"]]
    after = model.fit(X, y, coef_init=case["W"], sample_weight=[1, *[0] * K])
    assert after.coef_.tolist() == case["after"][scheme]
    assert after.mistakes_ == 1


@pytest.mark.parametrize("case", CASES["margins"], ids=case_id)
def test_margins(case):
    assert margin(case["w"], case["X"], case["y"]) == case["signed"]
    assert margin(case["w"], case["X"], case["y"], signed=False) == case["unsigned"]


@pytest.mark.parametrize("cell", CASES["committee"]["cells"], ids=lambda cell: f"p{cell['p']}-k{cell['k']}")
def test_committee_bounds(cell):
    assert bounds.committee_perceptron(cell["p"], cell["k"]) == cell["perceptron_bound"]
    assert round(bounds.committee_winnow(cell["p"], cell["k"]), 1) == cell["winnow_bound"]
