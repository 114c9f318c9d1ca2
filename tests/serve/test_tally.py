"""Counts of the last thousand examples, and the alarm for drifts."""

import random
from collections import Counter

import numpy as np
import orjson
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from rosenblatt.model_file import container
from rosenblatt.serve.drift import BLOCK, Drift
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import copy, from_snapshot
from rosenblatt.serve.tally import Tally
from tests.serve.test_learner import LIMITS, asked, run, same, traffic


def stream(count, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "c"], count, p=[0.6, 0.3, 0.1]).tolist()
    wrong = rng.random(count) < 0.2
    return [("b" if label == "a" else "a") if bad else label for label, bad in zip(labels, wrong, strict=True)], labels


def test_the_window_has_the_figures_of_scikit_learn():
    predictions, labels = stream(2500)
    tally = Tally()
    for start in range(0, 2500, 70):
        tally.add(predictions[start : start + 70], labels[start : start + 70], float(start))
    facts = tally.facts_of_window()
    last_predictions, last_labels = predictions[-1000:], labels[-1000:]
    assert facts["examples"] == 1000
    assert facts["accuracy"] == pytest.approx(np.mean(np.array(last_predictions) == np.array(last_labels)))
    assert facts["baseline"] == max(Counter(last_labels).values()) / 1000
    names = [entry["label"] for entry in facts["classes"]]
    precision, recall, _, support = precision_recall_fscore_support(
        last_labels, last_predictions, labels=names, zero_division=0
    )
    assert [entry["precision"] or 0 for entry in facts["classes"]] == pytest.approx(precision)
    assert [entry["recall"] for entry in facts["classes"]] == pytest.approx(recall)
    assert [entry["examples"] for entry in facts["classes"]] == support.tolist()
    table = confusion_matrix(last_labels, last_predictions, labels=names)
    assert {(entry["label"], entry["prediction"]): entry["count"] for entry in facts["confusion"]} == {
        (names[i], names[j]): int(table[i, j]) for i, j in zip(*np.nonzero(table), strict=True)
    }
    assert tally.curve[-1].recent == pytest.approx(
        1
        - np.mean([p != y for p, y in list(zip(predictions, labels, strict=True))[: tally.curve[-1].examples][-1000:]])
    )


def test_one_by_one_and_batches_count_the_same():
    predictions, labels = stream(3000, seed=1)
    predictions[1800:] = ["none"] * 1200
    whole, single = Tally(), Tally()
    for start in range(0, 3000, 250):
        whole.add(predictions[start : start + 250], labels[start : start + 250], 1.0)
    for guess, label in zip(predictions, labels, strict=True):
        single.add([guess], [label], 1.0)
    assert whole.to_values() == single.to_values()
    assert whole.drifts > 0
    again = Tally.from_values(orjson.loads(orjson.dumps(whole.to_values())))
    assert again.to_values() == whole.to_values()
    assert whole.new_alarms()
    assert not whole.new_alarms()
    assert not again.new_alarms()


def test_labels_that_are_equal_in_python_are_told_apart():
    tally = Tally()
    tally.add([True, 1], [1, 1], 0.0)
    again = Tally.from_values(orjson.loads(orjson.dumps(tally.to_values())))
    assert [type(value) for pair in again.window for value in pair] == [bool, int, int, int]


def reference(mistakes):
    """ADWIN over blocks in its plain form: means of all cuts of a window that is kept as a list."""
    alarms, buckets = [], []
    for end in range(BLOCK, len(mistakes) + 1, BLOCK):
        buckets.append((BLOCK, sum(mistakes[end - BLOCK : end])))
        size = BLOCK
        while [n for n, _ in buckets].count(size) > 5:
            first = next(k for k, (n, _) in enumerate(buckets) if n == size)
            (n0, m0), (n1, m1) = buckets[first : first + 2]
            buckets[first : first + 2] = [(n0 + n1, m0 + m1)]
            size *= 2
        rise = False
        while True:
            n, m = (sum(column) for column in zip(*buckets, strict=True))
            p, found = m / n, []
            for cut in range(1, len(buckets)):
                n0, m0 = (sum(column) for column in zip(*buckets[:cut], strict=True))
                n1, m1 = n - n0, m - m0
                harmonic = 1 / (1 / n0 + 1 / n1)
                log = np.log(2 * np.log(n) / 0.002)
                allowed = np.sqrt(2 / harmonic * p * (1 - p) * log) + 2 / (3 * harmonic) * log
                if abs(m0 / n0 - m1 / n1) > allowed:
                    found.append((abs(m0 / n0 - m1 / n1) - allowed, m1 / n1 > m0 / n0))
            if not found:
                break
            rise = rise or max(found)[1]
            del buckets[0]
        if rise:
            alarms.append(end)
    return alarms


def test_the_alarm_is_that_of_a_plain_implementation():
    rng = random.Random(3)
    mistakes = [
        rng.random() < p
        for p, count in ((0.4, 300), (0.1, 900), (0.3, 700), (0.05, 600), (0.2, 800))
        for _ in range(count)
    ]
    drift, alarms, at = Drift(), [], 0
    while at < len(mistakes):
        size = rng.randrange(1, 120)
        alarms += [at + place for place, _, _ in drift.add(mistakes[at : at + size])]
        at += size
    assert alarms == reference(mistakes)
    assert len(alarms) >= 2


def test_chance_and_learning_are_no_drift_and_a_jump_is():
    rng = np.random.default_rng(0)
    assert sum(len(Drift().add((rng.random(20_000) < p).tolist())) for p in (0.0, 0.02, 0.1, 0.3, 0.5)) == 0
    learning = 0.5 / (1 + np.arange(20_000) / 300)
    drift = Drift()
    assert drift.add((rng.random(20_000) < learning).tolist()) == []
    ((place, before, after),) = drift.add((rng.random(400) < 0.3).tolist())[:1]
    assert place <= 128
    assert before < 0.1 < after


def changing(count, seed=0):
    """A stream whose second half is noise."""
    rng = random.Random(seed)
    for n in range(count):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        label = "yes" if (x["a"] > 0 if n < count // 2 else rng.random() < 0.5) else "no"
        yield "predict", {"id": f"i{n}", "features": x}
        yield "reveal", {"id": f"i{n}", "label": label}


def test_alarms_are_events_and_are_the_same_after_a_replay_and_a_snapshot():
    served, events = Served(1, "m", "perceptron", {}, 0.0), []
    requests = list(changing(2000))
    run(served, requests[:1500], events)
    data = container.to_bytes(*copy(served).packed())
    run(served, requests[1500:], events)
    told = [orjson.loads(event.payload)["examples"] for event in events if event.kind == "drift"]
    assert told == [alarm.examples for alarm in served.tally.alarms]
    assert told
    assert 1000 < told[0] < 1200
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    replayed = Served(1, "m", "perceptron", {}, 0.0)
    for event in events:
        replayed.apply(event, own=True)
    assert replayed.differences == 0
    resumed = from_snapshot(1, data)
    for event in events:
        if event.sequence > resumed.sequence:
            resumed.apply(event)
    assert same(served, replayed)
    assert same(served, resumed)
    assert replayed.tally.to_values() == resumed.tally.to_values() == served.tally.to_values()


def test_mistakes_are_kept_for_the_page():
    served, events = Served(1, "m", "perceptron", {}, 0.0), []
    run(served, traffic(300), events)
    assert 0 < len(served.recent_mistakes) <= 20
    assert all(prediction != label for _, _, prediction, label, _ in served.recent_mistakes)
    again = Served(1, "m", "perceptron", {}, 0.0)
    for event in events:
        again.apply(event)
    assert list(again.recent) == list(served.recent)
    assert list(again.recent_mistakes) == list(served.recent_mistakes)
    served.learn([asked({"features": {"x": 1}, "label": "rare"})], 9999.0, LIMITS)
    assert served.recent_mistakes[-1][3] == "rare"
