"""Progressive evaluation: predict each example, then learn it."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.training.progressive import learn_records
from tests.helpers import LOOPS, STREAMING, assert_same_model, blobs, csr


def pairs(X, y):
    return [(dict(enumerate(row.tolist())), label) for row, label in zip(X, y.tolist(), strict=True)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "form"),
    [*itertools.product(STREAMING, ["dense", "sparse"]), *itertools.product(LOOPS, ["float32"])],
)
def test_batches_of_rows_equal_single_rows(name, classes, form):
    from sklearn.base import clone

    X, y = blobs(classes=classes, dtype=np.float32 if form == "float32" else np.float64)
    rows = csr(X) if form == "sparse" else X
    batched, single = clone(STREAMING[name]), clone(STREAMING[name])
    result = rb.progressive(batched, [(rows[:25], y[:25]), (rows[25:], y[25:])])
    if form == "float32":  # single records are learned in float64
        assert_same_model(batched, single.partial_fit(X, y))
        return
    guesses = [single.learn_one(x, label) for x, label in zip(X, y.tolist(), strict=True)]
    assert_same_model(batched, single)
    assert result.mistakes == sum(guess != label for guess, label in zip(guesses, y.tolist(), strict=True))
    assert result.examples == len(y)
    assert result.accuracy == 1 - result.mistakes / len(y)


def test_records_are_learned_by_learn_one():
    X, y = blobs()
    model, same = rb.AveragedPerceptron(), rb.AveragedPerceptron()
    result = rb.progressive(model, pairs(X, y))
    guesses = [same.learn_one(x, label) for x, label in pairs(X, y)]
    assert_same_model(model, same)
    expected = np.zeros((2, 2), int)
    for guess, label in zip(guesses, y.tolist(), strict=True):
        if guess is not None:
            expected[result.labels.index(label), result.labels.index(guess)] += 1
    assert result.confusion.tolist() == expected.tolist()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "name", ["Perceptron", "Winnow-balanced", "AROW", "ROMMA"]
)  # one for each way to store the weights
def test_batches_of_records_equal_single_records(name, classes):
    from sklearn.base import clone

    X, y = blobs(classes=classes)
    many, single = clone(STREAMING[name]), clone(STREAMING[name])
    records = [({str(k): v for k, v in x.items() if v > -0.5 or k % 3}, label) for x, label in pairs(X, y)] + [({}, 0)]
    warm = [({str(k): 0.5 for k in range(X.shape[1])}, label) for label in range(classes)]
    for x, label in warm:
        many.learn_one(x, label)
        single.learn_one(x, label)
    guesses = learn_records(many.model_, *map(list, zip(*records, strict=True)), 1e9)
    assert guesses == [single.learn_one(x, label) for x, label in records]
    assert_same_model(many, single)


def test_records_with_unusual_values_are_not_batched():
    model = rb.Perceptron()
    for label in ("a", "b"):
        model.learn_one({label: 1.0, "c": 2.0}, label)
    before = model.coef_.tolist()
    fine = {"a": 1.0}
    for x, label in (
        ({"new": 1.0}, "a"), ({"a": "1.0"}, "a"), ({"a": None}, "a"), ({"a": 10**400}, "a"), (fine, "c"),
        ({"a": 1e5}, "a"), ({"a": -1e5}, "a"), ({"a": float("nan")}, "a"),
    ):  # fmt: skip
        assert learn_records(model.model_, [fine, x], ["b", label], 1e4) is None
    assert model.coef_.tolist() == before
    assert learn_records(rb.AveragedPerceptron().partial_fit([[1.0]], [0]).model_, [{}], [0], 1e4) is None


def test_a_bad_record_in_a_batch_does_not_affect_the_others():
    """An infinite score is found during learning, in the middle of a batch."""
    many, single = rb.Perceptron(), rb.Perceptron()
    for model in (many, single):
        model.learn_one({"x": 1.0}, "a")
        model.learn_one({"x": -1.0}, "b")
    big = 1e200
    records = [({"x": 2.0}, "a"), ({"x": big}, "b"), ({"x": 2.0}, "b"), ({"x": 0.5}, "a")]
    guesses = learn_records(many.model_, *map(list, zip(*records, strict=True)), 1e201)
    expected = []
    for x, label in records:
        try:
            expected.append(single.learn_one(x, label))
        except ValueError as error:
            expected.append(str(error))
    assert [str(guess) for guess in guesses] == expected
    assert [isinstance(guess, ValueError) for guess in guesses] == [False, True, False, False]
    assert_same_model(many, single)


@pytest.mark.parametrize("delay", [1, 7, 1000])
def test_delayed_labels(delay):
    """The reference: predict now, learn the example of `delay` steps ago."""
    X, y = blobs()
    model, same, wrong = rb.PassiveAggressive(), rb.PassiveAggressive(), 0
    for form in (pairs(X, y), [(X, y)]):
        model, same, wrong = rb.PassiveAggressive(), rb.PassiveAggressive(), 0
        result = rb.progressive(model, form, delay=delay)
        examples = (
            pairs(X, y) if form is not None and isinstance(form[0][0], dict) else list(zip(X, y.tolist(), strict=True))
        )
        for t, (x, label) in enumerate(examples):
            wrong += same.predict_one(x) != label
            if t >= delay:
                same.learn_one(*examples[t - delay])
        for late in examples[max(0, len(examples) - delay) :]:
            same.learn_one(*late)
        assert result.mistakes == wrong
        assert_same_model(model, same)


def test_the_curve_of_mistakes():
    X, y = blobs(n=60)
    result = rb.progressive(rb.Perceptron(), pairs(X, y))
    assert [count for count, _ in result.curve] == [1, 2, 4, 8, 16, 32, 60]
    assert result.curve[-1] == (60, result.mistakes)
    assert str(result).splitlines()[-1].split()[:2] == ["60", str(result.mistakes)]


def test_columns_and_classes_may_grow():
    first = sp.csr_array(np.eye(2))
    later = sp.csr_array(np.eye(5))
    model = rb.Perceptron()
    result = rb.progressive(model, [(first, ["a", "b"]), (later, ["a", "b", "c", "d", "c"])] * 5)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 5
    assert model.predict(np.eye(5)).tolist() == ["a", "b", "c", "d", "c"]
    assert result.examples == 35


def test_progressive_evaluation_of_files(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,label\n" + "1,0,x\n0,1,y\n" * 50)
    result = rb.progressive(rb.Perceptron(), rb.stream(path))
    assert result.examples == 100
    assert result.mistakes <= 4


class Majority:
    """A model from another library."""

    def __init__(self):
        self.counts = {}

    def predict_one(self, x):
        return max(self.counts, key=self.counts.get, default=None)

    def learn_one(self, x, y):
        guess = self.predict_one(x)
        self.counts[y] = self.counts.get(y, 0) + 1
        return guess


def test_models_of_other_libraries():
    assert rb.progressive(Majority(), [({}, "a")] * 9 + [({}, "b")]).mistakes == 2
    assert rb.progressive(Majority(), [(np.zeros((3, 2)), ["a", "a", "b"])]).mistakes == 2
    assert rb.progressive(rb.KernelPerceptron(), [(np.eye(2), ["a", "b"])] * 3).mistakes < 6


def test_bad_values_and_delays_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        rb.progressive(rb.Perceptron(), [(np.array([[0.0, 1.0], [np.nan, 1.0]]), [0, 1])])
    for delay in (-1, 1.5, True):
        with pytest.raises(ValueError, match="`delay` of progressive must be"):
            rb.progressive(rb.Perceptron(), [], delay=delay)
    empty = rb.progressive(rb.Perceptron(), [])
    assert empty.examples == 0
    assert np.isnan(empty.accuracy)
