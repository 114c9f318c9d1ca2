"""Which class is the positive one: signs written as text, `positive=`, and the options of the command line."""

import json

import numpy as np
import pytest
from sklearn.base import clone

import rosenblatt as rb
from rosenblatt import learners
from tests.cli.helpers import call

X = np.array([[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], dtype=float)
SIGNS = np.array([-1, 1, 1, 1, -1])
"""The table of the third lecture note; one pass from [-1, 0, 0] ends at [-1, 1, -1]."""

SPELLINGS = [
    ("-", "+"),
    ("-1", "+1"),
    ("-1", "1"),
    ("\N{MINUS SIGN}1", "1"),
    ("\N{MINUS SIGN}1", "+1"),
    ("\N{MINUS SIGN}", "+"),
    ("\N{EN DASH}", "+"),
    ("0", "+1"),
    ("-1.0", "+1.0"),
]


def spelled(negative, positive, signs=SIGNS):
    return np.where(signs > 0, positive, negative)


@pytest.mark.parametrize(("negative", "positive"), SPELLINGS)
def test_signs_written_as_text_are_signs(negative, positive):
    y = spelled(negative, positive)
    run_of_notes = rb.trace(X, y, init=[-1, 0, 0])
    assert run_of_notes.weights.tolist() == [[-1, 1, -1]]
    assert run_of_notes.classes == (negative, positive)
    plain, text = rb.Perceptron().fit(X, SIGNS), rb.Perceptron().fit(X, y)
    assert text.classes_.tolist() == sorted([negative, positive])
    assert text.model_.classes == [negative, positive]
    sign = 1 if negative < positive else -1  # weights and scores are for the second class in sorted order
    assert np.array_equal(plain.coef_, sign * text.coef_)
    assert np.array_equal(plain.decision_function(X), sign * text.decision_function(X))
    assert np.array_equal(text.predict(X), spelled(negative, positive, plain.predict(X)))
    assert text.certificate_.verify(X, y) == plain.certificate_.verify(X, SIGNS)
    coef, intercept = rb.certify(X, y).separator
    assert np.array_equal(coef, rb.certify(X, SIGNS).separator[0])
    assert rb.margin(coef, X, y, intercept) > 0


@pytest.mark.parametrize("names", [("no", "yes"), ("10", "9"), ("-2", "-1"), ("B", "C"), ("+x", "-x"), ("C1", "C2")])
def test_other_labels_stay_sorted(names):
    y = np.where(SIGNS > 0, names[1], names[0])
    assert rb.Perceptron().fit(X, y).classes_.tolist() == sorted(names)


def test_three_classes_stay_sorted():
    y = ["+", "-", "0", "+", "-"]
    assert rb.Perceptron().fit(X, y).classes_.tolist() == ["+", "-", "0"]


def every_learner():
    return [learners.find(name)() for name in learners.names()]


@pytest.mark.parametrize("learner", every_learner(), ids=lambda one: type(one).__name__)
def test_every_learner_takes_the_positive_class(learner):
    random = np.random.RandomState(0)
    data = random.randint(0, 4, (40, 3)).astype(float)
    signs = np.where(data @ [1, -2, 1] + random.randint(-1, 2, 40) > 0, 1, -1)
    learner.set_params(max_iter=5, **({"tol": None} if "tol" in learner.get_params() else {}))
    plain = clone(learner).fit(data, signs)
    named = clone(learner).set_params(positive="C1").fit(data, np.where(signs > 0, "C1", "C2"))
    assert named.classes_.tolist() == ["C1", "C2"]
    assert np.array_equal(plain.decision_function(data), -named.decision_function(data))
    assert np.array_equal(plain.predict(data) > 0, named.predict(data) == "C1")


def test_the_positive_class_of_numbers_and_booleans():
    assert rb.Perceptron(positive=-1).fit(X, SIGNS).model_.classes == [1, -1]
    assert rb.Perceptron(positive="-1").fit(X, SIGNS).model_.classes == [1, -1]
    assert rb.Perceptron(positive=False).fit(X, SIGNS > 0).model_.classes == [True, False]
    mirrored, plain = rb.Perceptron(positive=-1).fit(X, SIGNS), rb.Perceptron().fit(X, SIGNS)
    assert mirrored.classes_.tolist() == [-1, 1]
    assert np.array_equal(mirrored.coef_, plain.coef_)
    assert np.array_equal(mirrored.decision_function(X), plain.decision_function(X))
    nothing = np.zeros((1, 2))
    assert rb.Perceptron(positive=-1, fit_intercept=False).fit(X, SIGNS).predict(nothing).tolist() == [-1]


def test_trace_margin_and_certify_take_the_positive_class():
    y = spelled("C2", "C1")
    for algorithm in ("perceptron", "batch", "pocket", "kernel"):
        start = {} if algorithm == "kernel" else {"init": [-1, 0, 0]}
        named = rb.trace(X, y, algorithm, positive="C1", **start)
        assert np.array_equal(named.weights, rb.trace(X, SIGNS, algorithm, **start).weights)
        assert named.classes == ("C2", "C1")
    step = rb.trace(X, y, positive="C1", init=[-1, 0, 0])[1]
    assert (step.label, step.predicted, step.correct) == ("C1", "C2", False)
    assert rb.margin([1, 0], X, y, positive="C1") == rb.margin([1, 0], X, SIGNS)
    certificate, plain = rb.certify(X, y, positive="C1"), rb.certify(X, SIGNS)
    assert certificate.classes.tolist() == ["C2", "C1"]
    assert np.array_equal(certificate.separator[0], plain.separator[0])
    assert certificate.verify()
    assert certificate.verify(X, y)
    assert not certificate.verify(X, SIGNS)
    u = np.concatenate([plain.separator[1], plain.separator[0][0]])
    assert rb.trace(X, y, positive="C1", comparator=u).comparator.margin > 0


def test_a_single_class_is_on_the_side_of_its_sign():
    for y, sign in ((["-"], -1), (["+"], 1), (["\N{MINUS SIGN}1"], -1), ([-1], -1), ([1], 1), (["x"], 1)):
        assert rb.margin([1, 0], [[2, 0]], y) == 2 * sign
    assert rb.margin([1, 0], [[2, 0]], ["C2"], positive="C1") == -2


def test_an_inseparable_run_is_verified_with_the_positive_class():
    square, labels = [[0, 0], [0, 1], [1, 0], [1, 1]], ["-", "+", "+", "-"]
    model = rb.Perceptron(tol=None, shuffle=False).fit(square, labels)
    assert model.certificate_.status == "inseparable"
    assert model.certificate_.verify(square, labels)
    assert not model.certificate_.verify(square, [0, 1, 1, 0])
    assert not rb.Perceptron().fit(X, SIGNS).certificate_.verify(X, np.where(SIGNS > 0, "b", "a"))


@pytest.mark.parametrize(
    "use",
    [
        lambda y, positive: rb.Perceptron(positive=positive).fit(X, y),
        lambda y, positive: rb.KernelPerceptron(positive=positive).fit(X, y),
        lambda y, positive: rb.trace(X, y, positive=positive),
        lambda y, positive: rb.certify(X, y, positive=positive),
        lambda y, positive: rb.margin([1, 0], X, y, positive=positive),
    ],
)
def test_a_wrong_positive_class_is_named(use):
    with pytest.raises(
        ValueError, match=r"`positive`( of \w+)? must be one of the two classes, 'C1' or 'C2'; got 'C3'"
    ):
        use(spelled("C2", "C1"), "C3")
    with pytest.raises(
        ValueError, match=r"`positive`( of \w+)? must be None unless there are two classes; got 'a' with 3"
    ):
        use(["a", "b", "c", "a", "b"], "a")


@pytest.mark.parametrize("learner", [rb.Perceptron, rb.AveragedPerceptron, rb.KernelPerceptron])
def test_streams_take_the_positive_class_if_the_classes_are_known(learner):
    y = spelled("C2", "C1")
    stream = learner(positive="C1").partial_fit(X[:1], y[:1], classes=["C1", "C2"]).partial_fit(X[1:], y[1:])
    assert stream.classes_.tolist() == ["C1", "C2"]
    plain = learner().partial_fit(X, SIGNS, classes=[-1, 1])
    assert np.array_equal(stream.decision_function(X), -plain.decision_function(X))
    signed = learner().partial_fit(X, spelled("-", "+"), classes=["+", "-"])
    assert signed.classes_.tolist() == ["+", "-"]
    assert np.array_equal(signed.decision_function(X), -plain.decision_function(X))
    for learn in (lambda model: model.partial_fit(X, y), lambda model: model.learn_one(X[0], y[0])):
        with pytest.raises(ValueError, match="must be None on a stream whose two classes are not known in advance"):
            learn(learner(positive="C1"))


def test_the_model_file_keeps_the_positive_class(tmp_path):
    y = spelled("C2", "C1")
    model = rb.Perceptron(positive="C1").fit(X, y)
    model.save(tmp_path / "named.model")
    again = rb.load(tmp_path / "named.model")
    assert again.positive == "C1"
    assert again.classes_.tolist() == ["C1", "C2"]
    assert again.model_.classes == ["C2", "C1"]
    assert np.array_equal(again.coef_, model.coef_)
    assert again.certificate_.positive == "C1"


# ---- the command line ----


def table(path, labels):
    path.write_text("".join(f"{a:g},{b:g},{label}\n" for (a, b), label in zip(X, labels, strict=True)))
    return str(path)


def test_the_table_of_the_notes_on_the_command_line(tmp_path):
    for name, labels, options in (
        ("signs", spelled("-", "+"), []),
        ("unicode", spelled("\N{MINUS SIGN}1", "1"), []),
        ("classes", spelled("C2", "C1"), ["--positive", "C1"]),
    ):
        data = table(tmp_path / f"{name}.csv", labels)
        done = call("trace", data, "--no-header", "--init=-1,0,0", "--to", "json", *options)
        assert json.loads(done.stdout)["weights"] == [[-1, 1, -1]]
        model = str(tmp_path / f"{name}.model")
        call("train", data, "-m", model, "--no-header", "-a", "perceptron", "--quiet", *options)
        assert rb.load(model).model_.classes == [labels[0], labels[1]]
        assert json.loads(call("certify", data, "--no-header", "--json", *options).stdout)["status"] == "separable"


def test_one_example_of_three_classes_on_the_command_line(tmp_path):
    (tmp_path / "one.csv").write_text("-2,3,1,2\n")
    arguments = ["trace", str(tmp_path / "one.csv"), "--no-header", "--no-intercept", "--init=-2,2,1;0,3,4;1,4,-2"]
    shown = json.loads(call(*arguments, "--classes", "0,1,2", "--to", "json").stdout)
    assert shown["steps"][0]["scores"] == [11, 13, 8]
    assert shown["steps"][0]["predicted"] == 1
    assert shown["weights"] == [[-2, 2, 1], [2, 0, 3], [-1, 7, -1]]
    wrong = call(*arguments, "--classes", "0,1", code=2)
    assert "--classes must name every class of the data" in wrong.stderr
    assert "without 2" in wrong.stderr


def test_train_starts_with_the_classes_that_are_named(tmp_path):
    data, model = table(tmp_path / "signs.csv", spelled("b", "a")), str(tmp_path / "three.model")
    call("train", data, "-m", model, "--no-header", "--classes", "c,b,a", "--quiet")
    assert rb.load(model).classes_.tolist() == ["a", "b", "c"]
    refused = call("train", data, "-m", model, "--no-header", "--positive", "z", code=2)
    assert "`positive` of PassiveAggressive must be one of the two classes, 'a' or 'b'; got 'z'" in refused.stderr


def test_the_table_of_the_notes_as_the_notes_print_it(tmp_path):
    data = table(tmp_path / "signs.csv", spelled("-", "+"))
    shown = call("trace", data, "--no-header", "--init=-1,0,0", "--columns", "notes").stdout
    assert shown.splitlines()[3] == "2     [-1, 0, 0]   -1·1 + 0·3 + 0·2 = -1  no        + [1, 3, 2]"
    angles = call("trace", data, "--no-header", "--init=-1,0,0", "--columns", "step,cos_x,cos_u").stdout
    assert angles.splitlines()[0].split("  ") == ["step", "cos(w, x)", "cos(w, u) after"]
    refused = call("trace", data, "--no-header", "--columns", "notes", "--to", "csv", code=2)
    assert "--columns is for tables, which are text, markdown and html; got --to csv" in refused.stderr


@pytest.mark.parametrize(
    "labels",
    [np.array([-128, 127], np.int8), np.array([2**64 - 1, 2**64 - 3], np.uint64), np.array([-(2**63), -(2**63) + 5])],
    ids=lambda labels: labels.dtype.name,
)
def test_labels_at_the_ends_of_their_type(labels):
    y = np.tile(labels, 10)
    model = rb.Perceptron().fit(np.where(y == labels[0], 1.0, -1.0)[:, None], y)
    np.testing.assert_array_equal(model.classes_, np.sort(labels))
    assert model.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(model.predict([[1.0], [-1.0]]), labels)
