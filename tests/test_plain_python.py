"""Without compilation the same functions run as plain Python with the same bits, so that a debugger can step through them."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rosenblatt as rb
from tests.helpers import csr

ROOT = Path(__file__).parent.parent
WORKED = json.loads((ROOT / "tests" / "data" / "worked_examples.json").read_text(encoding="utf-8"))

KINDS = {
    "additive": rb.PassiveAggressive(max_iter=2, tol=None, random_state=0),
    "additive, average": rb.AveragedPerceptron(max_iter=2, tol=None, random_state=0),
    "additive, linked": rb.Winnow(max_iter=2, tol=None, random_state=0),
    "penalized": rb.AveragedPerceptron(
        penalty="elasticnet", alpha=0.3, l1_ratio=0.1, max_iter=2, tol=None, random_state=0
    ),
    "scaled": rb.ALMA(max_iter=2, tol=None, random_state=0),
    "second order, diagonal": rb.AROW(max_iter=2, tol=None, random_state=0),
    "second order, full": rb.SecondOrderPerceptron(max_iter=2, tol=None, random_state=0),
    "committee": rb.ParallelPerceptron(max_iter=2, tol=None, random_state=0),
}


def bits(estimator):
    """Weights and counters of a fitted learner."""
    coef, bias = estimator.model_.coef()
    return [coef.tobytes().hex(), bias.tobytes().hex(), estimator.model_.state.tally.tobytes().hex()]


def results():
    """The bits of every worked example, and of each kind of loop: two and many classes, dense and sparse rows."""
    found = {}
    for case in WORKED["binary_passes"]:
        model = rb.Perceptron(
            on_zero=case["on_zero"], fit_intercept=case["fit_intercept"], max_iter=2, tol=None, shuffle=False
        )
        X = np.vstack([np.array(case["X"], float), np.zeros((2, len(case["X"][0])))])  # makes both classes known
        y, weight = np.append(np.array(case["y"]) > 0, [False, True]), np.append(np.ones(len(case["X"])), [0, 0])
        found[case["name"]] = bits(model.fit(X, y, sample_weight=weight))
    for case in WORKED["multiclass"]:
        X, classes = np.array([case["x"]], float), len(case["W"])
        X = np.vstack([X, np.zeros((classes, X.size))])
        for scheme in ("max", "all", "uniform", "proportional", "ovr"):
            model = rb.Perceptron(multiclass=scheme, fit_intercept=False, max_iter=1, tol=None, shuffle=False)
            weight = [1, *[0] * classes]
            model.fit(X, [case["true"], *range(classes)], coef_init=case["W"], sample_weight=weight)
            found[f"{case['name']}, {scheme}"] = bits(model)
    rng = np.random.default_rng(5)
    for kind, model in KINDS.items():
        for classes in (2,) if kind == "committee" else (2, 5):
            X = np.abs(rng.normal(size=(24, 11))) * 10.0 ** rng.integers(-2, 3, 11)  # the order of summation matters
            X[rng.random(X.shape) < 0.3] = 0.0
            y = np.arange(24) % classes
            for form, rows in (("dense", X), ("sparse", csr(X))):
                found[f"{kind}, {classes} classes, {form}"] = bits(model.fit(rows, y))
                for x, label in zip(X[:3], y.tolist(), strict=False):
                    model.learn_one(x, label)
                found[f"{kind}, {classes} classes, {form}, one by one"] = bits(model)
    return found


@pytest.fixture(scope="module")
def plain():
    """The results of a process without compilation."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_plain_python"],
        capture_output=True, text=True, check=True, env=environment, cwd=ROOT, timeout=300,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.filterwarnings("ignore")
def test_plain_python_gives_the_bits_of_compiled_code(plain):
    compiled = results()
    assert list(plain) == list(compiled)
    assert [name for name in plain if plain[name] != compiled[name]] == []


PROGRAM = """
import sys
import numpy as np
import rosenblatt as rb
seen = set()
def follow(frame, event, argument):
    seen.add((frame.f_globals["__name__"], frame.f_code.co_name))
    return follow
X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), [1, 0, 1]
model = rb.Perceptron(max_iter=2, tol=None)
sys.settrace(follow)
model.fit(X, y)
sys.settrace(None)
print(*(".".join(place) for place in seen))
"""


def test_a_debugger_sees_the_loop_and_the_step():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment, timeout=300
    )
    places = {"engine.loop.two_classes", "engine.additive.decide", "engine.additive.move", "learners.perceptron.step"}
    assert {f"rosenblatt.{place}" for place in places} <= set(done.stdout.split())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(results(), sys.stdout)
