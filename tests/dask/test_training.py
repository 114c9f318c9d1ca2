"""Training on a real cluster of processes: the same result from every kind of input, for every rule, whoever does the work."""

import itertools

import numpy as np
import pytest

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
def test_every_input_gives_the_same(client, expected, make):
    made = rd.AveragedPerceptron(**SETTINGS).fit(*make(), client=client)
    assert made.coef_.tobytes() == expected.coef_.tobytes()
    assert made.history_[-1]["shard_mistakes"] == expected.history_[-1]["shard_mistakes"]


def test_frames(client, expected):
    import pandas as pd

    frames = [pd.DataFrame(a, columns=list("abcdef")).assign(label=b) for a, b in PARTS]
    frame = dd.from_delayed([dask.delayed(frame) for frame in frames])
    names = rd.AveragedPerceptron(**SETTINGS).fit(frame, "label", client=client)
    series = rd.AveragedPerceptron(**SETTINGS).fit(frame[list("abcdef")], frame["label"], client=client)
    assert names.coef_.tobytes() == series.coef_.tobytes() == expected.coef_.tobytes()
    assert names.feature_names_in_.tolist() == list("abcdef")
    guesses = names.predict(frame[list("abcdef")]).compute()
    assert np.asarray(guesses).tolist() == names.to_local().predict(pd.DataFrame(X, columns=list("abcdef"))).tolist()


def test_bags_of_dicts_grow_features(client):
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


@pytest.mark.parametrize("name", ["Perceptron", "PassiveAggressive", "Winnow", "AROW"])
def test_one_shard_is_the_run_of_one_machine(client, name):
    options = {"balanced": True, "eta": 0.1} if name == "Winnow" else {}
    ours = getattr(rd, name)(shuffle=False, max_iter=4, tol=None, shards=1, **options).fit(X, Y, client=client)
    serial = getattr(rb, name)(shuffle=False, max_iter=4, tol=None, **options).fit(X, Y)
    assert ours.coef_.tobytes() == serial.coef_.tobytes()
    assert ours.intercept_.tobytes() == serial.intercept_.tobytes()
    assert ours.mistakes_per_epoch_.tolist() == serial.mistakes_per_epoch_.tolist()


def test_tasks_of_many_shards_add_up_as_single_ones_do(client, monkeypatch):
    settings = {**SETTINGS, "shards": 70, "mixing": "examples"}
    few = rd.AveragedPerceptron(**settings).fit(X, Y, client=client)  # weights, which come back shard by shard
    assert len(few.history_[0]["shard_mistakes"]) == 70
    monkeypatch.setattr(_data, "ALONG", 0)
    together = rd.AveragedPerceptron(**settings).fit(X, Y, client=client)  # added up where the shards lie
    monkeypatch.setattr(_data.Data, "lots", lambda self: [[number] for number in range(len(self.shards))])
    single = rd.AveragedPerceptron(**settings).fit(X, Y, client=client)  # added up by further tasks
    assert few.coef_.tobytes() == together.coef_.tobytes() == single.coef_.tobytes()


def test_odd_shards(client):
    """An empty shard, one of a single class, and a class that the first shard has never seen."""
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
        ([(X[:0], Y[:0])] * 2, "hold none"),
        ([(X, Y), (np.where(X[3, 1] == X, np.nan, X), Y)], "partition 1: .*must be finite"),
        ([delayed(3), delayed((X, Y))], "must be a pair"),
    ],
)
def test_bad_shards(client, parts, match):
    with pytest.raises(ValueError, match=match):
        rd.Perceptron(max_iter=2, tol=None).fit(parts, client=client)


@pytest.mark.parametrize("learner", [rb.VotedPerceptron, rb.PocketPerceptron, rb.BatchPerceptron, rb.KernelPerceptron])
def test_what_cannot_be_mixed_is_refused(client, learner):
    with pytest.raises(ValueError, match="Only a linear learner that goes example by example"):
        rd.train(learner(), X, Y, client=client)


def test_wrong_options(client):
    with pytest.raises(ValueError, match="`mixing` must be one of"):
        rd.Perceptron(mixing="best").fit(X, Y, client=client)
    with pytest.raises(ValueError, match="`shards` must be a whole number"):
        rd.Perceptron(shards=0).fit(X, Y, client=client)
    with pytest.raises(ValueError, match="got a dict"):
        rd.Perceptron().fit({}, Y, client=client)
    with pytest.raises(ValueError, match="y must hold the labels"):
        rd.Perceptron().fit(X, client=client)


def test_validation_of_ones_own_stops_training(client):
    noise = np.random.default_rng(0).integers(0, 3, Y.size)
    here = rd.Perceptron(n_iter_no_change=2, tol=0.5).fit(X, Y, validation=(X, noise), client=client)
    there = rd.Perceptron(n_iter_no_change=2, tol=0.5).fit(
        X, Y, validation=(da.from_array(X, chunks=(50, 6)), da.from_array(noise, chunks=50)), client=client
    )
    assert here.n_iter_ == there.n_iter_ <= 5
    assert [epoch["held_out_mistakes"] for epoch in here.history_] == [e["held_out_mistakes"] for e in there.history_]
    assert here.training_["run"]["stopped"] == "no improvement"


def test_examples_set_aside_are_not_learned(client):
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


def test_starting_weights(client, expected):
    more = rd.Perceptron(**SETTINGS).fit(X, Y, coef_init=np.ones((3, 6)), client=client)
    assert more.coef_.tobytes() != rd.Perceptron(**SETTINGS).fit(X, Y, client=client).coef_.tobytes()


def test_checkpoints_go_on_bit_for_bit(client, tmp_path, expected):
    path = tmp_path / "run.model"
    rd.AveragedPerceptron(**SETTINGS | {"max_iter": 1}).fit(PARTS, client=client, checkpoint=path)
    assert rb.load(path).n_iter_ == 1
    resumed = rd.AveragedPerceptron(**SETTINGS).fit(PARTS, client=client, checkpoint=path)
    assert_same_model(resumed, expected)
    assert resumed.mistakes_per_epoch_.tolist() == expected.mistakes_per_epoch_.tolist()
    saved = rb.load(path)
    assert type(saved) is rb.AveragedPerceptron
    assert saved.predict(X).tolist() == expected.predict(X).tolist()
    with pytest.raises(ValueError, match=r"must be of this learner on these shards; .* its examples are others"):
        rd.AveragedPerceptron(**SETTINGS).fit(PARTS[:3], client=client, checkpoint=path)
    with pytest.raises(ValueError, match="other parameters"):
        rd.Perceptron(**SETTINGS).fit(PARTS, client=client, checkpoint=path)


def test_rules_of_ones_own(client):
    from tests.user_rules import Plain

    made = rd.train(Plain(max_iter=3, tol=None), X, Y, client=client, shards=3)
    assert made.score(X, Y) > 0.6
