"""Export to scikit-learn models and ONNX graphs that give the same predictions."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.base import clone

import rosenblatt as rb
from tests.cli.helpers import call
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


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
def test_a_model_of_scikit_learn_goes_on_with_the_penalty(penalty):
    X, y = blobs(n=60)
    model = rb.Perceptron(eta0=0.5, penalty=penalty, alpha=0.05, l1_ratio=0.3).partial_fit(X[:30], y[:30])
    twin = model.to_sklearn()
    for x, label in zip(X[30:], y[30:], strict=True):
        model.partial_fit(x[None], [label])
        twin.partial_fit(x[None], [label])
    if penalty in ("l2", None):  # with l1 scikit-learn forgets between calls what the weights should have paid
        assert np.allclose(twin.coef_, model.coef_)
    assert (twin.penalty, twin.eta0, twin.l1_ratio) == (penalty, 0.5, 0.3 if penalty else 0.15)
    if penalty is not None:
        with pytest.raises(ValueError, match="without a penalty; Perceptron has one"):
            model.to_c(learn=True)


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


# ---- with the encoder of a table ----

WORDS = ["broken", "late", "thanks", "great", "größe", "x_1"]


def _customers(n, words, seed=0):
    rng = np.random.default_rng(seed)
    plan = rng.choice(["basic", "plus", "pro", ""], n)
    frame = pd.DataFrame(
        {"age": rng.normal(40, 10, n).round(2), "spent": rng.exponential(500, n).round(1), "plan": plan}
    )
    frame.loc[frame.index % 7 == 0, "age"] = np.nan
    frame["same"] = 3.0
    if words:
        frame["note"] = [" ".join(rng.choice(WORDS, rng.integers(0, 6))) + "!" for _ in range(n)]
        frame["more"] = [", ".join(rng.choice(WORDS, 3)).upper() for _ in range(n)]
    score = (frame["age"].fillna(40) - 40) / 10 + (plan == "pro") - (plan == "basic") + rng.normal(0, 0.5, n)
    frame["label"] = score if words == "price" else np.select([score > 0.7, score < -0.7], ["good", "bad"], "fair")
    return frame


def _trained(folder, frame, *options):
    frame.to_csv(folder / "a.csv", index=False)
    call("train", folder / "a.csv", "-m", folder / "a.model", "--epochs", 2, *options)
    return rb.load(folder / "a.model")


TABLES = {
    "three classes": (False, []), "two classes": (False, ["two"]), "not scaled": (False, ["--no-standardize"]),
    "words": (True, []), "counted words": (True, ["--words", "counts"]), "regression": (False, ["--regression"]),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_exports_of_a_table_take_its_columns(table, tmp_path):
    words, options = TABLES[table]
    frame = _customers(300, words)
    types = ["--types", "same=number"]
    if options == ["two"]:
        frame, options = frame[frame["label"] != "fair"], []
    if "--regression" in options:
        frame["label"] = np.nan_to_num(frame["age"]) * 1000.5
    model = _trained(tmp_path, frame, *options, *types)
    new = _customers(80, words, seed=1).drop(columns="label")
    new.loc[3, "plan"], new.loc[5, "spent"] = "never seen", np.nan
    twin = model.to_sklearn()
    expected = model.predict(new)
    scores = expected if "--regression" in options else model.decision_function(new)
    got = twin.predict(new) if "--regression" in options else twin.decision_function(new)
    np.testing.assert_allclose(got, scores, rtol=1e-10, atol=1e-10)
    if "--regression" not in options:
        assert twin.predict(new).tolist() == expected.tolist()
    if words:
        with pytest.raises(
            ValueError, match=r"`to_onnx` cannot express words \(note, more\)\. Use to_onnx\(encoder=False\)"
        ):
            model.to_onnx()
        assert model.to_onnx(encoder=False).graph.input[0].name == "X"
        return
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {name: new[[name]].to_numpy(object if name == "plan" else float) for name in new.columns}
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, inputs), strict=True))
    if "--regression" in options:
        np.testing.assert_allclose(found["prediction"][:, 0], expected, rtol=1e-10)
        return
    assert found["label"].tolist() == expected.tolist()
    np.testing.assert_allclose(found["scores"].reshape(scores.shape), scores, rtol=1e-10, atol=1e-10)
    encoded = onnxruntime.InferenceSession(
        model.to_onnx(encoder=False).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = model._table(new, model.model_)
    X = rows.as_scipy().toarray() if rows.sparse else rows.rows
    assert encoded.run(["label"], {"X": X})[0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "what"), [(["--bits", 8], "hashed features"), (["--interactions", "plan*age"], "products of columns")]
)
def test_what_an_export_cannot_express_is_refused(options, what, tmp_path):
    model = _trained(tmp_path, _customers(100, False), *options)
    for method in ("to_onnx", "to_sklearn"):
        with pytest.raises(ValueError, match=f"`{method}` cannot express {what}"):
            getattr(model, method)()
        assert getattr(model, method)(encoder=False) is not None


@pytest.mark.parametrize("learner", [rb.AROWRegressor, rb.PassiveAggressiveRegressor])
def test_regressions_are_exported(learner):
    X, _ = blobs(n=100)
    model = learner(max_iter=2, tol=None).fit(X, X @ np.arange(X.shape[1]))
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X), rtol=1e-12, atol=1e-12)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["prediction"], {"X": X})[0][:, 0], model.predict(X), rtol=1e-12, atol=1e-12)
