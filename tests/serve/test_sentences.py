"""Models of sequences in the service: sentences as features, tags as label."""

import random

import numpy as np
import pytest

import rosenblatt
from rosenblatt.model_file import container
from rosenblatt.serve.choice import new_estimator
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.insight import of_page, strongest
from rosenblatt.serve.learner import Served, number_of_tags
from rosenblatt.serve.records import opened
from rosenblatt.serve.scoring import scored
from rosenblatt.serve.snapshots import copy, from_snapshot
from tests.serve.crashes import differing
from tests.serve.test_learner import LIMITS, asked, run

ALGORITHM = "sequence-perceptron"


def sentence(rng):
    words = [rng.choice("uvwxyz") + str(rng.randrange(30)) for _ in range(rng.randint(1, 8))]
    return words, [{"u": "NOUN", "v": "VERB", "w": "DET"}.get(word[0], f"X{word[-1]}") for word in words]


def traffic(count, seed=0):
    """Sentences that are learned directly, or predicted and revealed later or never."""
    rng, waiting = random.Random(seed), []
    for n in range(count):
        words, tags = sentence(rng)
        if rng.random() < 0.3:
            yield "learn", {"id": f"l{n}", "features": words, "label": tags}
        else:
            yield "predict", {"id": f"p{n}", "features": words}
            waiting.append((f"p{n}", tags))
        if len(waiting) > 9:
            identity, tags = waiting.pop(rng.randrange(len(waiting)))
            yield "reveal", {"id": identity, "label": tags}


@pytest.mark.parametrize(
    "parameters", [{}, {"rule": "passive-aggressive", "C": 0.3}, {"rule": "arow"}, {"readout": "last"}], ids=str
)
def test_replay_and_snapshots_give_the_same_bits(parameters):
    served, events, limits = Served(1, "m", ALGORITHM, parameters, 5.0), [], Limits(pending=8)
    requests = list(traffic(300))
    run(served, requests[:150], events, limits)
    data = container.to_bytes(*copy(served).packed())
    events += served.change("challenge", served.plan_challenger(ALGORITHM, {"rule": "arow"}), 1500.0)
    _, (refused,) = served.learn([asked({"features": ["a"], "label": ["NEW", "NEW"]})], 1500.0, limits)
    assert refused.status == 409
    run(served, requests[150:], events, limits, 2000.0)
    assert served.expired > 0
    resumed = from_snapshot(1, data)
    replayed = Served(1, "m", ALGORITHM, parameters, 5.0)
    for model in (resumed, replayed):
        for event in events:
            if event.sequence > model.sequence:
                model.apply(event, own=True)
        assert model.differences == 0
        assert differing(served, model) == []


def test_tags_come_back_as_they_were_sent():
    served = Served(1, "m", ALGORITHM, {}, 0.0)
    _, (first,) = served.predict([asked({"id": "a", "features": ["the", "dog"]})], 1.0, LIMITS)
    assert first == {"id": "a", "prediction": None, "repeated": False}
    _, (told,) = served.reveal([asked({"id": "a", "label": ["DET", "NOUN"]})], 1.0, LIMITS)
    assert told == {
        "id": "a", "prediction": None, "label": ["DET", "NOUN"], "mistake": True, "repeated": False,
    }  # fmt: skip
    _, (again,) = served.reveal([asked({"id": "a", "label": ["DET", "NOUN"]})], 1.0, LIMITS)
    assert again["repeated"]
    _, (other,) = served.reveal([asked({"id": "a", "label": ["DET", "VERB"]})], 1.0, LIMITS)
    assert other.status == 409
    _, (learned,) = served.learn([asked({"features": ["the", "dog"], "label": ["DET", "NOUN"]})], 1.0, LIMITS)
    assert (learned["prediction"], learned["mistake"]) == (["DET", "NOUN"], False)
    assert served.classes == ["DET", "NOUN"]
    served._correct(served.plan_correction("a", ["DET", "X"], ["the", "dog"], LIMITS), served.sequence + 1)
    assert served.outcome("a")[0] == ["DET", "X"]


def test_the_model_is_that_of_the_library(tmp_path):
    served, model = Served(1, "m", ALGORITHM, {"templates": ["word", "suffix1(word)"]}, 0.0), None
    model = rosenblatt.SequencePerceptron(templates=["word", "suffix1(word)"])
    rng = random.Random(3)
    for _ in range(60):
        words, tags = sentence(rng)
        _, (answer,) = served.learn([asked({"features": words, "label": tags})], 1.0, LIMITS)
        assert answer["prediction"] == model.learn_one(words, tags)
    path = tmp_path / "m.model"
    path.write_bytes(container.to_bytes(*copy(served).packed()))
    loaded = rosenblatt.load(path)
    assert loaded.state_features() == model.state_features()
    words, _ = sentence(rng)
    answer = scored(served, {"features": words, "reasons": 50}, b"", 100)
    assert answer["prediction"] == loaded.predict_one(words)
    for token in range(len(words)):
        found = [(reason["feature"], reason["part"]) for reason in answer["reasons"] if reason["token"] == token]
        assert found == [pair for pair in loaded.explain(words, token) if pair[1]]
    shown = {entry["class"]: entry["features"] for entry in strongest(served.estimator, 3)()}
    for tag, features in shown.items():
        assert features == [
            [name, weight] for name, _, weight in loaded.state_features(tag) if weight > 0
        ][:3]  # fmt: skip


def test_columns_and_features_of_the_client():
    served = Served(1, "m", ALGORITHM, {"templates": "words+pos"}, 0.0)
    _, (answer,) = served.learn([asked({"features": [["He", "PRP"]], "label": ["B-NP"]})], 1.0, LIMITS)
    assert answer["label"] == ["B-NP"]
    served = Served(1, "m", ALGORITHM, {"templates": None}, 0.0)
    tokens = [{"word": "He", "upper": True, "length": 2.0, "tags": ["a", "b"]}, {}]
    served.learn([asked({"features": tokens, "label": ["X", "Y"]})], 1.0, LIMITS)
    model = rosenblatt.SequencePerceptron(templates=None)
    model.learn_one(tokens, ["X", "Y"])
    assert served.estimator.state_features() == model.state_features()


def test_precision_and_confusions_are_counted_by_token():
    served = Served(1, "m", ALGORITHM, {}, 0.0)
    for tags in (["A", "B"], ["A", "A"], ["A", "A"]):
        served.learn([asked({"features": ["x", "y"], "label": tags})], 1.0, LIMITS)
    window = of_page(served, True)["window"]
    assert window["examples"] == 3
    assert window["baseline"] == pytest.approx(2 / 3)
    assert sum(entry["examples"] for entry in window["classes"]) == 6
    pairs = [
        (guess, label)
        for guesses, labels in served.tally.window
        for guess, label in zip(guesses or "", labels, strict=False)
    ]
    for entry in window["classes"]:
        assert entry["right"] == sum(guess == label == entry["label"] for guess, label in pairs)
        assert entry["predicted"] == sum(guess == entry["label"] for guess, _ in pairs)
    back = from_snapshot(1, container.to_bytes(*copy(served).packed()))
    assert list(back.tally.window) == list(served.tally.window)


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"features": [], "label": ["X"]}, 422, "1 to 1000 tokens"),
        ({"features": ["a"] * 1001, "label": ["X"]}, 422, "1001 tokens"),
        ({"features": ["a", "b"], "label": ["X"]}, 409, "2 tokens and 1 tags"),
        ({"features": {"a": 1}, "label": ["X"]}, 409, "list of"),
        ({"features": [1.0], "label": ["X"]}, 409, "A token must be"),
        ({"features": [1.0] * 5000, "label": ["X"]}, 409, "A row of numbers"),
        ({"features": ["a", 1.0], "label": ["X"]}, 422, "A token must be"),
        ({"features": [None], "label": ["X"]}, 422, "A token must be"),
        ({"features": ["a"], "label": "X"}, 409, "list with a tag"),
        ({"features": ["a"], "label": None}, 422, "list with a tag"),
        ({"features": ["a"], "label": [None]}, 422, "label"),
        ({"features": ["a"], "label": ["x" * 201]}, 422, "label"),
        ({"features": ["a\0"], "label": ["X"]}, 422, "NUL"),
        ({"features": ["a" * 1001], "label": ["X"]}, 422, "1000"),
        ({"features": [["a", "b"]], "label": ["X"]}, 409, "A token must be"),
        ({"features": [{"a": "b"}], "label": ["X"]}, 409, "templates=None"),
        ({"features": [{"a": {"b": 1}}], "label": ["X"]}, 422, "must be a string"),
        ({"features": [{"a": 1e101}], "label": ["X"]}, 422, "1e+100"),
        ({"features": ["a"], "label": [True]}, 409, "type"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_sentences_are_refused_and_change_nothing(request_, status, words):
    served = Served(1, "m", ALGORITHM, {}, 0.0)
    served.learn([asked({"features": ["a", "b"], "label": ["X", "Y"]})], 1.0, LIMITS)
    before = copy(served).packed()[1]
    events, (answer,) = served.learn([asked(request_)], 2.0, LIMITS)
    assert isinstance(answer, Refused)
    assert answer.status == status
    assert words in answer.message
    assert events == []
    after = copy(served).packed()[1]
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert served.classes == ["X", "Y"]


def test_rows_and_sentences_are_told_apart():
    served = Served(1, "m", "perceptron", {}, 0.0)
    for request in ({"features": ["a"], "label": "X"}, {"features": {"a": 1}, "label": ["X"]}):
        assert served.learn([asked(request)], 1.0, LIMITS)[1][0].status == 409
    with pytest.raises(Refused, match="another challenger"):
        served.plan_challenger(ALGORITHM, {})
    with pytest.raises(Refused, match="suffx"):
        new_estimator(ALGORITHM, {"templates": ["suffx(word)"]})
    tagger = Served(1, "m", ALGORITHM, {}, 0.0)
    with pytest.raises(Refused, match="rows"):
        served.plan_challenger("sequence", {})
    with pytest.raises(Refused, match="sentences"):
        tagger.plan_challenger("arow", {})
    with pytest.raises(Refused, match="top"):
        scored(tagger, {"features": ["a"], "top": 2}, b"", 100)


def test_sentences_may_not_take_too_much_time_or_memory():
    served = Served(1, "m", ALGORITHM, {"templates": ["word"]}, 0.0)
    tags = [f"t{k}" for k in range(500)]
    served.learn([asked({"features": tags, "label": tags})], 1.0, LIMITS)
    assert served.learn([asked({"features": tags, "label": tags})], 1.0, LIMITS)[1][0]["prediction"]
    long = ["a"] * 900
    for kind, request in (("predict", {"features": long}), ("learn", {"features": long, "label": ["t0"] * 900})):
        assert "takes too long" in getattr(served, kind)([asked(request)], 1.0, LIMITS)[1][0].message
    few = Limits(weights=400_000)
    assert (
        "--max-weights" in served.learn([asked({"features": tags[:400], "label": tags[:400]})], 1.0, few)[1][0].message
    )
    few = Limits(names=1800)
    assert "--max-names" in served.learn([asked({"features": ["a"], "label": ["t0"]})], 1.0, few)[1][0].message


def test_ids_are_remembered_up_to_a_number_of_tags(monkeypatch):
    monkeypatch.setattr("rosenblatt.serve.learner.MOST_TAGS", 50)
    served = Served(1, "m", ALGORITHM, {}, 0.0)
    for n in range(20):
        served.learn([asked({"id": f"i{n}", "features": ["a"] * 5, "label": ["X"] * 5})], 1.0, LIMITS)
    assert list(served.done) == [f"i{n}" for n in range(15, 20)]
    assert served.done_tags == sum(map(number_of_tags, served.done.values())) == 50
    back = from_snapshot(1, container.to_bytes(*copy(served).packed()))
    assert (back.done, back.done_tags) == (served.done, 50)
    assert back.done["i19"][0][0] is back.estimator._chain.tags[0]


def test_tags_over_http(server):
    path = "/v1/models/tagger"
    assert server.post(path, {"algorithm": "SequencePerceptron", "parameters": {"rule": "arow"}})[0] == 201
    assert server.post(path, {"algorithm": ALGORITHM, "parameters": {"rule": "arow"}})[0] == 200
    assert server.post(path + "/learn", {"features": ["a", "b"], "label": ["X", "Y"]})[1]["prediction"] is None
    assert server.post(path + "/predict", {"id": "1", "features": ["b"]})[1]["prediction"] == ["Y"]
    assert server.post(path + "/reveal", {"id": "1", "label": ["X"]})[1]["mistake"]
    assert server.post(path + "/score", {"features": ["b"], "reasons": 2})[1]["prediction"] == ["X"]
    facts = server.get(path)[1]
    assert (facts["classes"], facts["examples"], facts["mistakes"]) == (["X", "Y"], 2, 2)
    assert server.post(path + "/delete-label", {"label": "X"})[0] == 409
    assert server.get(path + "/insight")[1]["recent"][-1]["features"] == ["b"]


@pytest.mark.parametrize(
    "parameters", [{}, {"rule": "arow", "bits": 10, "templates": ["word", "suffix1(word)"]}], ids=str
)
def test_a_model_begins_with_the_file_of_a_tagger(tmp_path, parameters):
    rng = random.Random(1)
    X, y = zip(*[sentence(rng) for _ in range(40)], strict=True)
    trained = rosenblatt.SequencePerceptron(random_state=3, **parameters).fit(X[:30], y[:30])
    trained.save(tmp_path / "m")
    estimator, algorithm, kept = opened((tmp_path / "m").read_bytes(), Limits())
    assert (algorithm, kept) == (ALGORITHM, {"random_state": 3, **parameters})
    served = Served(1, "m", algorithm, kept, 0.0)
    served.adopt(estimator)
    served = from_snapshot(1, container.to_bytes(*copy(served).packed()))
    for words, tags in zip(X[30:], y[30:], strict=True):
        _, (learned,) = served.learn([asked({"features": words, "label": tags})], 1.0, LIMITS)
        assert learned["prediction"] == trained.learn_one(words, tags)
    with pytest.raises(Refused, match="max-classes"):
        opened((tmp_path / "m").read_bytes(), Limits(classes=2))
    with pytest.raises(Refused, match="max-weights"):
        opened((tmp_path / "m").read_bytes(), Limits(weights=20))
