"""User-defined rules: the same estimators as the built-in ones, with the same disk cache."""

# ruff: noqa: N802 - a rule has the name of the class that is made from it

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone

import rosenblatt as rb
from tests import user_rules
from tests.helpers import assert_same_model, blobs, compiled_loops, csr, differences, memory

PAIRS = {
    "Plain": (user_rules.Plain(eta0=0.3), rb.Perceptron(eta0=0.3)),
    "Cautious": (user_rules.Cautious(C=0.2), rb.PassiveAggressive(C=0.2)),
    "Mean": (user_rules.Mean(), rb.AveragedPerceptron()),
    "Vote": (user_rules.Vote(), rb.VotedPerceptron()),
    "WithHelpers": (user_rules.WithHelpers(), rb.PassiveAggressive(C=0.5)),
    "WithCompiledHelper": (user_rules.WithCompiledHelper(), rb.PassiveAggressive(C=0.5)),
    "NoNumbers": (user_rules.NoNumbers(), rb.Perceptron()),
    "Whole": (user_rules.Whole(), rb.Perceptron()),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_step_gives_the_same_model(name):
    own, built_in = PAIRS[name]
    for classes in (2, 3) if name in ("Plain", "Cautious") else (2,):
        X, y = blobs(60, 9, classes, seed=1)
        mine, theirs = (clone(model).partial_fit(X, y) for model in (own, built_in))
        # A rule without a target does not define the loss of examples beyond the target.
        mine.model_.state.counters.loss = theirs.model_.state.counters.loss = 0.0
        assert_same_model(mine, theirs)
        assert np.array_equal(mine.predict(X), theirs.predict(X))
    if name == "Plain":
        assert np.array_equal(clone(own).fit(csr(X), y).coef_, clone(built_in).fit(X, y).coef_)


def test_a_second_order_rule():
    X, y = blobs(60, 9, 3, seed=1)
    assert_same_model(user_rules.Unsure(r=0.5).partial_fit(X, y), rb.AROW(r=0.5).partial_fit(csr(X), y))


def test_a_rule_that_shrinks_the_weights():
    X, y = blobs(60, 9, seed=1)
    model = user_rules.InTheBall(fit_intercept=False).partial_fit(X, y)
    w, k = np.zeros(9), 0
    for x, sign in zip(X, 2 * y - 1, strict=True):
        if sign * (w @ x) <= 0:
            w = w + sign * x / np.sqrt(k + 1)
            w, k = w / max(1.0, np.linalg.norm(w)), k + 1
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)
    assert model.updates_ == k


def test_only_additive_rules_can_vote():
    with pytest.raises(ValueError, match=r"must be 'last' or 'average'; got 'vote' for `Odd`\. A vote needs weights"):

        @rb.rule(readout="vote")
        def Odd(margin, variance, weight):
            return 0.0, 0.0


def test_a_rule_is_an_estimator_named_after_the_function():
    model = user_rules.Cautious(C=0.25, max_iter=7)
    assert repr(model) == "Cautious(C=0.25, max_iter=7)"
    assert set(model.get_params()) == set(rb.Perceptron().get_params()) - {"eta0", "alpha", "l1_ratio"} | {"C"}
    assert clone(model).get_params() == model.get_params()
    assert "Passive-aggressive with a ceiling." in type(model).__doc__
    assert "C : float, default=0.1" in type(model).__doc__
    assert type(model).__module__ == "tests.user_rules"


def test_a_fitted_rule_can_be_pickled():
    X, y = blobs()
    model = user_rules.Cautious().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.coef_, model.coef_)
    assert np.array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_parameters_change_without_compiling_again():
    X, y = blobs()
    a, b = (user_rules.Cautious(C=C, max_iter=2, tol=None).fit(X, y) for C in (0.01, 1.0))
    assert not np.array_equal(a.coef_, b.coef_), "one compiled rule for all parameter values"


@pytest.mark.slow  # without a source file there is no disk cache: it is compiled each time
def test_a_rule_typed_at_a_prompt():
    scope = {"rosenblatt": rb}
    exec(
        "@rosenblatt.rule\ndef Typed(margin, sq_norm, C=0.5):\n    return min(C, max(0.0, 1.0 - margin) / sq_norm)\n",
        scope,
    )
    X, y = blobs()
    typed = scope["Typed"](max_iter=2, tol=None).fit(X, y)
    assert np.array_equal(typed.coef_, rb.PassiveAggressive(C=0.5, max_iter=2, tol=None).fit(X, y).coef_)


@pytest.mark.slow
def test_a_lambda_can_be_a_rule():
    X, y = blobs()
    step = lambda margin, eta0=1.0: eta0 if margin <= 0 else 0.0  # noqa: E731
    model = rb.rule(step)(max_iter=2, tol=None).fit(X, y)
    assert np.array_equal(model.coef_, rb.Perceptron(max_iter=2, tol=None).fit(X, y).coef_)


def test_a_rule_inside_a_function():
    rate = 0.25

    @rb.rule
    def Local(margin):
        return rate if margin <= 0 else 0.0

    X, y = blobs()
    model = Local(max_iter=2, tol=None).fit(X, y)
    assert np.array_equal(model.coef_, rb.Perceptron(eta0=0.25, max_iter=2, tol=None).fit(X, y).coef_)


def test_bad_signatures_are_refused():
    with pytest.raises(
        TypeError, match=r"`wrong` must take `margin` as its first argument.*got \(score, margin\).*Rename"
    ):

        @rb.rule
        def wrong(score, margin):
            return 1.0

    with pytest.raises(
        TypeError, match=r"hyperparameter `C` of the rule `bare`.*number as its default; got none.*C=1\.0"
    ):

        @rb.rule
        def bare(margin, C):
            return C

    with pytest.raises(TypeError, match=r"`word`.*must have a number as its default; got 'fast'"):

        @rb.rule
        def worded(margin, word="fast"):
            return 1.0

    with pytest.raises(TypeError, match="margin"):

        @rb.rule
        def nothing():
            return 1.0


def test_a_bad_readout_is_refused():
    with pytest.raises(ValueError, match=r"`readout` of a rule must be 'last', 'average' or 'vote'; got 'pocket'"):
        rb.rule(readout="pocket")(lambda margin: 1.0)


TABLE = {"a": 1.0}


def test_a_step_that_uses_a_dict_is_refused():
    @rb.rule
    def Odd(margin):
        return TABLE["a"]

    with pytest.raises(
        TypeError, match=r"`Odd` may refer to numbers, modules and functions; got `TABLE`, a dict.*hyperparameter"
    ):
        Odd().fit(*blobs())


@pytest.mark.parametrize("tau", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_negative_or_infinite_step_is_refused(tau, classes):
    X, y = blobs(classes=classes)
    model = user_rules.Given(max_iter=2, tol=None).fit(X, y)
    before = memory(model)
    model.set_params(tau=tau)
    with pytest.raises(ValueError, match=r"step.*`Given`|`Given`.*step"):
        model.fit(X, y)
    assert differences(memory(model.set_params(tau=1.0)), before) == []


PROGRAM = """
import json, sys
import numpy as np
sys.path.insert(0, {folder!r})
import my_rules
from rosenblatt.engine.codegen import compile_step

X = np.arange(40.0).reshape(10, 4) - 20
model = my_rules.Mine(C=0.25).fit(X, np.arange(10) % 2)
step = compile_step(my_rules.Mine._step)
misses = [sum(k.stats.cache_misses.values()) for k in model.model_._passes if hasattr(k, "stats")]
print(json.dumps([step.cache_hits, sum(misses), model.coef_.tolist(), step.__wrapped__.__code__.co_filename]))
"""

RULE = """
import rosenblatt
from helper import half

@rosenblatt.rule
def Mine(margin, sq_norm, C=0.5):
    return min(C, half() * 2.0 * max(0.0, 1.0 - margin) / sq_norm)
"""


@pytest.mark.slow
def test_a_rule_is_cached_on_disk_across_processes(tmp_path):
    import json

    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "my_rules.py").write_text(RULE)
    (folder / "helper.py").write_text("def half():\n    return 0.5\n")
    environment = os.environ | {"ROSENBLATT_CACHE_DIR": str(tmp_path / "cache")}
    compiled_loops(tmp_path / "cache")

    def run():
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM).format(folder=str(folder))],
            capture_output=True, text=True, check=True, env=environment, timeout=300,
        )  # fmt: skip
        return json.loads(done.stdout)

    hits, misses, coef, path = run()
    assert hits == 0, "the first process compiles the rule"
    assert path.startswith(str(tmp_path / "cache"))
    hits, misses, again, same_path = run()
    assert (hits, misses) == (1, 0), "the second does not"
    assert (again, same_path) == (coef, path)
    # A change in a helper makes another module: the cache is never out of date.
    (folder / "helper.py").write_text("def half():\n    return 0.25\n")
    hits, misses, other, other_path = run()
    assert (hits, misses) == (0, 0), "the loops are shared by all rules"
    assert other_path != path
    assert other != coef


def test_rules_of_one_kind_share_their_loops():
    loops = [
        model.partial_fit(*blobs()).model_._passes for model in (rb.Perceptron(), rb.PassiveAggressive(), rb.Winnow())
    ]
    assert loops[0] is loops[1] is loops[2]
    assert rb.AROW().partial_fit(*blobs()).model_._passes is not loops[0]


def checked(margin):
    if margin <= 0:
        raise ValueError("no")
    return margin


TYPED = """
def Typed(margin, most=5.0):
    if margin <= 0:
        raise ValueError("no")
    return most

def TypedPair(margin, variance, weight, r=1.0):
    if margin <= 0:
        raise ValueError("no")
    return 0.0, 0.0

def TypedShrink(margin, sq_norm, w_sq_norm, steps, weight, r=1.0):
    if margin <= 0:
        raise ValueError("no")
    return 1.0, 0.0
"""


@pytest.mark.parametrize("name", ["Strict", "Typed", "TypedPair", "TypedShrink"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_rule_that_raises_leaves_the_model_as_it_was(name, classes):
    def Strict(margin, most=5.0):
        return min(most, checked(margin))

    typed = {"Strict": Strict}
    exec(TYPED, typed)  # as at a prompt, without a source file
    X, y = blobs(60, 4, classes)
    model = rb.rule(typed[name])()
    with pytest.raises(ValueError, match=r"`\w+` returned another value for row \d+ of X.*or whether it raises"):
        model.fit(X, y)
    assert not hasattr(model, "model_")
    with pytest.raises(ValueError, match=r"`\w+` returned another value for row 0 of X"):
        model.partial_fit(X, y)
    assert not hasattr(model, "model_")


def test_a_cache_folder_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    program = (
        "from rosenblatt.engine.cache import cache_folder, is_kept; f = cache_folder(); print(f, f.is_dir(), is_kept())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120,
        env=os.environ | {"ROSENBLATT_CACHE_DIR": str(blocked / "below")},
    )  # fmt: skip
    folder, *found = done.stdout.split()
    assert found == ["True", "False"]
    assert str(blocked) not in folder
    assert not os.path.exists(folder)  # noqa: PTH110 - removed at the end
    assert done.stderr.count("RuntimeWarning") == 1
    assert f"The cache folder {blocked / 'below'}" in done.stderr
    assert "ROSENBLATT_CACHE_DIR" in done.stderr
