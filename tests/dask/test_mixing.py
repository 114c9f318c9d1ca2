"""The computations of workers and their mixing, without a cluster: the same functions that the tasks call."""

import itertools
import pickle
import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import rosenblatt as rb
import rosenblatt.dask as rd
from rosenblatt import learners
from rosenblatt.dask import _epochs, _estimators, _mixing
from rosenblatt.dask._agreement import can_be_mixed
from rosenblatt.dask._epochs import Order, Recipe, learn_shards
from rosenblatt.dask._loading import load_table
from rosenblatt.dask._mixing import coordinates_of
from rosenblatt.dask._partials import Packed, add_partials, changes, dense, pack, unpack_into
from rosenblatt.dask._shards import Shard, facts_of, settle
from rosenblatt.experiments import separable_examples
from rosenblatt.theory import bounds, weighted_mistakes
from rosenblatt.training.history import Epoch, History
from rosenblatt.training.schedule import Schedule, StopRule
from tests.helpers import blobs, csr, examples

NONE = np.zeros(0)


def test_every_learner_that_can_be_mixed_has_a_dask_estimator(monkeypatch):
    monkeypatch.delattr(_estimators, "AROW")  # now AROW is like a new learner that has no class there
    monkeypatch.delitem(vars(rd), "AROW", raising=False)
    made = []
    for name in learners.classes():
        if can_be_mixed(getattr(rb, name)):
            made.append(getattr(rd, name))
        else:
            with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
                getattr(rd, name)
    assert len(made) >= 11
    for learner in made:
        local = getattr(rb, learner.__name__)
        assert issubclass(learner, local)
        assert set(learner().get_params()) == {*local().get_params(), "mixing", "shards"}
        copied = pickle.loads(pickle.dumps(learner(shards=3)))
        assert copied.get_params() == learner(shards=3).get_params()


def shards_of(X, codes, cuts):
    return [Shard(X[a:b], codes[a:b], NONE, X.shape[1], a, f"rows {a}") for a, b in itertools.pairwise(cuts)]


def recipe_of(estimator, features, classes):
    model = estimator._new_model(features, "float64")
    model.add_class(*classes)
    return Recipe.of(model)


def run(estimator, shards, classes, epochs, mixing="mistakes", group=1):
    """Run the epochs of a cluster in this process."""
    recipe = recipe_of(estimator, shards[0].width, classes)
    model = recipe.model()
    coordinates = coordinates_of(model, len(shards) == 1)
    identity = uuid.uuid4().hex
    notes = []
    for epoch in range(epochs):
        start = [part.copy() for part in coordinates.start()]
        order = Order(recipe, identity, epoch, Schedule(1, shuffle=False), mixing, len(shards) == 1)
        groups = [range(first, min(first + group, len(shards))) for first in range(0, len(shards), group)]
        _epochs._kept.clear()
        partials = [learn_shards([shards[n] for n in numbers], numbers, start, [], order) for numbers in groups]
        whole = partials[0] if len(shards) == 1 else add_partials(partials)
        coordinates.mix(whole)
        total = sum(note.share for note in whole.notes)
        notes.append([(note.mistakes, note.share / total if total else 0.0) for note in whole.notes])
    return model, notes


def natural(model):
    """The parameters of which the theory takes the mean, with the bias last."""
    w, bias = model.last()
    if model.rule.link != "identity":
        return [np.append(model.state.v, model.state.v_bias)]
    if model.rule.covariance == "full" and model.rule.second_order:
        precision = np.linalg.inv(model.memory.sigma[0])
        return [precision, precision @ np.append(bias, w)]
    if model.rule.second_order:
        precision = np.append(1 / model.memory.sigma, 1 / model.memory.bias)
        return [precision, precision * np.append(w, bias)]
    return [np.append(w, bias)]


@pytest.mark.parametrize(
    "estimator",
    [
        rb.Perceptron(),
        rb.PassiveAggressive(C=0.3),
        rb.Winnow(balanced=True, eta=0.1),
        rb.ALMA(),
        rb.ROMMA(),
        rb.AROW(),
        rb.AROW(covariance="full"),
        rb.SoftConfidenceWeighted(),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{getattr(estimator, 'covariance', '')}",
)
@pytest.mark.parametrize("mixing", ["mistakes", "uniform", "examples"])
def test_the_mixture_is_the_mean_of_the_runs(estimator, mixing):
    X, y = blobs(60, 4, seed=3)
    cuts = [0, 10, 30, 60]
    mixed, notes = run(estimator, shards_of(X, y, cuts), (0, 1), 1, mixing)
    alone = [run(estimator, [shard], (0, 1), 1)[0] for shard in shards_of(X, y, cuts)]
    shares = [share for _, share in notes[0]]
    if mixing != "mistakes":
        assert shares == pytest.approx([1 / 3] * 3 if mixing == "uniform" else [1 / 6, 1 / 3, 1 / 2])
    for number, mean in enumerate(natural(mixed)):
        expected = sum(share * natural(model)[number] for share, model in zip(shares, alone, strict=True))
        assert mean == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert mixed.state.counters.mistakes == sum(model.state.counters.mistakes for model in alone)


@pytest.mark.parametrize(
    "estimator", [rb.AveragedPerceptron(), rb.ROMMA(readout="average"), rb.AROW(readout="average")]
)
def test_the_average_counts_every_weight_vector_once(estimator):
    X, y = blobs(30, 3, seed=5)
    cuts = [0, 10, 30]
    model, _ = run(estimator, shards_of(X, y, cuts), (0, 1), 2, "uniform")
    total, common = np.zeros(4), None
    for _ in range(2):
        ends = []
        for a, b in itertools.pairwise(cuts):
            last = clone(estimator).set_params(readout="last") if hasattr(estimator, "readout") else rb.Perceptron()
            one = recipe_of(last, 3, (0, 1)).model()
            if common is not None:
                coordinates_of(one).install(common)
            for t in range(a, b):
                one.learn_one(X[t], int(y[t]))
                w, bias = one.last()
                total += np.append(w, bias)
            ends.append(one)
        mixed = ends[0]
        partial = [coordinates_of(end).coordinates() for end in ends]
        base = coordinates_of(mixed)
        base.move([0.5 * (second - first) for first, second in zip(*partial, strict=True)])
        common = [part.copy() for part in base.start()]
    w, bias = model.weights()
    assert np.append(w, bias) == pytest.approx(total / 60, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("estimator", [rb.AveragedPerceptron(), rb.PassiveAggressive(), rb.Winnow(balanced=True)])
@pytest.mark.parametrize("group", [2, 5])
def test_the_sum_does_not_depend_on_the_grouping_of_shards(estimator, group):
    X, y = blobs(100, 7, classes=3, seed=1)
    shards = shards_of(X, y, list(range(0, 101, 10)))
    ours, _ = run(estimator, shards, (0, 1, 2), 2, group=1)
    # Groups are nodes of the tree: their sums start from 0, like those of single shards within a node.
    recipe = recipe_of(estimator, 7, (0, 1, 2))
    start = [part.copy() for part in coordinates_of(recipe.model()).start()]
    order = Order(recipe, "one task", 0, Schedule(1, shuffle=False), "mistakes", False)
    _epochs._kept.clear()
    together = learn_shards(shards[:group], range(group), start, [], order)
    single = add_partials([learn_shards([shards[n]], [n], start, [], order) for n in range(group)])
    for a, b in zip(together.totals + together.averages, single.totals + single.averages, strict=True):
        assert dense(a).tobytes() == dense(b).tobytes()
    again, _ = run(estimator, shards, (0, 1, 2), 2, group=1)
    assert again.state.v.tobytes() == ours.state.v.tobytes()


def test_winnow_is_mixed_in_logarithms_without_overflow():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    shards = [Shard(X, np.array([1, 0]), NONE, 2, 0, "a"), Shard(X, np.array([1, 0]), NONE, 2, 2, "b")]
    estimator = rb.Winnow(balanced=True, eta=300.0, fit_intercept=False)
    model, notes = run(estimator, shards, (0, 1), 3, "uniform")
    assert np.isfinite(model.state.w).all()
    assert notes[-1] == [(0, 0.5), (0, 0.5)]


def test_only_changed_weights_are_sent():
    X = np.zeros((4, 1000))
    X[:, :2] = [[1, 0], [0, 1], [1, 0], [0, 1]]
    shards = shards_of(X, np.array([0, 1, 0, 1]), [0, 2, 4])
    recipe = recipe_of(rb.Perceptron(), 1000, (0, 1))
    start = [part.copy() for part in coordinates_of(recipe.model()).start()]
    order = Order(recipe, "few", 0, Schedule(1, shuffle=False), "mistakes", False)
    _epochs._kept.clear()
    partial = learn_shards(shards, [0, 1], start, [], order)
    assert isinstance(partial.totals[0], Packed)
    assert partial.totals[0].indices.tolist() == [0, 1]
    assert partial.__sizeof__() < 2000


@given(st.lists(st.sampled_from([0.0, 1.0, -2.5]), min_size=1, max_size=40), st.data())
def test_packing_is_lossless(before, data):
    now = [value if data.draw(st.booleans()) else value + 1.0 for value in before]
    old, new = np.array(before), np.array(now)
    (part,) = changes([new], [old])
    copy = old.copy()
    unpack_into(copy, part)
    assert copy.tobytes() == new.tobytes()
    total = np.where(new == old, 0.0, new)
    assert dense(pack(total, total != 0.0)).tobytes() == total.tobytes()


@examples(40)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["mistakes", "uniform", "examples"]),
    st.integers(1, 6),
    st.sampled_from([0.02, 0.1, 0.3]),
)
def test_the_theorem_holds(seed, mixing, count, margin):
    """McDonald, Hall and Mann (2010): Σ μk ≤ (R/γ)² on separable data, until an epoch without mistakes."""
    X, y, _ = separable_examples(margin, examples=60, features=4, random_state=seed)
    cuts = np.unique(np.random.default_rng(seed).integers(0, 61, count - 1)).tolist()
    shards = shards_of(X, (y == 1).astype(np.int64), sorted({0, 60, *cuts}))
    _, notes = run(rb.Perceptron(fit_intercept=False), shards, (0, 1), 40, mixing)
    mistakes, shares = [[k for k, _ in row] for row in notes], [[share for _, share in row] for row in notes]
    counted = weighted_mistakes(mistakes, shares, 1.0, margin)
    assert counted.total > 0
    assert counted.holds
    assert counted.bound == bounds.parameter_mixing(1.0, margin)
    assert counted.mistakes == sum(map(sum, mistakes))
    assert "the theorem allows" in str(counted)


def test_shares_must_add_up_to_1():
    assert weighted_mistakes([[1, 3]], [[0.5, 0.5]]).holds is None
    with pytest.raises(ValueError, match="add up to 1"):
        weighted_mistakes([[1, 3]], [[0.5, 0.25]])


@pytest.mark.parametrize(
    "estimator", [rb.ROMMA(readout="average"), rb.ALMA(readout="average"), rb.AveragedPerceptron()]
)
def test_a_shard_without_updates_does_not_affect_the_next_in_its_task(estimator):
    """The sums of an average start again for each shard, even if the weights do not."""
    X = np.array([[3.0, 0.0], [-3.0, 0.0]] * 6 + [[0.0, 1.0], [0.0, -1.0]])
    y = np.array([1, 0] * 7)
    easy, hard = Shard(X[:12], y[:12], NONE, 2, 0, "easy"), Shard(X[12:], y[12:], NONE, 2, 12, "hard")
    learned, _ = run(estimator, [easy], (0, 1), 5)
    recipe = Recipe.of(learned)
    start = [part.copy() for part in coordinates_of(learned).start()]
    order = Order(recipe, uuid.uuid4().hex, 0, Schedule(1, shuffle=False), "uniform", False)
    _epochs._kept.clear()
    together = learn_shards([easy, hard], [0, 1], start, [], order)
    single = add_partials([learn_shards([shard], [n], start, [], order) for n, shard in enumerate((easy, hard))])
    assert [note.updates > 0 for note in together.notes] == [False, True]
    for a, b in zip(together.totals + together.averages, single.totals + single.averages, strict=True):
        assert dense(a).tobytes() == dense(b).tobytes()


def test_inverses_do_not_depend_on_the_number_of_threads():
    from threadpoolctl import threadpool_limits

    half = np.random.default_rng(0).standard_normal((1, 300, 300))
    matrices = half @ half.transpose(0, 2, 1) + np.eye(300)
    made = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            made.append(_mixing._inverse(matrices).tobytes())
    assert made[0] == made[1]


def reason(patience, done):
    """The reason why training would end after these epochs."""
    history = History(done)
    return StopRule(Schedule(99, n_iter_no_change=patience), history).reason(history)


def test_patience_compares_only_comparable_values():
    """The loss, the accuracy on held-out examples from some epoch on, and the accuracy of an average that still improves."""
    losses = [Epoch(10, 1, 1, loss=loss, weight=10.0) for loss in (9.0, 5.0, 5.0, 5.0)]
    assert reason(2, losses) == "no improvement"
    assert reason(3, losses) == ""
    held = [Epoch(10, 1, 1, loss=5.0, held_out=10, held_out_mistakes=3) for _ in range(2)]
    assert reason(2, [*losses, *held]) == ""
    assert reason(2, [*held, *losses]) == "no improvement"
    assert reason(2, [*held, *losses[:2]]) == ""
    losses[3].readout_accuracy = 0.5
    assert reason(2, losses) == ""
    later = [Epoch(10, 1, 1, loss=5.0, weight=10.0), Epoch(10, 1, 1, loss=5.0, weight=10.0, readout_accuracy=0.5)]
    assert reason(2, [*losses, *later]) == "no improvement"
    later[1].readout_accuracy = 0.6
    assert reason(2, [*losses, *later]) == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X[:-1], y[:-1]),
        lambda X, y: (np.hstack([X, X[:, :1]]), y),
        lambda X, y: (X, 1 - y),
        lambda X, y: (X[::-1], y[::-1]),
        lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 7, 0.5, X), y),
        lambda X, y: (csr(X), y),
    ],
    ids=["examples", "features", "labels", "order", "numbers", "kind"],
)
def test_a_shard_that_is_loaded_again_must_not_have_changed(change):
    X, y = blobs(30, 4, classes=2, seed=0)
    loaded = load_table((X, y), "partition 7")
    agreed = (facts_of(loaded, False).mark, [0, 1], None, 4, "float64", None, 0)
    assert settle(load_table((X.copy(), y.copy()), "partition 7"), *agreed).codes.tolist() == y.tolist()
    with pytest.raises(ValueError, match="partition 7 was loaded again and has changed"):
        settle(load_table(change(X, y), "partition 7"), *agreed)
