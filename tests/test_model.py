"""The core model without scikit-learn: new classes and features, and roll-back."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from rosenblatt.learners.perceptron import step
from rosenblatt.learners.winnow import step as winnow_step
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.rule import Rule
from tests.helpers import blobs, csr, differences, model_memory

READOUTS = pytest.mark.parametrize("readout", ["last", "average", "vote"])


def perceptron(readout="last", **kwargs):
    return Model(Rule(step, (12.3,), target=0.0), readout=readout, **kwargs)


def learn(model, table, labels):
    classes, places = np.unique(labels, return_inverse=True)
    model.learn(table, classes.tolist(), places)


def test_the_core_model_does_not_import_scikit_learn():
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from rosenblatt.model.linear import Model, Rule\n"
        "from rosenblatt.model.matrix import Table\n"
        "import rosenblatt\n"
        "assert 'sklearn' not in sys.modules, 'scikit-learn was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_importing_the_package_imports_no_heavy_libraries():
    program = (
        "import sys, rosenblatt\n"
        "heavy = {'sklearn', 'numba', 'scipy', 'numpy', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'Perceptron' in dir(rosenblatt)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@READOUTS
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_learns_independently(readout, copied):
    X, y = blobs(60, 5, 3)
    model = perceptron(readout, n_features=5)
    learn(model, Table(X[:30]), y[:30])
    twin = copied(model)
    assert differences(model_memory(model), model_memory(twin)) == []
    before = model_memory(model)
    learn(twin, Table(X[30:]), y[30:])
    assert differences(model_memory(model), before) == [], "the original must not change"
    learn(model, Table(X[30:]), y[30:])
    assert differences(model_memory(model), model_memory(twin)) == []
    assert np.array_equal(model.scores(Table(X)), twin.scores(Table(X)))


@READOUTS
def test_all_readouts_have_the_same_run(readout):
    X, y = blobs(60, 5, seed=1)
    model = perceptron(readout, n_features=5)
    learn(model, Table(X), y)
    assert np.array_equal(model.state.w, _plain(X, y).state.w)
    assert model.scores(Table(X)).shape == (60, 1)


def _plain(X, y):
    model = perceptron(n_features=X.shape[1])
    learn(model, Table(X), y)
    return model


# ---- roll-back ----

BAD = {"NaN": np.nan, "infinity": np.inf, "minus infinity": -np.inf, "overflow": 1e308}


@READOUTS
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("form", ["dense", "sparse", "wide", "strided"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_bad_chunk_leaves_the_model_as_it_was(readout, bad, form, classes):
    X, y = blobs(40, 6, classes, seed=2)
    if form == "wide":  # fewer entries than features: only changed weights are saved
        X = np.hstack([X, np.zeros((40, 400))])
    model = perceptron(readout, n_features=X.shape[1])
    learn(model, Table(X[:20]), y[:20])
    before = model_memory(model)
    wrong = X[20:].copy()
    wrong[15, 2:5] = BAD[bad]
    wrong[15, 3] = -BAD[bad] if bad == "overflow" else 0.0
    given = {"dense": wrong, "sparse": csr(wrong), "wide": csr(wrong[14:17]), "strided": np.asfortranarray(wrong)}[form]
    labels = y[34:37] if form == "wide" else y[20:]
    with pytest.raises(ValueError, match=r"[Rr]ow \d+"):
        learn(model, Table(given), labels)
    assert differences(model_memory(model), before) == []
    learn(model, Table(X[20:]), y[20:])
    good = perceptron(readout, n_features=X.shape[1])
    learn(good, Table(X), y)
    assert differences(model_memory(model), model_memory(good)) == [], "it can still learn"
    assert np.array_equal(model.scores(Table(X)), good.scores(Table(X)))


@READOUTS
@pytest.mark.parametrize("known", [1, 2, 3])
def test_new_classes_of_a_bad_chunk_are_rolled_back(readout, known):
    X, y = blobs(40, 6, known, seed=3)
    model = perceptron(readout, n_features=6)
    learn(model, Table(X[:20]), y[:20])
    before = model_memory(model)
    wrong = X[20:].copy()
    wrong[18, 0] = np.nan
    with pytest.raises(ValueError, match="row 18, feature 0 is NaN"):
        learn(model, Table(wrong), [0] * 5 + [7] * 5 + [8] * 5 + [0] * 5)
    assert differences(model_memory(model), before) == []
    learn(model, Table(X[20:]), y[20:])
    good = perceptron(readout, n_features=6)
    learn(good, Table(X), y)
    assert differences(model_memory(model), model_memory(good)) == []


@pytest.mark.parametrize("link", ["exp", "balanced"])
@pytest.mark.parametrize("form", [lambda X: X, csr])
def test_scaling_is_rolled_back_for_all_weights(link, form):
    """When weights exceed 1e200, all weights are scaled, even those that the chunk does not change."""
    rule = Rule(winnow_step, (2000.0,), target=0.0, link=link, fit_intercept=False)
    rng = np.random.default_rng(0)
    X = np.zeros((63, 400))
    X[:2, 100:] = rng.normal(size=(2, 300))
    X[2:, :5] = rng.normal(size=(61, 5))
    y = rng.integers(0, 2, 63)
    model, good = Model(rule, n_features=400), Model(rule, n_features=400)
    learn(model, Table(X[:2]), [1, 0])
    before = model_memory(model)
    learn(good, Table(X[:-1]), y[:-1])
    assert np.abs(good.state.v).max() > 710, "this test must reach the scaling"
    X[-1, 0] = np.nan
    for rows in (slice(2, None), slice(30, None)):
        with pytest.raises(ValueError, match="NaN"):
            learn(model, Table(form(X[rows])), y[rows])
        assert differences(model_memory(model), before) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@READOUTS
def test_an_interrupt_during_a_chunk_is_rolled_back(readout, error, monkeypatch):
    X, y = blobs(300, 6, 3, seed=3)
    model = perceptron(readout, n_features=6)
    learn(model, Table(X[:100]), y[:100])
    before = model_memory(model)
    whole = Table.chunks

    def interrupted(self, order):
        for number, part in enumerate(whole(self, order)):
            if number == 2:
                raise error
            yield part

    monkeypatch.setattr("rosenblatt.model.matrix.CHUNK_BYTES", 1)
    monkeypatch.setattr(Table, "chunks", interrupted)
    with pytest.raises(error):
        learn(model, Table(X[100:]), y[100:])
    monkeypatch.undo()
    assert differences(model_memory(model), before) == []


# ---- one example ----


@READOUTS
@pytest.mark.parametrize("known", [0, 1, 2, 3])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, "text", None, [1.0]])
def test_a_bad_example_leaves_the_model_as_it_was(readout, known, value):
    model = perceptron(readout)
    for k in range(known):
        for sign in (1.0, -2.0):
            model.learn_one({"a": sign, f"f{k}": 1.0}, f"class {k}")
    before = model_memory(model)
    with pytest.raises(ValueError, match=r"(finite|large|numbers)"):
        model.learn_one({"a": value, "new": value}, "class 0")
    assert differences(model_memory(model), before) == []
    with pytest.raises(ValueError, match=r"(finite|large|numbers)"):
        model.learn_one({"a": value, "new": value}, "a class never seen")
    assert differences(model_memory(model), before) == []
    model.learn_one({"a": 1.0}, "class 0")


@READOUTS
@pytest.mark.parametrize("label", [["list"], {}, None, np.nan])
def test_an_invalid_label_is_refused(readout, label):
    model = perceptron(readout)
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": -1.0}, "no")
    before = model_memory(model)
    with pytest.raises((TypeError, ValueError)):
        model.learn_one({"b": 1.0}, label)
    assert differences(model_memory(model), before) == []


@READOUTS
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_an_invalid_weight_is_refused(readout, weight):
    model = perceptron(readout)
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": -1.0}, "no")
    before = model_memory(model)
    for x, label in (({"a": 1.0}, "yes"), ({"a": -1.0, "b": 2.0}, "yes"), ({"c": 1.0}, "new")):
        with pytest.raises(ValueError, match=r"weight.*at least 0"):
            model.learn_one(x, label, weight)
        assert differences(model_memory(model), before) == []


def test_an_example_of_weight_0_changes_nothing():
    model = perceptron("average")
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": -1.0}, "no")
    before = model_memory(model)
    model.learn_one({"a": -5.0}, "yes", 0.0)
    assert differences(model_memory(model), before) == []


@pytest.mark.parametrize("shape", [(3,), (5,), (1, 4), ()])
def test_one_example_of_the_wrong_shape_is_refused(shape):
    model = perceptron(n_features=4)
    model.learn_one(np.ones(4), 0)
    with pytest.raises(ValueError, match=r"1-D array of 4 features.*shape.*partial_fit"):
        model.learn_one(np.ones(shape), 0)


def test_bad_values_are_refused_in_prediction():
    model = perceptron()
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": -1.0}, "no")
    with pytest.raises(ValueError, match="finite"):
        model.predict_one({"a": np.nan})
    assert model.predict_one({"a": 1.0}) == "yes"


def test_starting_weights():
    model = perceptron(n_features=3)
    model.add_class("a", "b")
    model.start_from(np.array([[1.0, 2.0, 3.0]]), np.array([4.0]))
    assert model.scores(Table(np.eye(3))).ravel().tolist() == [5, 6, 7]
    assert model.coef()[0].tolist() == [[1, 2, 3]]


def test_padding_has_no_effect():
    """Classes are padded to a multiple of four; the padding has no effect."""
    for classes in (3, 5, 6, 7):
        X, y = blobs(60, 4, classes)
        model = perceptron(n_features=4)
        learn(model, Table(-np.abs(X) - 1), y)
        assert model.coef()[0].shape == (classes, 4)
        assert model.scores(Table(X)).shape == (60, classes)
        assert not model.state.w[:, classes:].any()
