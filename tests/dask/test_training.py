"""Training on a real cluster of processes: the same result for every kind of input, for every rule, on any worker."""

import itertools
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
import rosenblatt.dask as rd
from rosenblatt.dask import _data
from tests.helpers import assert_same_model, blobs, csr

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
bag = pytest.importorskip("dask.bag")
dask = pytest.importorskip("dask")

X, Y = blobs(160, 6, 3, seed=1)
CUTS = [0, 20, 60, 100, 160]
CHUNKS = tuple(np.diff(CUTS).tolist())
PARTS = [(X[a:b], Y[a:b]) for a, b in itertools.pairwise(CUTS)]
SETTINGS = {"max_iter": 3, "tol": None, "random_state": 4}


@pytest.fixture(scope="module")
def expected(client):
    return rd.AveragedPerceptron(**SETTINGS).fit(PARTS, client=client)


def delayed(part):
    return dask.delayed(lambda: part)()


@pytest.mark.parametrize(
    "make",
    [
        lambda: (da.from_array(X, chunks=(CHUNKS, 3)), da.from_array(Y, chunks=50)),
        lambda: (da.from_array(X, chunks=(CHUNKS, -1)), Y),
        lambda: ([delayed(part) for part in PARTS], None),
        lambda: ([delayed((csr(a), b, np.ones(len(b)))) for a, b in PARTS], None),
        lambda: (bag.from_delayed([dask.delayed(list)(zip(*part, strict=True)) for part in PARTS]), None),
    ],
    ids=["array", "array and labels here", "delayed", "sparse and weighted", "bag"],
)
def test_every_kind_of_input_gives_the_same_model(client, expected, make):
    made = rd.AveragedPerceptron(**SETTINGS).fit(*make(), client=client)
    assert made.coef_.tobytes() == expected.coef_.tobytes()
    assert made.history_[-1]["shard_mistakes"] == expected.history_[-1]["shard_mistakes"]


def test_frames_give_the_same_model(client, expected):
    import pandas as pd

    frames = [pd.DataFrame(a, columns=list("abcdef")).assign(label=b) for a, b in PARTS]
    frame = dd.from_delayed([dask.delayed(frame) for frame in frames])
    names = rd.AveragedPerceptron(**SETTINGS).fit(frame, "label", client=client)
    series = rd.AveragedPerceptron(**SETTINGS).fit(frame[list("abcdef")], frame["label"], client=client)
    assert names.coef_.tobytes() == series.coef_.tobytes() == expected.coef_.tobytes()
    assert names.feature_names_in_.tolist() == list("abcdef")
    guesses = names.predict(frame[list("abcdef")]).compute()
    assert np.asarray(guesses).tolist() == names.to_local().predict(pd.DataFrame(X, columns=list("abcdef"))).tolist()


def test_frames_of_several_types(client):
    """As on one machine; the error names a column of words."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdef")).assign(flag=X[:, 0] > 0, count=(X[:, 1] > 0).astype(int))
    plain = rd.Perceptron(**SETTINGS).fit(frame.to_numpy(dtype=float), Y, client=client)
    for other in (frame, frame.astype({"count": "Int64", "flag": "boolean"})):
        assert rd.Perceptron(**SETTINGS).fit(other, Y, client=client).coef_.tobytes() == plain.coef_.tobytes()
    with pytest.raises(ValueError, match=r"the column 'word' of shard \d has the type"):
        rd.Perceptron(**SETTINGS).fit(frame.assign(word="x"), Y, client=client)


def test_empty_frames_do_not_determine_the_columns(client):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdef"))
    for empty in (pd.DataFrame(), frame[list("fedcba")][:0], np.zeros((0, 6))):
        made = rd.Perceptron(**SETTINGS).fit([(empty, []), (frame, Y)], client=client)
        assert made.feature_names_in_.tolist() == list("abcdef")


def test_parts_of_partitions_may_be_delayed_or_futures(client):
    made = rd.Perceptron(**SETTINGS).fit(PARTS, client=client)
    for parts in (
        [tuple(dask.delayed(part) for part in parts) for parts in PARTS],
        [tuple(client.scatter(list(parts))) for parts in PARTS],
    ):
        assert rd.Perceptron(**SETTINGS).fit(parts, client=client).coef_.tobytes() == made.coef_.tobytes()


def test_labels_as_a_frame_of_one_column(client):
    import pandas as pd

    labels = dd.from_pandas(pd.DataFrame({"label": Y}), npartitions=4)
    blocks = da.from_array(X, chunks=(40, 6))
    expected = rd.Perceptron(**SETTINGS).fit(blocks, Y, client=client).coef_.tobytes()
    for other in (labels, labels["label"], labels["label"].values, labels.values):
        assert rd.Perceptron(**SETTINGS).fit(blocks, other, client=client).coef_.tobytes() == expected


def test_bags_of_dicts_may_add_features(client):
    pairs = [({"rain": 1.0}, "wet"), ({"sun": 2.0}, "dry"), ({"sun": 1.0, "wind": 1.0}, "dry"), ({"snow": 1.0}, "wet")]
    made = rd.Perceptron(max_iter=20, tol=None).fit(bag.from_sequence(pairs * 3, npartitions=6), client=client)
    assert made.converged_
    assert made.feature_names_in_.tolist() == ["rain", "sun", "wind", "snow"]
    assert made.to_local().predict_one({"snow": 1.0}) == "wet"


def test_predictions_of_collections(client, expected):
    blocks = da.from_array(X, chunks=(50, 3))
    local = expected.to_local()
    assert expected.predict(blocks).compute().tolist() == local.predict(X).tolist()
    assert np.array_equal(expected.decision_function(blocks).compute(), local.decision_function(X))
    assert expected.score(blocks, da.from_array(Y, chunks=50)) == local.score(X, Y)
    assert expected.score(X, Y) == local.score(X, Y)


def test_scores_of_collections(client, expected):
    import pandas as pd

    names, weights = list("abcdef"), np.random.default_rng(0).random(Y.size)
    blocks, labels, aligned = da.from_array(X, chunks=(50, 3)), da.from_array(Y, chunks=40), da.from_array(Y, chunks=50)
    frame = dd.from_pandas(pd.DataFrame(X, columns=names).assign(label=Y, weight=weights), npartitions=3)
    rows, y, both = frame[names], frame["label"], frame[[*names, "label"]]
    named = rd.AveragedPerceptron(**SETTINGS).fit(rows, y, client=client)
    arrays = [
        (blocks, labels),
        (blocks, Y),
        (X, labels),
        (blocks[aligned >= 0], aligned),
        (blocks, aligned[aligned >= 0]),
    ]
    weighted = [(blocks, labels, da.from_array(weights, chunks=160)), (blocks, labels, weights), (X, Y, weights)]
    frames = [(rows, y), (rows, Y), (both, "label"), (both.compute(), "label")]
    weighted_frames = [(rows, y, frame["weight"]), (rows, Y, weights), (both, "label", frame["weight"])]
    for model, all_alike, by_weight in ((expected, arrays, weighted), (named, frames, weighted_frames)):
        right = model.predict(X if model is expected else rows.compute()) == Y
        for given in all_alike:
            assert model.score(*given) == right.mean()
        for given in by_weight:
            assert model.score(*given) == pytest.approx(np.average(right, weights=weights)) != right.mean()
    for model, wrong, words in (
        (expected, (blocks, labels[:40]), "got 160 and 40"),
        (expected, (blocks, labels, 0 * labels), "weights are not all 0"),
        (named, (rows, y.repartition(npartitions=1)), "got 3 and 1"),
        (named, (rows, y[y > 0]), "X and y must have the same number of rows; a partition has"),
        (named, (both, "lable"), r"y must name a column of the frame \(a, b, c, d, e, f, label\); got 'lable'"),
    ):
        with pytest.raises(ValueError, match=words):
            model.score(*wrong)


def test_predictions_of_partitions_without_rows(client, expected):
    import pandas as pd

    few = np.arange(Y.size) < 30
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdef")).assign(label=Y, few=few), npartitions=3)
    some, mask = frame[frame["few"]].drop(columns="few"), da.from_array(few, chunks=50)
    named = rd.AveragedPerceptron(**SETTINGS).fit(some, "label", client=client)
    assert named.score(some, "label") == named.score(pd.DataFrame(X[few], columns=list("abcdef")), Y[few])
    blocks = da.from_array(X, chunks=(50, 6))[mask]
    assert expected.predict(blocks).compute().tolist() == expected.predict(X[few]).tolist()
    assert expected.decision_function(blocks).compute().shape == (30, 3)


def test_bags_are_predicted_item_by_item(client, expected):
    rows = bag.from_sequence(X[:9].tolist(), npartitions=2)
    with pytest.raises(ValueError, match="got a Bag"):
        expected.predict(rows)
    assert rows.map(expected.to_local().predict_one).compute() == expected.predict(X[:9]).tolist()


def test_bags_with_empty_partitions(client):
    pairs = list(zip(X.tolist(), Y.tolist(), strict=True))
    parts = [PARTS[0], (X[:0], Y[:0]), PARTS[1]]
    shards = bag.from_delayed([dask.delayed(part) for part in (pairs[:20], [], pairs[20:60])])
    made = rd.Perceptron(**SETTINGS).fit(shards, client=client)
    assert made.coef_.tobytes() == rd.Perceptron(**SETTINGS).fit(parts, client=client).coef_.tobytes()


def test_rows_may_be_tuples(client):
    rows = [tuple(row) for row in X[:, :2].tolist()]
    made = rd.Perceptron(**SETTINGS).fit(rows, Y, client=client)
    assert made.coef_.tobytes() == rd.Perceptron(**SETTINGS).fit(X[:, :2], Y, client=client).coef_.tobytes()


@pytest.mark.parametrize("name", ["Perceptron", "PassiveAggressive", "Winnow", "AROW"])
def test_one_shard_gives_the_run_of_one_machine(client, name):
    options = {"balanced": True, "eta": 0.1} if name == "Winnow" else {}
    ours = getattr(rd, name)(shuffle=False, max_iter=4, tol=None, shards=1, **options).fit(X, Y, client=client)
    serial = getattr(rb, name)(shuffle=False, max_iter=4, tol=None, **options).fit(X, Y)
    assert ours.coef_.tobytes() == serial.coef_.tobytes()
    assert ours.intercept_.tobytes() == serial.intercept_.tobytes()
    assert ours.mistakes_per_epoch_.tolist() == serial.mistakes_per_epoch_.tolist()


def test_the_sum_does_not_depend_on_the_number_of_shards_per_task(client, monkeypatch):
    settings = {**SETTINGS, "shards": 70, "mixing": "examples"}
    few = rd.AveragedPerceptron(**settings).fit(X, Y, client=client)  # weights are returned shard by shard
    assert len(few.history_[0]["shard_mistakes"]) == 70
    monkeypatch.setattr(_data, "FEW", 0)
    together = rd.AveragedPerceptron(**settings).fit(X, Y, client=client)  # summed on the workers of the shards
    monkeypatch.setattr(_data.Data, "task_groups", lambda self: [[number] for number in range(len(self.shards))])
    single = rd.AveragedPerceptron(**settings).fit(X, Y, client=client)  # summed by further tasks
    assert few.coef_.tobytes() == together.coef_.tobytes() == single.coef_.tobytes()


def test_weights_are_sent_with_tasks_or_kept_on_workers(client, monkeypatch):
    wide = csr(np.hstack([X, np.zeros((len(X), 994))]))
    settings = {**SETTINGS, "shards": 70}
    along = rd.Perceptron(**settings).fit(wide, Y, client=client)
    sent = [epoch["bytes_moved"] for epoch in along.history_]
    assert min(sent) > 3 * 8 * 1001 * 2  # in full, for two tasks at least
    monkeypatch.setattr(_data, "TOGETHER", 0)
    brought = rd.Perceptron(**settings).fit(wide, Y, client=client)
    assert along.coef_.tobytes() == brought.coef_.tobytes()
    later = [epoch["bytes_moved"] for epoch in brought.history_[1:]]
    assert max(later) < min(sent) / 4  # what has changed: 6 of 1,000 features


def test_unusual_shards(client):
    """An empty shard, a shard of a single class, and a class that does not occur in the first shard."""
    empty = (X[:0], Y[:0])
    parts = [(X[Y == 0][:30], Y[Y == 0][:30]), empty, (X[Y == 2], Y[Y == 2]), (X[Y < 2], Y[Y < 2])]
    for mixing in ("mistakes", "uniform", "examples"):
        made = rd.AveragedPerceptron(**SETTINGS, mixing=mixing).fit(parts, client=client)
        assert made.classes_.tolist() == [0, 1, 2]
        assert made.score(X, Y) > 0.6
        epoch = made.history_[0]
        assert epoch["shard_mixing"][1] == 0.0
        assert abs(sum(epoch["shard_mixing"]) - 1.0) < 1e-12


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ([(X, Y), (X[:, :4], Y)], "same number of features; partition 0 has 6, partition 1 has 4"),
        ([(X, Y), (csr(X), Y)], "dense or all sparse"),
        ([(X, Y), (X, Y.astype(str))], "one type"),
        ([(X, Y), (X, Y[:-1])], "same number of rows; partition 1 has 160 and 159"),
        ([(X[Y == 1], Y[Y == 1])] * 2, "at least 2 classes"),
        ([(X[:0], Y[:0])] * 2, "contain none"),
        ([(X, Y), (np.where(X[3, 1] == X, np.nan, X), Y)], "partition 1: .*must be finite"),
        ([delayed(3), delayed((X, Y))], "must be a pair"),
        ([(X, np.where(Y == 2, np.nan, Y))], "partition 0 has nan among them"),
        ([(X, np.where(Y == 2, 2.5, Y))], "partition 0 has 2.5 among them"),
        ([(X, Y, np.ones(159))], "X and sample_weight must have the same number of rows; partition 0 has 160 and 159"),
        ([(X, Y, np.ones(0))], "X and sample_weight must have the same number of rows; partition 0 has 160 and 0"),
        (delayed((X, Y)), r"must be in a list; got a single Delayed.*Call fit\(\[X\]\)"),
    ],
)
def test_bad_shards_are_refused(client, parts, match):
    with pytest.raises(ValueError, match=match):
        rd.Perceptron(max_iter=2, tol=None).fit(parts, client=client)


@pytest.mark.parametrize("learner", [rb.VotedPerceptron, rb.PocketPerceptron, rb.BatchPerceptron, rb.KernelPerceptron])
def test_learners_that_cannot_be_mixed_are_refused(client, learner):
    with pytest.raises(ValueError, match="Only an online linear learner"):
        rd.train(learner(), X, Y, client=client)


def test_wrong_options_are_refused(client):
    with pytest.raises(ValueError, match="`mixing` must be one of"):
        rd.Perceptron(mixing="best").fit(X, Y, client=client)
    with pytest.raises(ValueError, match="`shards` must be a whole number"):
        rd.Perceptron(shards=0).fit(X, Y, client=client)
    with pytest.raises(ValueError, match="got a dict"):
        rd.Perceptron().fit({}, Y, client=client)
    with pytest.raises(ValueError, match="y must hold the labels"):
        rd.Perceptron().fit(X, client=client)


def test_mismatched_inputs_are_named(client):
    import pandas as pd

    blocks, labels = da.from_array(X, chunks=(50, 6)), da.from_array(Y, chunks=50)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdef")).assign(label=Y), npartitions=4)
    ones = dd.from_pandas(pd.Series(np.ones(160)), npartitions=2)
    pairs = bag.from_sequence([({"a": 1.0}, 1), ({"b": 1.0}, 0)], npartitions=2)
    for X_, y, weights, words in (
        (X, Y, np.ones(159), "X and sample_weight must have the same number of rows; got 160 and 159"),
        (blocks, labels[labels > 0], None, "X and y must have the same number of rows; partition . has"),
        (frame, "label", np.ones(160), "sample_weight must be a Dask series; got a ndarray"),
        (frame, "label", "a", "sample_weight must be a Dask series; got a str"),
        (frame, "label", ones, "X and sample_weight must have the same partitions; got 4 and 2"),
        (PARTS, None, np.ones(160), "sample_weight must be left out for partitions"),
        (PARTS, Y, None, "y must be left out for partitions"),
        (pairs, None, np.ones(2), "sample_weight must be left out for a bag"),
        ("a.svm", None, np.ones(2), "sample_weight must be left out for files"),
    ):
        with pytest.raises(ValueError, match=words):
            rd.Perceptron().fit(X_, y, sample_weight=weights, client=client)


@pytest.mark.parametrize(
    ("pairs", "partitions", "match"),
    [
        ([({"a": 1.0}, 1), ([1.0], 0)], 1, "must all be dicts"),
        ([({"a": 1.0}, 1), ([1.0], 0)], 2, "must all be dicts"),
        ([([1.0], 1), ({"a": 1.0}, 0)], 1, "must all be dicts"),
        ([([1.0, 2.0], 1), ([1.0], 0)], 1, "all be sequences of numbers of the same length; partition 0 has others"),
        ([(["red"], 1), ([1.0], 0)], 1, "all be sequences of numbers of the same length"),
        ([(1.0, 1), (2.0, 0)], 1, "all be sequences of numbers of the same length"),
        ([({"a": 1.0}, 1), ({"b": 1.0}, "no")], 1, "labels must all be of one type"),
    ],
)
def test_bad_bags_are_refused(client, pairs, partitions, match):
    with pytest.raises(ValueError, match=match):
        rd.Perceptron(max_iter=2, tol=None).fit(bag.from_sequence(pairs, npartitions=partitions), client=client)


def test_validation_data_of_the_user_stop_training(client):
    noise = np.random.default_rng(0).integers(0, 3, Y.size)
    here = rd.Perceptron(n_iter_no_change=2, tol=0.5).fit(X, Y, validation=(X, noise), client=client)
    there = rd.Perceptron(n_iter_no_change=2, tol=0.5).fit(
        X, Y, validation=(da.from_array(X, chunks=(50, 6)), da.from_array(noise, chunks=50)), client=client
    )
    assert here.n_iter_ == there.n_iter_ <= 5
    assert [epoch["held_out_mistakes"] for epoch in here.history_] == [e["held_out_mistakes"] for e in there.history_]
    assert here.training_["run"]["stopped"] == "no improvement"


def held_out(made):
    return [(epoch["held_out"], epoch["held_out_mistakes"]) for epoch in made.history_]


def test_validation_frames_may_have_another_order_of_columns(client):
    import pandas as pd

    names, learner = list("abcdef"), rd.Perceptron(**SETTINGS)
    frame = pd.DataFrame(X, columns=names).assign(label=Y)
    turned = frame[["label", *reversed(names)]]
    shards = dd.from_pandas(frame, npartitions=3)
    expected = held_out(learner.fit(shards, "label", validation=(X, Y), client=client))
    for validation in (
        (turned.drop(columns="label"), Y),
        (dd.from_pandas(turned, npartitions=2), "label"),
    ):
        assert held_out(learner.fit(shards, "label", validation=validation, client=client)) == expected
    with pytest.raises(ValueError, match="must have the columns of the shards, a, b, c, d, e, f; got g, b, c, d, e, f"):
        learner.fit(shards, "label", validation=(frame[names].rename(columns={"a": "g"}), Y), client=client)


def test_validation_with_bags_of_dicts(client):
    rows = [dict(zip("abcdef", x, strict=True)) for x in X.tolist()]
    turned = [dict(reversed(row.items())) | {"unknown": 9.0} for row in rows]
    shards, others = (
        bag.from_sequence(list(zip(part, Y.tolist(), strict=True)), npartitions=3) for part in (rows, turned)
    )
    learner = rd.Perceptron(**SETTINGS)
    expected = held_out(learner.fit(shards, validation=(X, Y), client=client))
    assert held_out(learner.fit(shards, validation=(others, None), client=client)) == expected
    with pytest.raises(ValueError, match="`validation` may be a bag of dicts only if"):
        learner.fit(X, Y, validation=(others, None), client=client)


def test_bad_validation_data_are_refused(client):
    learner = rd.Perceptron(**SETTINGS)
    blocks = da.from_array(X, chunks=(50, 6))
    with pytest.raises(ValueError, match="must have the same number of rows; got 160 and 50"):
        learner.fit(X, Y, validation=(X, Y[:50]), client=client)
    for rows, labels in ((X, Y.astype(str)), (blocks, da.from_array(Y.astype(str), chunks=50))):
        with pytest.raises(ValueError, match=r"must have labels of the shards, 0, 1, 2; got '\d', '\d', '\d'\."):
            learner.fit(X, Y, validation=(rows, labels), client=client)
    with pytest.raises(ValueError, match="must have labels of the shards, 0, 1, 2; got none"):
        learner.fit(X, Y, validation=(X[:0], Y[:0]), client=client)
    with pytest.warns(UserWarning, match=r"the label 3 is not a class of the model \(0, 1, 2\)"):
        learner.fit(X, Y, validation=(X, np.where(Y == 2, 3, Y)), client=client)
    assert min(wrong for _, wrong in held_out(learner)) >= (Y == 2).sum()


def test_the_last_epoch_allowed_may_be_the_one_without_mistakes(client):
    rows = X[abs(X[:, 0] - X[:, 1]) > 0.3]
    y = rows[:, 0] > rows[:, 1]
    epochs = rd.Perceptron(max_iter=1000, tol=None).fit(rows, y, client=client).n_iter_
    made = rd.Perceptron(max_iter=epochs).fit(rows, y, client=client)  # a warning would be an error
    assert made.mistakes_per_epoch_[-1] == 0
    assert made.converged_
    with pytest.warns(ConvergenceWarning):
        assert not rd.Perceptron(max_iter=1).fit(rows, y, client=client).converged_


def test_feature_names_of_an_earlier_fit_are_removed(client):
    import pandas as pd

    made = rd.Perceptron(**SETTINGS).fit(pd.DataFrame(X, columns=list("abcdef")), Y, client=client)
    assert made.feature_names_in_.tolist() == list("abcdef")
    made.fit(X[:, :4], Y, client=client)
    assert not hasattr(made, "feature_names_in_")
    assert made.predict(X[:, :4]).shape == Y.shape


def test_held_out_examples_are_not_learned(client):
    made = rd.AveragedPerceptron(early_stopping=True, validation_fraction=0.25, max_iter=8, tol=1.0).fit(
        X, Y, client=client
    )
    first = made.history_[0]
    assert first["held_out"] + first["examples"] == Y.size
    assert 20 < first["held_out"] < 60
    assert made.n_iter_ == made.n_iter_no_change + 1


def test_weights_of_examples_and_classes(client):
    weights = np.where(Y == 1, 0.0, 1.0)
    ours = rd.Perceptron(**SETTINGS).fit(X, Y, sample_weight=weights, client=client)
    same = rd.Perceptron(**SETTINGS, class_weight={1: 0.0}).fit(X, Y, client=client)
    assert ours.coef_.tobytes() == same.coef_.tobytes()
    balanced = rd.Perceptron(**SETTINGS, class_weight="balanced").fit(X, Y, client=client)
    assert balanced.coef_.tobytes() != same.coef_.tobytes()
    with pytest.raises(ValueError, match=r"The classes, \[0, 1, 2\], are not in class_weight"):
        rd.Perceptron(**SETTINGS, class_weight={7: 1}).fit(X, Y, client=client)
    with pytest.raises(ValueError, match="class_weight"):
        rd.Perceptron(**SETTINGS, class_weight="even").fit(X, Y, client=client)


def test_examples_of_weight_0_are_ignored(client):
    """In the mixture, in the loss, among the held-out examples, and in the counters."""
    first = np.arange(len(Y)) < 80
    ours = rd.Perceptron(**SETTINGS, shards=8).fit(X, Y, sample_weight=first.astype(float), client=client)
    half = rd.Perceptron(**SETTINGS, shards=4).fit(X[:80], Y[:80], client=client)
    assert ours.coef_.tobytes() == half.coef_.tobytes()
    assert ours.loss_per_epoch_.tolist() == half.loss_per_epoch_.tolist()
    assert [epoch["examples"] for epoch in ours.history_] == [80] * 3
    stopping = {"early_stopping": True, "validation_fraction": 0.5}
    held = rd.Perceptron(**SETTINGS, **stopping, shards=8).fit(X, Y, sample_weight=2.0 * first, client=client)
    other = rd.Perceptron(**SETTINGS, **stopping, shards=4).fit(X[:80], Y[:80], client=client)
    for name in ("held_out", "held_out_mistakes"):
        assert [epoch[name] for epoch in held.history_] == [2 * epoch[name] for epoch in other.history_]
    with pytest.raises(ValueError, match="sample weights must not all be 0"):
        rd.Perceptron(**SETTINGS).fit(X, Y, sample_weight=np.zeros(len(Y)), client=client)


@pytest.mark.parametrize("learner", ["Perceptron", "AveragedPerceptron"])
@pytest.mark.parametrize("weight", [0.01, 1.0])
def test_training_stops_at_the_same_epoch_as_on_one_machine(client, learner, weight):
    """By the loss per example of weight 1; the average lags behind and continues while it improves."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 8))
    Y = X[:, 0] + rng.standard_normal(300) > 0
    weights = np.full(len(Y), weight)
    settings = {"shuffle": False, "eta0": 0.5, "max_iter": 200}
    ours = getattr(rd, learner)(**settings, shards=1).fit(X, Y, sample_weight=weights, client=client)
    alone = getattr(rb, learner)(**settings).fit(X, Y, sample_weight=weights)
    assert ours.n_iter_ == alone.n_iter_ < 200
    assert ours.coef_ == pytest.approx(alone.coef_, rel=1e-12)
    assert ours.loss_per_epoch_ == pytest.approx(alone.loss_per_epoch_, rel=1e-12)


def test_starting_weights(client, expected):
    more = rd.Perceptron(**SETTINGS).fit(X, Y, coef_init=np.ones((3, 6)), client=client)
    assert more.coef_.tobytes() != rd.Perceptron(**SETTINGS).fit(X, Y, client=client).coef_.tobytes()


def test_a_resumed_checkpoint_gives_the_same_bits(client, tmp_path, expected):
    path = tmp_path / "run.model"
    rd.AveragedPerceptron(**SETTINGS | {"max_iter": 1}).fit(PARTS, client=client, checkpoint=path)
    assert rb.load(path).n_iter_ == 1
    resumed = rd.AveragedPerceptron(**SETTINGS).fit(PARTS, client=client, checkpoint=path)
    assert_same_model(resumed, expected)
    assert resumed.mistakes_per_epoch_.tolist() == expected.mistakes_per_epoch_.tolist()
    saved = rb.load(path)
    assert type(saved) is rb.AveragedPerceptron
    assert saved.predict(X).tolist() == expected.predict(X).tolist()
    with pytest.raises(ValueError, match=r"must be of this learner on these shards; .* its examples are different"):
        rd.AveragedPerceptron(**SETTINGS).fit(PARTS[:3], client=client, checkpoint=path)
    with pytest.raises(ValueError, match="its learner is AveragedPerceptron, not Perceptron"):
        rd.Perceptron(**SETTINGS).fit(PARTS, client=client, checkpoint=path)
    rb.AveragedPerceptron(**SETTINGS).fit(X, Y).save(path)
    with pytest.raises(ValueError, match="it was trained on one machine"):
        rd.AveragedPerceptron(**SETTINGS).fit(PARTS, client=client, checkpoint=path)


def test_checkpoints_of_few_named_features(client, tmp_path):
    """A loaded model of named features has no more capacity than one on the workers."""
    import pandas as pd

    frame, path = pd.DataFrame(X, columns=list("abcdef")), tmp_path / "run.model"
    for learner in (rd.AveragedPerceptron, rd.AROW, rd.ROMMA, rd.Winnow):
        whole = learner(**SETTINGS).fit(frame, Y, client=client)
        learner(**SETTINGS | {"max_iter": 1}).fit(frame, Y, client=client, checkpoint=path)
        assert_same_model(learner(**SETTINGS).fit(frame, Y, client=client, checkpoint=path), whole)
        path.unlink()


def test_checkpoints_of_dicts_check_the_features(client, tmp_path):
    def dicts(turned):
        rows = ({f"f{(j + turned) % 6}": float(x) for j, x in enumerate(row)} for row in X)
        return bag.from_sequence(list(zip(rows, Y.tolist(), strict=True)), npartitions=4)

    path = tmp_path / "run.model"
    rd.Perceptron(**SETTINGS).fit(dicts(0), client=client, checkpoint=path)
    with pytest.raises(ValueError, match="its contents are different"):
        rd.Perceptron(**SETTINGS).fit(dicts(1), client=client, checkpoint=path)


@pytest.fixture(scope="module")
def checkpoint(client, tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run.model"
    rd.Perceptron(**SETTINGS, shards=4).fit(X, Y, client=client, checkpoint=path)
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"random_state": 5}, "`random_state` is 4, not 5"),
        ({"shuffle": False}, "`shuffle` is True, not False"),
        ({"early_stopping": True}, "`validation_fraction` is 0.0, not 0.1"),
        ({"class_weight": {0: 1, 1: 50, 2: 1}}, "`class_weight` is None, not {0: 1, 1: 50, 2: 1}"),
        ({"fit_intercept": False}, "`fit_intercept` is True, not False"),
        ({"eta0": 2.0}, "`eta0` is 1.0, not 2.0"),
        ({"mixing": "mistakes"}, "`mixing` is 'uniform', not 'mistakes'"),
        ({"shards": 5}, "`shards` is 4, not 5"),
        ({"sample_weight": np.ones(len(Y))}, "its bytes are different"),
        ({"y": np.where(np.arange(Y.size) < 9, 0, Y)}, "its labels are different"),
        ({"X": np.where(np.arange(X.size).reshape(X.shape) == 7, 0.5, X)}, "its contents are different"),
        ({"X": X[::-1], "y": Y[::-1]}, "its contents are different"),
        ({"coef_init": np.ones((3, 6))}, "its starting weights are different"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(client, checkpoint, change, words):
    data = {name: change[name] for name in ("X", "y", "sample_weight", "coef_init") if name in change}
    settings = {**SETTINGS, "shards": 4, **{name: value for name, value in change.items() if name not in data}}
    before = checkpoint.read_bytes()
    with pytest.raises(ValueError, match="The checkpoint must be of this learner on these shards") as refused:
        rd.Perceptron(**settings).fit(**{"X": X, "y": Y, **data}, client=client, checkpoint=checkpoint)
    assert words in str(refused.value)
    assert checkpoint.read_bytes() == before


def test_a_resumed_run_may_change_its_stopping_rule(client, checkpoint, tmp_path):
    path = tmp_path / "run.model"
    kept = rb.load(checkpoint)
    for name in ("bytes", "labels", "contents"):  # checkpoints of earlier versions do not have them
        kept.training_["shards"].pop(name, None)
    kept.save(path)
    settings = {**SETTINGS, "shards": 4, "max_iter": 50, "tol": 100.0, "n_iter_no_change": 4, "random_state": None}
    made = rd.Perceptron(**settings).fit(X, Y, client=client, checkpoint=path)
    run = made.training_["run"]
    assert (run["tol"], run["patience"], run["epochs"], run["seed"]) == (100.0, 4, 50, 4)
    assert (made.n_iter_, run["stopped"]) == (5, "no improvement")


def test_a_checkpoint_that_cannot_be_written_is_refused(client, tmp_path):
    for path in (tmp_path, tmp_path / "absent" / "run.model"):
        with pytest.raises(ValueError, match=r"cannot be written: .* Name a file in a folder that exists"):
            rd.Perceptron(**SETTINGS).fit(X, Y, client=client, checkpoint=path)


def _examples_held(dask_worker):
    return [key for key in dask_worker.data if str(key).startswith(("load-", "shard-"))]


@pytest.mark.parametrize("more", [[], [(X[:5, :3], Y[:5])]], ids=["in an epoch", "before the first"])
def test_workers_release_examples_while_the_caller_keeps_the_traceback(client, more):
    held = []

    def fail(run):
        held.append(sum(map(len, client.run(_examples_held).values())))
        raise ValueError("features")

    with pytest.raises(ValueError, match="features") as kept:  # keeps all variables, like a notebook
        rd.train(rb.Perceptron(), [*PARTS, *more], client=client, on_epoch=fail)
    assert held == ([] if more else [len(PARTS)])
    deadline = time.monotonic() + 20
    while any(client.run(_examples_held).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert kept.tb is not None


def test_user_defined_rules(client):
    from tests.user_rules import Plain

    made = rd.train(Plain(max_iter=3, tol=None), X, Y, client=client, shards=3)
    assert made.score(X, Y) > 0.6


def _fitted(X, Y):
    return rd.Perceptron(**SETTINGS, shards=4).fit(X, Y).coef_


def test_a_task_may_train_on_the_cluster_that_runs_it(client):
    """More tasks than threads: each task gives its thread to the tasks that it waits for."""
    tasks = [client.submit(_fitted, X, Y, pure=False) for _ in range(3)]
    here = rd.Perceptron(**SETTINGS, shards=4).fit(X, Y, client=client.cluster)
    for made in client.gather(tasks):
        assert made.tobytes() == here.coef_.tobytes()
