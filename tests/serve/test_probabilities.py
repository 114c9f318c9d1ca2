"""Probabilities of served models: learned from scores before learning, replayed bit for bit."""

import random

import numpy as np
import orjson
import pytest

import rosenblatt
from rosenblatt.model.calibration import Calibration
from rosenblatt.model_file import container
from rosenblatt.serve.audit import differing
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.scoring import scored
from rosenblatt.serve.snapshots import copy, from_snapshot
from tests.serve.processes import Server
from tests.serve.test_learner import LIMITS, asked, run, traffic


def stream(count, labels, seed=3):
    rng = random.Random(seed)
    for _ in range(count):
        x = {f"f{k}": rng.gauss(0, 1) for k in range(4)}
        total = x["f0"] + x["f1"] + rng.gauss(0, 1)
        yield x, labels[min(len(labels) - 1, max(0, int(total + len(labels) / 2)))]


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron", "passive-aggressive", "arow"])
def test_probabilities_are_those_of_the_library(algorithm, labels):
    """The same scores, observed one by one by the class that `rosenblatt stream` uses."""
    served, calibration = Served(1, "m", algorithm, {}, 0.0), None
    served.change("probabilities", served.plan_probabilities(), 0.0)
    for x, label in stream(400, labels):
        model = getattr(served.estimator, "model_", None)
        if model is not None and label in model.class_number and len(model.classes) > 1:
            scores = model.scores(model._row_table(x))
            if calibration is None or not calibration.fits(scores.size):
                calibration = Calibration.of(scores.size)
            calibration.observe(scores, np.array([model.class_number[label]]))
        served.learn([asked({"features": x, "label": label})], 0.0, LIMITS)
    assert calibration.to_values().keys() == served.calibration.to_values().keys()
    for name, value in calibration.to_values().items():
        assert np.allclose(value, served.calibration.to_values()[name], rtol=1e-9)
    answer = scored(served, {"features": {"f0": 3.0, "f1": 3.0}, "top": 9}, b"", 100)
    shares = {entry["label"]: entry["probability"] for entry in answer["scores"]}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares[labels[-1]] > 0.8


def test_batches_replays_and_snapshots_give_the_same_probabilities():
    served, events = Served(1, "m", "averaged-perceptron", {}, 5.0), []
    requests = list(traffic(400))
    run(served, requests[:60], events)
    served.change("challenge", served.plan_challenger("passive-aggressive", {}), 1100.0)
    events += served.change("probabilities", served.plan_probabilities(), 1100.0)
    assert served.plan_probabilities() is None
    run(served, requests[60:200], events, start=1100.0)
    data = container.to_bytes(*copy(served).packed())
    run(served, requests[200:300], events, start=2000.0)
    lines = [asked({"features": {"length": n / 50}, "label": "ham"}) for n in range(50)]
    events += served.learn(lines, 3000.0, LIMITS)[0]
    events += served.change("promote", served.plan_promotion(None), 3000.0)
    run(served, requests[300:], events, start=4000.0)
    assert served.calibration.count > 100
    resumed = from_snapshot(1, data)
    for event in events:
        if event.sequence > resumed.sequence:
            resumed.apply(event, own=True)
    assert (resumed.differences, differing(resumed, served)) == (0, [])
    assert resumed.calibration.to_values().keys()
    assert np.array_equal(resumed.calibration.line, served.calibration.line)
    served.change("clear", {}, 9e3)
    assert (served.judged, served.calibration) == (True, None)


def test_learners_without_linear_scores_have_none():
    served = Served(1, "m", "kernel-perceptron", {}, 0.0)
    with pytest.raises(Refused, match="KernelPerceptron has no probabilities"):
        served.plan_probabilities()


def test_probabilities_over_http(store, tmp_path):
    path = "/v1/models/m"
    with Server(store) as server:
        server.post(path, {"algorithm": "averaged-perceptron"})
        question = {"features": {"f0": 2.0, "f1": 2.0}, "top": 2, "reasons": 1}
        first, second = (list(stream(300, ["no", "yes"], seed=seed)) for seed in (1, 2))

        def learn(pairs):
            lines = b"\n".join(orjson.dumps({"features": x, "label": label}) for x, label in pairs)
            assert server.post(f"{path}/learn", lines, kind="application/x-ndjson")[0] == 200

        learn(first)
        assert server.post(f"{path}/score", question)[1]["scores"][0]["probability"] is None
        assert server.post(f"{path}/probabilities")[1]["probabilities"] is True
        assert server.post(f"{path}/probabilities")[0] == 200
        learn(second)
        score = server.post(f"{path}/score", question)[1]
        answer = server.post(f"{path}/predict", {"id": "p", **question})[1]
        assert answer == {**score, "id": "p", "repeated": False}
        assert (answer["prediction"], answer["scores"][0]["label"]) == ("yes", "yes")
        assert answer["scores"][0]["probability"] > 0.8
        assert answer["reasons"][0]["feature"] in ("f0", "f1")
        assert server.post(f"{path}/predict", {"id": "p", **question})[1] == {
            "id": "p", "prediction": "yes", "repeated": True,
        }  # fmt: skip
        assert server.post(f"{path}/predict", {"features": {}, "top": -1})[0] == 422
        (tmp_path / "m").write_bytes(server.get(f"{path}/model")[1])
        found = rosenblatt.load(tmp_path / "m").predict_proba_one(question["features"])
        assert found["yes"] == pytest.approx(answer["scores"][0]["probability"])
        server.kill()
    with Server(store) as server:
        assert server.post(f"{path}/score", question)[1] == score
        assert server.stop() == 0
    with Server(store) as server:
        assert server.post(f"{path}/score", question)[1] == score
