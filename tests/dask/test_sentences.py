"""Taggers on a real cluster: one shard gives the bits of `fit`, several are mixed as plain NumPy mixes them."""

import json
import math
import os
import random
import signal

import numpy as np
import pytest

import rosenblatt as rb
import rosenblatt.dask as rd
from rosenblatt.data.conll import read_conll
from rosenblatt.data.errors import BadData
from rosenblatt.training.schedule import VisitingOrder
from tests.cli.helpers import call
from tests.learners.test_sequence_perceptron import Oracle, weights_of
from tests.sequences import problems
from tests.sequences.problems import assert_same_bits

TEMPLATES = ["word", "suffix1(word)", "word[-1]"]


def sentences(count=120, seed=0):
    rng = random.Random(seed)
    X = [[rng.choice("abc") + str(rng.randrange(40)) for _ in range(rng.randint(1, 7))] for _ in range(count)]
    y = [[word[0].upper() if rng.random() < 0.85 else rng.choice("ABCD") for word in words] for words in X]
    return X, y


def write(path, X, y):
    texts = ["".join(f"{word}\t{tag}\n" for word, tag in zip(*pair, strict=True)) for pair in zip(X, y, strict=True)]
    path.write_text("\n".join(texts))


RULES = [{}, {"rule": "passive-aggressive", "C": 0.3}, {"rule": "arow"}, {"bits": 6}]


@pytest.mark.parametrize("parameters", RULES, ids=str)
def test_one_shard_gives_the_bits_of_fit(client, tmp_path, parameters):
    X, y = sentences()
    make = lambda: rb.SequencePerceptron(max_iter=4, random_state=3, **parameters)  # noqa: E731
    local = make().fit(X, y)
    write(tmp_path / "a.conll", X, y)
    for data in ((X, y), (str(tmp_path / "a.conll"), None)):
        there = rd.train(make(), *data, client=client, shards=1)
        assert_same_bits(there, local)
        assert there.mistakes_per_epoch_.tolist() == local.mistakes_per_epoch_.tolist()
        assert (there.n_iter_, there.converged_, there.updates_) == (local.n_iter_, local.converged_, local.updates_)
        if "arow" not in parameters.values():
            assert there.certificate_ == local.certificate_


class Shard(Oracle):
    """An epoch of the published algorithm from given weights, with tags whose order is agreed on."""

    def __init__(self, w, agreed, known):
        super().__init__()
        self.w, self.agreed, self.tags, self.mistakes = dict(w), agreed, list(known), 0

    def learn(self, x, y):
        known = self.tags
        self.mistakes += super().learn(x, y) != list(y)
        self.tags = self.agreed[: max(len(known), *(self.agreed.index(tag) + 1 for tag in y))]


@pytest.mark.parametrize("mixing", ["uniform", "mistakes", "examples"])
def test_shards_are_mixed_as_by_the_published_algorithm(client, mixing):
    X, y = problems.sentences(3, count=40)
    parts = [(X[a:b], y[a:b]) for a, b in ((0, 10), (10, 25), (25, 40))]
    model = rb.SequencePerceptron(templates=None, max_iter=3, random_state=1)
    rd.train(model, parts, client=client, mixing=mixing)
    tags = list(dict.fromkeys(tag for truth in y for tag in truth))
    assert model.classes_.tolist() == tags
    w, total, known, weighted = {}, {}, [], 0.0
    for epoch in range(3):
        shards = [Shard(w, tags, known) for _ in parts]
        for number, (shard, (some, truth)) in enumerate(zip(shards, parts, strict=True)):
            for place in VisitingOrder(True, 1).block(np.arange(len(some)), epoch, number):
                shard.learn(some[place], truth[place])
            for key, value in shard.total.items():
                total[key] = total.get(key, 0.0) + value
        sizes = [{"uniform": 1, "mistakes": shard.mistakes, "examples": shard.seen}[mixing] for shard in shards]
        shares = np.array(sizes) / sum(sizes)
        weighted += float(shares @ [shard.mistakes for shard in shards])
        keys = set().union(*(shard.w for shard in shards))
        w = {key: sum(s * shard.w.get(key, 0.0) for s, shard in zip(shares, shards, strict=True)) for key in keys}
        known = max((shard.tags for shard in shards), key=len)
    average = {key: value / 120 for key, value in total.items()}
    for readout, want in (("last", w), ("average", average)):
        got = weights_of(model.set_params(readout=readout))
        assert all(abs(got.get(key, 0.0) - want.get(key, 0.0)) < 1e-9 for key in {**got, **want})
    assert model.weighted_mistakes_ == pytest.approx(weighted)
    assert model.certificate_.verify()


def test_the_variances_of_shards_are_mixed_as_precisions(client):
    X, y = sentences(60)
    model = rb.SequencePerceptron(templates=TEMPLATES, rule="arow", max_iter=1, shuffle=False)
    rd.train(model, [(X[:30], y[:30]), (X[30:], y[30:])], client=client)
    halves = [
        rb.SequencePerceptron(templates=TEMPLATES, rule="arow", max_iter=1, shuffle=False).fit(
            X[a : a + 30], y[a : a + 30]
        )
        for a in (0, 30)
    ]
    tags = model.classes_.tolist()

    def precisions(one):
        chain = one._chain
        names, order = (
            chain.names(),
            [one.classes_.tolist().index(tag) if tag in one.classes_ else None for tag in tags],
        )
        return {
            (name, tag): (1 / chain.sigma[row, k] - 1, chain.w[row, k] / chain.sigma[row, k])
            for row, name in enumerate(names) if name is not None
            for tag, k in zip(tags, order, strict=True) if k is not None
        }  # fmt: skip

    one, two, mixed = (precisions(part) for part in (*halves, model))
    assert any(p for p, _ in mixed.values())
    for key, (more, product) in mixed.items():
        a, b = (part.get(key, (0.0, 0.0)) for part in (one, two))
        assert more == pytest.approx((a[0] + b[0]) / 2, abs=1e-12)
        assert product == pytest.approx((a[1] + b[1]) / 2, abs=1e-12)


def test_files_are_cut_between_sentences(client, tmp_path):
    X, y = sentences(90)
    write(tmp_path / "a.conll", X[:50], y[:50])
    write(tmp_path / "b.conll", X[50:], y[50:])
    model = rd.train(rb.SequencePerceptron(max_iter=2), str(tmp_path / "*.conll"), client=client, shards=7)
    marks = model.training_["shards"]
    assert len(marks["sentences"]) == 7
    assert sum(marks["sentences"]) == 90
    assert sum(marks["tokens"]) == sum(map(len, X))
    from rosenblatt.dask._sentences import cut

    pieces = [piece for group in cut([str(tmp_path / "a.conll")], 9) for piece in group]
    found = [sentence for name, span in pieces for sentence in _read(name, span)]
    assert found == [s.tokens for s in read_conll(str(tmp_path / "a.conll"))]
    assert len(cut([str(tmp_path / "a.conll")], 10_000)) <= 50


def _read(name, span):
    from rosenblatt.data.conll import read_sentences

    return [sentence.tokens for sentence in read_sentences(name, span=span)]


def test_a_checkpoint_continues_with_the_same_bits(client, tmp_path):
    X, y = sentences()
    make = lambda epochs: rb.SequencePerceptron(rule="passive-aggressive", max_iter=epochs)  # noqa: E731
    whole = rd.train(make(4), X, y, client=client, shards=3)
    rd.train(make(2), X, y, client=client, shards=3, checkpoint=tmp_path / "m")
    again = rd.train(make(4), X, y, client=client, shards=3, checkpoint=tmp_path / "m")
    assert_same_bits(again, whole)
    assert again.mistakes_per_epoch_.tolist() == whole.mistakes_per_epoch_.tolist()
    with pytest.raises(ValueError, match="its `shards` is 3"):
        rd.train(make(4), X, y, client=client, shards=2, checkpoint=tmp_path / "m")


def test_a_bad_line_is_named(client, tmp_path):
    X, y = sentences(60)
    write(tmp_path / "a.conll", X, y)
    lines = (tmp_path / "a.conll").read_text().splitlines()
    place = next(k for k in range(len(lines) - 9, 0, -1) if lines[k])
    lines[place] += "\textra\tmore"
    (tmp_path / "a.conll").write_text("\n".join(lines) + "\n")
    with pytest.raises(BadData, match=rf"line {place + 1}: A line must have 2 columns"):
        rd.train(rb.SequencePerceptron(), str(tmp_path / "a.conll"), client=client, shards=4)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([["a"]], [["X", "Y"]], "1 tokens and 2 tags"),
        ([[]], [[]], "at least one sentence"),
        ([([["a"]], [["X"], ["Y"]])], None, "partition 0"),
        ([(1, 2, 3)], None, "pair"),
    ],
)
def test_bad_sentences_are_refused(client, X, y, words):
    with pytest.raises(ValueError, match=words):
        rd.train(rb.SequencePerceptron(), X, y, client=client)


def test_partitions_may_be_delayed(client):
    import dask

    X, y = sentences(60)
    parts = [(X[:20], y[:20]), (X[20:], y[20:])]
    make = lambda: rb.SequencePerceptron(max_iter=2)  # noqa: E731
    there = rd.train(make(), [dask.delayed(lambda part=part: part)() for part in parts], client=client)
    assert_same_bits(there, rd.train(make(), parts, client=client))
    for name, value in (("sample_weight", [1]), ("validation", (X, y)), ("reading", {})):
        with pytest.raises(ValueError, match=name):
            rd.train(make(), parts, client=client, **{name: value})


def test_shards_of_different_tags_and_widths(client):
    X = [[f"w{k}"] for k in range(40)]
    y = [[f"T{k}"] for k in range(40)]
    model = rd.train(
        rb.SequencePerceptron(templates=["word"], readout="last", max_iter=200), X, y, client=client, shards=4
    )
    assert model.classes_.tolist() == [tag for [tag] in y]
    assert model.predict(X) == y
    assert model.converged_
    assert model.certificate_.status == "separable"
    assert model.certificate_.verify()
    assert not math.isnan(model.certificate_.margin)


def test_a_worker_that_is_lost_changes_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y = sentences(200)
    write(tmp_path / "a.conll", X, y)
    make = lambda: rb.SequencePerceptron(rule="passive-aggressive", max_iter=4)  # noqa: E731
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        want = rd.train(make(), str(tmp_path / "a.conll"), client=client, shards=4)

        def kill(history):
            if len(history.done) == 2:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        got = rd.train(make(), str(tmp_path / "a.conll"), client=client, shards=4, on_epoch=kill)
    assert_same_bits(got, want)


@pytest.mark.slow
def test_the_command_line_trains_on_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = sentences(100)
    write(tmp_path / "a.conll", X, y)
    args = ["train", "a.conll", "-f", "conll", "-m"]
    call(*args, "local", "-e", 3, "-q")
    facts = json.loads(call(*args, "m", "-e", 3, "--dask", "local:2", "--shards", 1, "--json").stdout)
    assert_same_bits(rb.load("m"), rb.load("local"))
    assert facts["cluster"]["shards"] == 1
    assert facts["tokens"] == sum(map(len, X))
    call(*args, "m", "-e", 2, "--dask", "local:2", "-q")
    call(*args, "m", "-e", 4, "--dask", "local:2", "-q", "--resume")
    call(*args, "whole", "-e", 4, "--dask", "local:2", "-q")
    assert_same_bits(rb.load("m"), rb.load("whole"))
    assert rb.load("m").n_iter_ == 4
