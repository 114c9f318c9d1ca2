"""Export to scikit-learn models and ONNX graphs that give the same predictions."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.base import clone

import rosenblatt as rb
from tests.helpers import LEARNERS, blobs
from tests.test_model_file import fit

LINEAR = [name for name in LEARNERS if name != "VotedPerceptron"]
LABELS = {"text": np.array(["a", "b", "ü"]), "whole": np.array([-1, 7, 2**40]), "boolean": np.array([False, True])}


def graph_answers(model, X):
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": X})


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LINEAR)
def test_exported_models_give_the_same_predictions(name, classes):
    X, y = blobs(n=200, classes=classes)
    model = fit(LEARNERS[name], X[:100], y[:100])
    twin = model.to_sklearn()
    assert np.array_equal(twin.predict(X), model.predict(X))
    assert np.allclose(twin.decision_function(X), model.decision_function(X))
    label, scores = graph_answers(model, X)
    assert np.array_equal(label, model.predict(X))
    assert np.allclose(scores.reshape(model.decision_function(X).shape), model.decision_function(X))


@pytest.mark.parametrize("labels", LABELS)
def test_exported_models_keep_the_type_of_the_labels(labels):
    names = LABELS[labels]
    X, y = blobs(n=90, classes=len(names))
    model = rb.AveragedPerceptron(max_iter=5, tol=None).fit(X, names[y])
    assert np.array_equal(model.to_sklearn().predict(X), model.predict(X))
    label, _ = graph_answers(model, X)
    assert label.tolist() == model.predict(X).tolist()


def test_a_score_of_zero_is_the_second_class_everywhere():
    """A text without known words has no features: without a bias its score is exactly 0."""
    model = rb.Perceptron(fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], ["ham", "spam"])
    empty = np.zeros((1, 2))
    assert model.predict(empty).tolist() == ["spam"]
    assert model.to_sklearn().predict(empty).tolist() == ["spam"]
    assert graph_answers(model, empty)[0].tolist() == ["spam"]


def test_a_float32_model_gives_a_float32_graph():
    X, y = blobs(dtype=np.float32)
    model = fit(LEARNERS["Perceptron"], X, y)
    label, scores = graph_answers(model, X)
    assert scores.dtype == np.float32
    assert np.array_equal(label, model.predict(X))


def test_an_exported_scikit_learn_model_can_learn_and_keeps_feature_names():
    X, y = blobs()
    frame = pd.DataFrame(X, columns=list("abcde"))
    twin = rb.Perceptron(max_iter=3, tol=None).fit(frame, y).to_sklearn()
    assert twin.feature_names_in_.tolist() == list("abcde")
    before = twin.coef_.copy()
    clone(twin)
    twin.partial_fit(frame, y)
    assert not np.array_equal(before, twin.coef_)


@pytest.mark.parametrize(
    "model",
    [kind(max_iter=2, tol=None) for kind in (rb.VotedPerceptron, rb.KernelPerceptron, rb.ParallelPerceptron)],
)
@pytest.mark.parametrize("method", ["to_sklearn", "to_onnx"])
def test_models_without_weights_refuse_export(model, method):
    X, y = blobs()
    with pytest.raises(ValueError, match=f"`{method}` needs a model with one weight vector for each class"):
        getattr(clone(model).fit(X, y), method)()


def test_an_unfitted_model_refuses_export():
    with pytest.raises(AttributeError, match="before it is fitted"):
        rb.Perceptron().to_onnx()
