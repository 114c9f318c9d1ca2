"""What users of scikit-learn take for granted: sorted classes, the types of labels, weights that can be assigned, warnings."""

import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.metrics import get_scorer, roc_auc_score, top_k_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from tests.helpers import STREAMING, blobs, csr, last_weights

STREAMS = {**STREAMING, "Kernel": rb.KernelPerceptron(), "Parallel": rb.ParallelPerceptron()}


@pytest.mark.parametrize("name", STREAMS)
def test_classes_are_sorted_whatever_their_order_of_arrival(name):
    X, y = np.array([[1.0], [-1.0]] * 50), np.array([1, 0] * 50)
    model = clone(STREAMS[name]).partial_fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    if model.score(X, y) > 0.5:
        assert get_scorer("roc_auc")(model, X, y) > 0.5
    at = model.decision_function(X)
    decided = at != 0
    assert np.array_equal(model.predict(X)[decided], (at[decided] > 0).astype(int))


@pytest.mark.parametrize("name", [name for name in STREAMS if name != "Parallel"])
def test_the_order_of_arrival_stays_an_inner_matter(name):
    X, y = blobs(90, 4, 3, seed=2)
    names = np.array(["c", "a", "b"])
    model = clone(STREAMS[name]).partial_fit(X, names[y])
    arrived = list(dict.fromkeys(names[y].tolist()))
    assert arrived != sorted(arrived), "this test needs another order"
    assert model.classes_.tolist() == ["a", "b", "c"]
    renamed = np.array(["b", "c", "a"])  # the same stream, its labels renamed in the order of arrival
    relabel = dict(zip(arrived, sorted(arrived), strict=True))
    same = clone(STREAMS[name]).partial_fit(X, np.array([relabel[label] for label in names[y].tolist()]))
    assert set(renamed) == set(relabel.values())
    assert same.classes_.tolist() == ["a", "b", "c"]
    columns = [model.classes_.tolist().index(label) for label in arrived]
    assert np.array_equal(model.decision_function(X)[:, columns], same.decision_function(X)), "the same bits"
    assert [relabel[label] for label in model.predict(X).tolist()] == same.predict(X).tolist()
    if name not in ("VotedPerceptron", "Kernel"):
        assert np.array_equal(model.coef_[columns], same.coef_)
        assert np.array_equal(model.intercept_[columns], same.intercept_)
        np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-9)
    if name == "Kernel":
        assert np.array_equal(model.dual_coef_[columns], same.dual_coef_)


def test_top_k_accuracy_calibration_and_exports_after_a_stream():
    X, y = blobs(200, 6, 4, seed=3)
    order = np.argsort(-y, kind="stable")
    model = rb.AveragedPerceptron().partial_fit(X[order], y[order])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert top_k_accuracy_score(y, model.decision_function(X), k=1) == model.score(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    assert abs(calibrated.score(X, y) - model.score(X, y)) < 0.15
    theirs = model.to_sklearn()
    assert theirs.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(theirs.predict(X), model.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_an_exported_graph_predicts_the_same_at_ties(classes):
    from onnx import reference

    X, y = blobs(40, 3, classes)
    y = classes - 1 - y
    model = rb.Perceptron(fit_intercept=False).partial_fit(X[np.argsort(-y)], np.sort(y)[::-1])
    X = np.vstack([X, np.zeros((1, 3))])
    labels, scores = reference.ReferenceEvaluator(model.to_onnx()).run(None, {"X": X})
    assert np.array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores.reshape(model.decision_function(X).shape), model.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("labels", [("-", "+"), ("C2", "C1")])
def test_scores_rank_the_second_class_also_if_the_first_is_positive(labels):
    X, y = blobs(60, 3)
    text = np.where(y == 1, labels[1], labels[0])
    model = rb.Perceptron(positive=None if labels[1] == "+" else "C1").fit(X, text)
    assert model.classes_.tolist() == sorted(labels)
    assert model.model_.classes == list(labels), "inside the rule the positive class is +1"
    assert get_scorer("roc_auc")(model, X, text) == roc_auc_score(y, rb.Perceptron().fit(X, y).decision_function(X))
    again = clone(model).set_params(max_iter=1, tol=None).fit(X, text, model.coef_, model.intercept_)
    assert again.score(X, text) > 0.8, "starting weights have the order of coef_"


# ---- labels ----


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float32", "bool"])
@pytest.mark.parametrize("learner", [rb.Perceptron, rb.KernelPerceptron])
def test_labels_keep_their_type(learner, dtype, tmp_path):
    X, y = blobs(40)
    y = y.astype(dtype)
    for model in (learner().fit(X, y), learner().partial_fit(X, y)):
        assert model.classes_.dtype == model.predict(X).dtype == np.dtype(dtype)
        model.save(tmp_path / "typed.model")
        assert rb.load(tmp_path / "typed.model").predict(X).dtype == np.dtype(dtype)


def test_a_label_that_needs_a_larger_type_gets_it():
    X, y = blobs(40)
    model = rb.Perceptron().partial_fit(X, y.astype(np.int8))
    model.learn_one(X[0], 300)
    assert model.classes_.tolist() == [0, 1, 300]
    model = rb.Perceptron().partial_fit(X, y.astype(np.int8)).partial_fit(X[:1], np.array([300], np.int16))
    assert model.classes_.tolist() == [0, 1, 300]
    assert model.classes_.dtype == np.int16


@pytest.mark.parametrize("learner", [rb.Perceptron, rb.KernelPerceptron])
def test_classes_that_contradict_earlier_ones_are_refused(learner):
    X, y = blobs(40)
    model = learner().partial_fit(X, y, classes=[0, 1])
    before = model.decision_function(X)
    model.partial_fit(X[:1], y[:1], classes=[1, 0])
    with pytest.raises(ValueError, match=r"those of the model, \[0, 1\]; got \[0, 1, 2\]"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"got \[5, 6\]"):
        model.partial_fit(X, y, classes=[5, 6])
    assert model.decision_function(X).shape == before.shape


# ---- weights ----


def test_a_write_into_the_weights_is_refused_and_an_assignment_works():
    X, y = blobs(60, 4, 3)
    model = rb.Perceptron().fit(X, y)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        model.intercept_ += 1.0
    model.coef_ = np.eye(3, 4)
    model.intercept_ = [0.0, 1.0, 2.0]
    assert np.array_equal(model.decision_function(X), X @ np.eye(3, 4).T + [0, 1, 2])
    with pytest.raises(ValueError, match=r"coef_ must have the shape \(3, 4\).*got \(2, 4\)"):
        model.coef_ = np.eye(2, 4)
    with pytest.raises(AttributeError, match="coef_"):
        rb.VotedPerceptron().fit(X, y).coef_ = np.eye(3, 4)


@pytest.mark.parametrize("name", ["Perceptron", "AveragedPerceptron", "ROMMA-aggressive", "AROW", "Winnow-balanced"])
def test_learning_goes_on_from_assigned_weights(name):
    X, y = blobs(60, 4)
    model = clone(STREAMING[name]).partial_fit(X, y)
    coef, intercept = np.array([[1.0, -2.0, 0.5, 3.0]]), np.array([0.25])
    model.coef_, model.intercept_ = coef, intercept
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-12)
    np.testing.assert_allclose(last_weights(model)[0], [*coef[0], 0.25], rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), X @ coef[0] + 0.25, rtol=1e-9)
    model.partial_fit(X, y)
    assert not np.allclose(model.coef_, coef)


def test_sparse_weights():
    X, y = blobs(60, 4, 3)
    model = rb.Perceptron().fit(X, y)
    dense = model.coef_
    assert model.sparsify() is model
    assert model.coef_.format == "csr"
    assert np.array_equal(model.coef_.toarray(), dense)
    assert np.array_equal(model.to_sklearn().coef_, dense)
    model.coef_ = model.coef_
    assert np.array_equal(model.densify().coef_, dense)
    assert rb.Perceptron().fit(X, y).t_ == 1 + 60 * rb.Perceptron().fit(X, y).n_iter_


# ---- warnings ----


@pytest.mark.parametrize("learner", [rb.Perceptron, rb.KernelPerceptron])
def test_the_warning_names_the_line_of_the_user_and_claims_nothing(learner):
    X, y = blobs(100, 2, seed=1)
    y = np.random.default_rng(0).permutation(y)
    for model in (learner(max_iter=2), make_pipeline(StandardScaler(), learner(max_iter=2))):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.fit(X, y)
        (warning,) = (one for one in said if one.category is ConvergenceWarning)
        assert warning.filename == __file__
        assert "still improving" not in str(warning.message)


def test_scikit_learn_agrees_on_sparse_rows_without_a_bias():
    X, y = blobs(80, 6, 3)
    settings = {"shuffle": False, "fit_intercept": False, "tol": None, "max_iter": 5}
    theirs = ScikitPerceptron(**settings).fit(csr(X), y)
    assert np.array_equal(theirs.coef_, rb.Perceptron(multiclass="ovr", **settings).fit(csr(X), y).coef_)


# ---- installation and threads ----


def test_a_plain_installation_can_import_every_name(monkeypatch):
    """Without httpx, which the clients of the service need, the star leaves them out; by name they say what is missing."""
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'httpx' else find(name, *more)\n"
        "from rosenblatt import *\n"
        "Perceptron, certify, load; assert 'Client' not in globals()\n"
        "import rosenblatt\n"
        "try: rosenblatt.Client\n"
        "except ImportError: print('said')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "said\n", done.stderr


def test_step_functions_are_parsed_in_several_threads():
    """Python 3.11 raises SystemError if another thread parses while one is interrupted, here by a finalizer in the collector."""
    code = (
        "import gc, sys, threading\n"
        "from rosenblatt.engine.steps import step_source\n"
        "from rosenblatt.learners.arow import step\n"
        "class Slow:\n"
        "    def __init__(self): self.own = self\n"
        "    def __del__(self): [None for _ in range(50)]\n"
        "gc.set_threshold(20, 2, 2); sys.setswitchinterval(1e-6)\n"
        "errors = []\n"
        "def work():\n"
        "    for _ in range(100):\n"
        "        Slow()\n"
        "        try: step_source(step)\n"
        "        except SystemError as error: errors.append(str(error))\n"
        "threads = [threading.Thread(target=work) for _ in range(6)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print(len(errors), errors[:1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"


def test_step_functions_are_compiled_by_one_thread_at_a_time(monkeypatch):
    inside, most = [], []

    def slow(step):
        inside.append(step)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        return 0

    monkeypatch.setattr("rosenblatt.model.rule.step_address", slow)
    rules = [rb.Perceptron()._rule() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda rule: rule.address(), rules))
    assert max(most) == 1
