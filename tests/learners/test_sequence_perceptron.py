"""The engine of sequences against brute force and against the published algorithm in plain NumPy."""

import copy
import itertools
import pickle
import random

import numpy as np
import pytest

import rosenblatt
from rosenblatt import SequencePerceptron
from tests.sequences.problems import TAGS, assert_same_bits, sentences


def difference(x, truth, guess):
    """Φ(x, y) - Φ(x, z) as a dict; a transition is a pair of tags."""
    found = {}
    for tags, sign in ((truth, 1.0), (guess, -1.0)):
        before = None
        for token, tag in zip(x, tags, strict=True):
            if tag is not None:
                found[(before, tag), ""] = found.get(((before, tag), ""), 0.0) + sign
                for name, value in token.items():
                    found[tag, name] = found.get((tag, name), 0.0) + sign * value
            before = tag
    return {key: value for key, value in found.items() if value}


def score(w, x, tags):
    total, before = 0.0, None
    for token, tag in zip(x, tags, strict=True):
        total += w.get(((before, tag), ""), 0.0)
        total += sum(value * w.get((tag, name), 0.0) for name, value in token.items())
        before = tag
    return total


def brute_force(w, x, known):
    """The best of all sequences. Of equal ones, that whose last tag came first, then the last but one, and so on."""
    if not known:
        return [None] * len(x)
    everything = itertools.product(range(len(known)), repeat=len(x))
    ranked = sorted(everything, key=lambda tags: (-score(w, x, [known[k] for k in tags]), tags[::-1]))
    return [known[k] for k in ranked[0]]


def viterbi(w, x, known):
    """The same for long sequences: plain NumPy, where `argmax` takes the first of equal ones."""
    if not known:
        return [None] * len(x)
    start = np.array([w.get(((None, tag), ""), 0.0) for tag in known])
    chain = np.array([[w.get(((before, tag), ""), 0.0) for tag in known] for before in known])
    scores = [np.array([sum(v * w.get((tag, name), 0.0) for name, v in token.items()) for tag in known]) for token in x]
    best = [start + scores[0]]
    for emission in scores[1:]:
        best.append((best[-1][:, None] + chain).max(axis=0) + emission)
    tags = [int(best[-1].argmax())]
    for table in best[-2::-1]:
        tags.append(int((table + chain[:, tags[-1]]).argmax()))
    return [known[k] for k in reversed(tags)]


class Oracle:
    """Collins' algorithm with all sequences in place of Viterbi's algorithm, on dicts."""

    def __init__(self, rule="perceptron", C=1.0, r=1.0, decode=brute_force):
        self.decode, self.rule, self.C, self.r = decode, rule, C, r
        self.w, self.total, self.sigma, self.tags, self.seen = {}, {}, {}, [], 0

    def learn(self, x, y):
        guess = self.decode(self.w, x, self.tags)
        if guess != list(y):
            change = difference(x, y, guess)
            wrong = sum(a != b for a, b in zip(guess, y, strict=True))
            margin = score(self.w, x, y) - (score(self.w, x, guess) if self.tags else 0.0)
            loss = wrong - margin
            if self.rule == "arow":
                variance = sum(self.sigma.get(k, 1.0) * v * v for k, v in change.items())
                beta = 1.0 / (variance + self.r)
                for key, v in change.items():
                    along = self.sigma.get(key, 1.0) * v
                    self.w[key] = self.w.get(key, 0.0) + loss * beta * along
                    self.sigma[key] = self.sigma.get(key, 1.0) - beta * along * along
            else:
                step = 1.0 if self.rule == "perceptron" else min(self.C, loss / sum(v * v for v in change.values()))
                for key, v in change.items():
                    self.w[key] = self.w.get(key, 0.0) + step * v
        self.tags += [tag for tag in dict.fromkeys(y) if tag not in self.tags]
        self.seen += 1
        for key, v in self.w.items():
            self.total[key] = self.total.get(key, 0.0) + v
        return guess

    def average(self):
        return {key: v / self.seen for key, v in self.total.items()}


def weights_of(model):
    """The weights of a fitted model as those of the oracle."""
    w = {(tag, name): v for name, tag, v in model.state_features()}
    tags = model.classes_.tolist()
    w |= {((None, tag), ""): v for tag, v in zip(tags, model.start_, strict=True)}
    for i, j in itertools.product(range(len(tags)), repeat=2):
        w[(tags[i], tags[j]), ""] = model.transitions_[i, j]
    return {key: v for key, v in w.items() if v}


def nonzero(w):
    return {key: v for key, v in w.items() if v}


@pytest.mark.parametrize("seed", range(6))
def test_each_update_and_prediction_is_that_of_the_published_algorithm(seed):
    X, y = sentences(seed)
    model, oracle = SequencePerceptron(templates=None, readout="last"), Oracle()
    for x, tags in zip(X, y, strict=True):
        guess = oracle.learn(x, tags)
        assert (model.learn_one(x, tags) or [None] * len(x)) == guess
        assert weights_of(model) == nonzero(oracle.w)
    model.set_params(readout="average")
    assert weights_of(model) == pytest.approx(nonzero(oracle.average()), rel=1e-12)
    assert model.mistakes_ == model.updates_ > 5


@pytest.mark.parametrize("seed", range(3))
def test_long_sentences_with_ties_are_those_of_plain_viterbi(seed):
    rng = random.Random(seed)
    tags = [f"T{k}" for k in range(11)]
    model, oracle = SequencePerceptron(templates=None, readout="last"), Oracle(decode=viterbi)
    for _ in range(25):
        x = [
            dict.fromkeys(rng.sample([f"f{k}" for k in range(9)], rng.randint(0, 7)), 1.0)
            for _ in range(rng.randint(20, 50))
        ]
        truth = [rng.choice(tags[: rng.randint(1, 11)]) if rng.random() < 0.3 else tags[len(token)] for token in x]
        assert viterbi({}, x[:3], oracle.tags) == brute_force({}, x[:3], oracle.tags)
        guess = oracle.learn(x, truth)
        assert (model.learn_one(x, truth) or [None] * len(x)) == guess
        assert weights_of(model) == nonzero(oracle.w)


@pytest.mark.parametrize("rule", ["passive-aggressive", "arow"])
@pytest.mark.parametrize("seed", range(3))
def test_the_other_rules_take_their_published_steps(rule, seed):
    X, y = sentences(seed)
    settings = {"C": 0.3} if rule == "passive-aggressive" else {"r": 2.0}
    model = SequencePerceptron(templates=None, readout="last", rule=rule, **settings).partial_fit(X, y)
    oracle = Oracle(rule, **settings)
    for x, tags in zip(X, y, strict=True):
        oracle.learn(x, tags)
    assert weights_of(model) == pytest.approx(nonzero(oracle.w), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("readout", ["last", "average"])
def test_predictions_are_the_best_of_all_sequences(seed, readout):
    X, y = sentences(seed)
    model = SequencePerceptron(templates=None, readout=readout, max_iter=3).fit(X, y)
    scale = 3 * len(X) if readout == "average" else 1
    w = {key: round(value * scale) for key, value in weights_of(model).items()}  # whole numbers: ties are exact
    assert all(abs(value / scale - weights_of(model)[key]) < 1e-9 for key, value in w.items())
    new, _ = sentences(seed + 100)
    tags = model.classes_.tolist()
    assert model.predict(new) == [brute_force(w, x, tags) for x in new]
    assert [model.predict_one(x) for x in new] == model.predict(new)


def test_without_weights_the_tag_that_came_first_wins():
    model = SequencePerceptron(templates=None).partial_fit([[["a"]], [["a"]]], [["B"], ["B"]])
    model.learn_one([["b"], ["c"]], ["B", "A"])
    assert model.predict_one([["unknown"], ["unknown"]])[0] == "B"


@pytest.mark.parametrize("rule", ["perceptron", "passive-aggressive", "arow"])
def test_one_by_one_in_chunks_and_at_once_give_the_same_bits(rule):
    X, y = sentences(7, count=60)
    make = lambda: SequencePerceptron(templates=None, rule=rule, shuffle=False, max_iter=1)  # noqa: E731
    one, chunks = make(), make()
    for x, tags in zip(X, y, strict=True):
        one.learn_one(x, tags)
    for start in range(0, 60, 7):
        chunks.partial_fit(X[start : start + 7], y[start : start + 7])
    for model in (one, chunks):
        assert_same_bits(model, make().partial_fit(X, y))
        assert_same_bits(model, make().fit(X, y))


def test_epochs_are_visited_in_the_order_of_the_seed():
    X, y = sentences(1)
    model = SequencePerceptron(templates=None, max_iter=4, random_state=5).fit(X, y)
    again = SequencePerceptron(templates=None)
    rng = np.random.RandomState(5)
    again.partial_fit([], [])
    chain = again._chain
    batch, truth = again._encode(chain, X, y)
    for _ in range(4):
        chain.learn(batch, truth, rng.permutation(len(X)))
    assert_same_bits(model, again)
    assert model.n_iter_ == 4
    assert model.mistakes_per_epoch_.sum() == model.mistakes_


def test_training_ends_when_every_sentence_is_right():
    X = [[["a"], ["b"]], [["b"], ["c"]]]
    model = SequencePerceptron(templates=None, max_iter=100).fit(X, [["A", "B"], ["B", "C"]])
    assert model.converged_
    assert model.n_iter_ < 100
    assert model.mistakes_per_epoch_[-1] == 0
    assert model.score(X, [["A", "B"], ["B", "C"]]) == 1.0
    assert not SequencePerceptron(templates=None).fit([[["a"]], [["a"]]], [["A"], ["B"]]).converged_


def test_new_tags_and_features_come_at_any_time():
    model = SequencePerceptron()
    assert model.predict_one(["a"]) is None
    assert model.learn_one(["a", "b"], ["X", "Y"]) is None
    for k in range(40):
        model.learn_one([f"word{k}", "b"], [f"tag{k}", "Y"])
    assert len(model.classes_) == 42
    assert model.transitions_.shape == (42, 42)
    model.partial_fit([["new", "words"]], [[3, "Z"]])
    assert model.classes_.tolist()[-2:] == [3, "Z"]
    with pytest.raises(ValueError, match="True is equal to 1"):
        model.learn_one(["new"], [True])
    assert model.classes_.tolist()[-1] == "Z"


def test_a_feature_whose_changes_cancel_has_no_weights():
    model = SequencePerceptron(templates=None).partial_fit([[["f"], ["g"]]], [["A", "B"]])
    assert model.learn_one([["x"], ["x"]], ["B", "A"]) == ["A", "B"]
    assert {name for name, _, _ in model.state_features()} == {"f", "g"}
    assert model.n_features_ == 2


def test_a_sentence_that_is_refused_leaves_no_tags():
    model = SequencePerceptron(templates=None, readout="last").partial_fit([[{"a": 1.0}]], [["X"]])
    model._chain.w[:] *= 1e300
    with pytest.raises(ValueError, match="Scale"):
        model.learn_one([{"a": 1e100}], ["NEW"])
    assert model.classes_.tolist() == ["X"]
    model.learn_one([{"a": 1.0}], ["Y"])
    assert model.classes_.tolist() == ["X", "Y"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_goes_on_as_the_model(copied):
    rng = random.Random(0)
    X = [[f"w{rng.randrange(9000)}" for _ in range(8)] for _ in range(800)]
    y = [[rng.choice("AB") for _ in s] for s in X]
    model = SequencePerceptron(templates=["word", "word[-1]|word"]).partial_fit(X[:50], y[:50])
    other = copied(model)
    for one in (model, other):
        one.partial_fit(X[50:], y[50:])
    assert other.state_features() == model.state_features()


def test_margins_are_those_over_all_other_sequences():
    X, y = sentences(3)
    model = SequencePerceptron(templates=None, readout="last").fit(X, y)
    chain, w = model._chain, weights_of(model)
    batch, truth = model._encode(chain, X, y)
    for x, tags, margin in zip(X, y, chain.margins(batch, truth), strict=True):
        others = (list(other) for other in itertools.product(model.classes_.tolist(), repeat=len(x)))
        assert margin == score(w, x, tags) - max(score(w, x, other) for other in others if other != tags)


def separable(seed=0):
    X, _ = sentences(seed)
    return X, [[TAGS["f1" in token] if "f2" not in token else "C" for token in x] for x in X]


@pytest.mark.parametrize("rule", ["perceptron", "passive-aggressive"])
def test_the_squeeze_holds_and_bounds_the_mistakes(rule):
    X, y = separable()
    model = SequencePerceptron(templates=None, rule=rule, max_iter=100).fit(X, y)
    certificate = model.certificate_
    assert model.converged_
    assert certificate.verify()
    assert certificate.status == "separable"
    assert certificate.margin > 0
    if rule == "perceptron":
        w = weights_of(model.set_params(readout="last"))
        assert certificate.length == pytest.approx(sum(v * v for v in w.values()) ** 0.5)
        assert certificate.growth == certificate.length**2 or certificate.growth > certificate.length**2
        assert certificate.mistakes == model.mistakes_ <= certificate.mistake_bound
        assert f"{certificate.mistake_bound:.6g}" in str(certificate)


def test_a_certificate_notices_numbers_that_do_not_fit():
    import dataclasses

    X, y = separable()
    certificate = SequencePerceptron(templates=None, max_iter=100).fit(X, y).certificate_
    for name, factor in (("length", 0.5 * certificate.margin / 10), ("growth", 1e-3), ("mistake_bound", 1e-9)):
        changed = dataclasses.replace(certificate, **{name: getattr(certificate, name) * factor})
        assert not changed.verify()


def test_explain_adds_up_to_the_score_of_a_token():
    X, y = sentences(2)
    for readout in ("last", "average"):
        model = SequencePerceptron(templates=None, readout=readout).fit(X, y)
        w = weights_of(model)
        x = max(X, key=len)
        tags = model.predict_one(x)
        for position in range(len(x)):
            for tag in TAGS:
                changed = [*tags[:position], tag, *tags[position + 1 :]]
                got = sum(value for _, value in model.explain(x, position, tag))
                others = score(w, x, changed) - got
                assert others == pytest.approx(
                    score(w, x, tags) - sum(value for _, value in model.explain(x, position)), abs=1e-9
                )


@pytest.mark.parametrize("readout", ["last", "average"])
def test_a_trace_has_the_scores_of_all_beginnings_and_the_update(readout):
    X, y = sentences(4)
    model = SequencePerceptron(templates=None, readout=readout, max_iter=2).fit(X, y)
    before, w = model.state_features(), weights_of(model)
    wrong = 0
    for x, tags in zip(*sentences(5), strict=True):
        trace = model.trace(x, tags)
        assert trace.predicted == model.predict_one(x)
        for t in range(len(x)):
            beginnings = [list(p) for p in itertools.product(trace.classes, repeat=t + 1)]
            for k, tag in enumerate(trace.classes):
                best = max(score(w, x[: t + 1], p) for p in beginnings if p[-1] == tag)
                assert trace.best[t, k] == pytest.approx(best, abs=1e-9)
        change = difference(x, tags, trace.predicted)
        assert len(trace.update) == len(change)
        assert {
            (tag, name): amount for name, tag, amount in trace.update if name.startswith("f") and name != "first token"
        } == {key: value for key, value in change.items() if key[1]}
        wrong += bool(change)
        assert trace.to_markdown().count("\n| ") == len(x)
    assert wrong > 3
    assert model.state_features() == before


def test_nothing_learned_changes_no_certificate():
    X, y = [["a", "b"], ["c"]], [["A", "B"], ["C"]]
    model = SequencePerceptron().fit(X, y)
    before = str(model.certificate_)
    model.learn_one([], [])
    model.partial_fit([[]], [[]])
    assert model.converged_
    assert str(model.certificate_) == before
    model.learn_one(["a"], ["B"])
    assert not model.converged_


@pytest.mark.parametrize(
    "changed", [{"rule": "arow"}, {"rule": "passive-aggressive"}, {"templates": ["word"]}, {"bits": 8}], ids=str
)
def test_what_the_weights_depend_on_cannot_change(changed, tmp_path):
    model = SequencePerceptron().partial_fit([["a", "b"]], [["A", "B"]])
    model.set_params(**changed)
    for act in (
        lambda: model.learn_one(["a"], ["A"]),
        lambda: model.partial_fit([["a"]], [["A"]]),
        lambda: model.save("x"),
    ):
        with pytest.raises(ValueError, match="must not change"):
            act()
    model.fit([["a", "b"]], [["A", "B"]]).learn_one(["a"], ["A"])


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("rule", ["perceptron", "arow"])
@pytest.mark.parametrize("bits", [3, 18])
def test_hashed_features(given, rule, bits, tmp_path):
    """One by one, at once and from a file: the same bits; with enough bits the predictions are those of exact features."""
    rng = random.Random(1)
    X = [[rng.choice("abcd") + str(rng.randrange(30)) for _ in range(rng.randint(1, 8))] for _ in range(60)]
    y = [[word[0].upper() if rng.random() < 0.9 else "X" for word in words] for words in X]
    if given:
        X = [[[f"w={word}", f"c={word[0]}", f"n={k % 3}"] for k, word in enumerate(words)] for words in X]
    settings = {"templates": None if given else ["word", "word[-1]|word[0]", "prefix1(word)", "bias"], "rule": rule}
    model = SequencePerceptron(bits=bits, max_iter=1, shuffle=False, **settings).fit(X, y)
    one, exact = SequencePerceptron(bits=bits, **settings), SequencePerceptron(**settings)
    for x, tags in zip(X, y, strict=True):
        found = one.learn_one(x, tags), exact.learn_one(x, tags)
        assert found[0] == found[1] or bits == 3
    model.save(tmp_path / "m")
    loaded = rosenblatt.load(tmp_path / "m")
    for other in (one, loaded):
        assert_same_bits(other, model)
        assert_same_bits(copy.deepcopy(model).partial_fit(X, y), other.partial_fit(X, y))
    assert len(model._chain.vocabulary) == 1
    assert model.n_features_ <= 1 << bits
    assert all(name[0] == "#" for name, _, _ in model.state_features())
    assert any(name.startswith("#") for name, _ in model.explain(X[0], 0))
