"""The life of a model: clear, names, labels, corrections, pending predictions, a challenger."""

import random
from urllib.parse import quote

import numpy as np
import orjson
import pytest

import rosenblatt
from rosenblatt.model.fewer_classes import without_class
from rosenblatt.model_file import container
from rosenblatt.serve import replay
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import copy, from_snapshot
from rosenblatt.serve.store import Store
from tests.serve.crashes import differing
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until
from tests.serve.test_learner import LIMITS, asked, run, same, traffic


def rebuilt(served, events, data=None):
    """The model read again from its events, or from a snapshot and the events after it."""
    again = Served(1, "m", "perceptron", {}, 0.0) if data is None else from_snapshot(1, data)
    for event in events:
        if event.sequence > again.sequence:
            again.apply(event, own=True)
    assert again.differences == 0
    return again


def check(served, events, data=None):
    """Whether the log gives the same model."""
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert differing(served, rebuilt(served, events, data)) == []


def snapshot(served):
    return container.to_bytes(*copy(served).packed())


def test_every_change_is_replayed_with_the_same_bits():
    """All changes one after the other, with examples between them, and a snapshot at any place among them."""
    served, events = Served(1, "m", "perceptron", {}, 0.0), []
    changes = [
        lambda: served.plan_challenger("passive-aggressive", {"C": 0.5}),
        lambda: {"add": ["prod"], "remove": []},
        lambda: served.plan_label("work", "ham"),
        lambda: served.plan_correction("done", "spam", {"a": 1.0}, LIMITS),
        lambda: served.plan_promotion(served.challenger.number),
        lambda: {"name": "other"},
        lambda: served.plan_label("ham", None),
        lambda: served.plan_dismissal("asked for"),
        dict,
        lambda: served.plan_challenger("averaged-perceptron", {}),
    ]
    kinds = ["challenge", "alias", "label", "correct", "promote", "rename", "label", "dismiss", "clear", "challenge"]
    requests = list(traffic(900))
    served_events, snapshots = events, []
    served_events += served.learn([asked({"id": "done", "features": {"a": 1.0}, "label": "ham"})], 1.0, LIMITS)[0]
    for n, (kind, plan) in enumerate(zip(kinds, changes, strict=True)):
        part = requests[90 * n : 90 * (n + 1)]
        for request_kind, request in part:  # those of an earlier part may be unknown after `clear`
            new, _ = getattr(served, request_kind)([asked(request)], 2.0 + n, LIMITS)
            events += new
        snapshots.append(snapshot(served))
        events += served.change(kind, plan(), 3.0 + n)
        snapshots.append(snapshot(served))
    run(served, [request for request in traffic(60, seed=5) if request[0] == "learn"], events, start=50.0)
    assert served.name == "other"
    assert served.aliases == ["prod"]
    assert served.challenger.tally.examples > 0
    for data in (None, *snapshots[::3]):
        check(served, events, data)


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron", "passive-aggressive", "arow"])
def test_merged_classes_score_as_the_sum_and_a_deleted_one_is_gone(algorithm):
    served, events = Served(1, "m", algorithm, {}, 0.0), []
    run(served, traffic(400, labels=("a", "b", "c", "d")), events)
    model, rng = served.estimator.model_, random.Random(1)
    table = model._row_table({name: rng.gauss(0, 1) for name in model.features})
    scores = dict(zip(model.classes, model.scores(table)[0], strict=True))

    def after(label, into, start=model):
        made = without_class(start, label, into)
        return made, dict(zip(made.classes, made.scores(table)[0], strict=False))

    made, less = after("b", None)
    assert made.classes == [name for name in model.classes if name != "b"]
    assert less == pytest.approx({name: score for name, score in scores.items() if name != "b"})
    made, merged = after("b", "d")
    assert merged == pytest.approx({**{k: v for k, v in scores.items() if k != "b"}, "d": scores["b"] + scores["d"]})
    two, _ = after("c", "a", made)
    first, second = (merged["a"] + merged["c"], merged["d"])
    if two.classes == ["d", "a"]:
        first, second = second, first
    assert two.scores(table)[0] == pytest.approx([(second - first) / 2])
    one, _ = after("d", "a", two)
    assert one.classes == ["a"]
    assert not one.state.w.any()
    assert np.array_equal(model.scores(table)[0], list(scores.values()))  # the old model is as it was
    for made in (two, one):
        made.learn_one({"new": 1.0, "length": 2.0}, "z")
        assert made.predict_one({"new": 1.0}) in made.classes


@pytest.mark.parametrize("algorithm", ["voted-perceptron", "kernel-perceptron", "winnow"])
def test_classes_of_other_learners_are_not_merged(algorithm):
    served = Served(1, "m", algorithm, {}, 0.0)
    run(served, traffic(60), [])
    before = from_snapshot(1, snapshot(served))
    with pytest.raises(Refused, match=r"[Cc]lear the model") as refusal:
        served.plan_label("spam", "ham")
    assert refusal.value.status == 409
    assert differing(served, before) == []


def test_a_correction_learns_the_right_label_and_corrects_the_count():
    served = Served(1, "m", "perceptron", {}, 0.0)
    run(served, traffic(100), [])
    (given,) = served.predict([asked({"id": "x", "features": {"a": 1.0}})], 9e3, LIMITS)[1]
    wrong, right = next(c for c in served.classes if c != given["prediction"]), given["prediction"]
    served.reveal([asked({"id": "x", "label": wrong})], 9e3, LIMITS)
    reference = Served(1, "m", "perceptron", {}, 0.0)
    run(reference, traffic(100), [])
    reference.estimator.learn_one({"a": 1.0}, wrong)
    reference.estimator.learn_one({"a": 1.0}, right)
    mistakes = served.mistakes
    assert served.plan_correction("x", wrong, {"a": 1.0}, LIMITS) is None
    served.change("correct", served.plan_correction("x", right, {"a": 1.0}, LIMITS), 9e3)
    assert served.mistakes == mistakes - 1
    assert served.corrections == 1
    assert np.array_equal(served.estimator.coef_, reference.estimator.coef_)
    assert served.reveal([asked({"id": "x", "label": right})], 9e3, LIMITS)[1][0]["repeated"]
    for identity, status in (("unknown", 404), ("p0", None)):
        if status:
            with pytest.raises(Refused) as refusal:
                served.plan_correction(identity, "ham", {"a": 1}, LIMITS)
            assert refusal.value.status == status


def test_a_challenger_learns_the_same_stream_as_a_model_of_its_own():
    served, alone = Served(1, "m", "perceptron", {}, 0.0), Served(2, "n", "passive-aggressive", {"C": 0.1}, 0.0)
    run(served, traffic(150, seed=9), [])
    served.change("challenge", served.plan_challenger("passive-aggressive", {"C": 0.1}), 5e3)
    before = copy(served).estimator.coef_
    requests = [(kind, {**r, "id": "n" + r["id"]} if "id" in r else r) for kind, r in traffic(300)]
    plain = Served(1, "m", "perceptron", {}, 0.0)
    run(plain, traffic(150, seed=9), [])
    for target in (served, alone, plain):
        run(target, requests, [], start=6e3)
    shadow = served.challenger
    assert np.array_equal(shadow.estimator.coef_, alone.estimator.coef_)
    assert (shadow.tally.examples, shadow.tally.mistakes) == (alone.examples, alone.mistakes)
    assert shadow.rival == served.mistakes - (plain.mistakes - shadow.rival) > 0
    assert np.array_equal(served.estimator.coef_, plain.estimator.coef_)  # the champion does not notice it
    assert not np.array_equal(before, served.estimator.coef_)
    coef = served.estimator.coef_.copy()
    with pytest.raises(Refused, match="has the number"):
        served.plan_promotion(shadow.number + 1)
    served.change("promote", served.plan_promotion(shadow.number), 9e3)
    assert served.algorithm == "passive-aggressive"
    assert served.guess({"length": 1.0}) == alone.guess({"length": 1.0})
    assert np.array_equal(served.challenger.estimator.coef_, coef)  # so that one can go back
    assert served.challenger.algorithm == "perceptron"


def test_batches_teach_the_challenger_as_single_requests_do():
    rng = random.Random(2)

    def example(n):
        x = {f"f{rng.randrange(8)}": rng.gauss(0, 1) for _ in range(4)}
        return asked({"features": x | ({"word": "free"} if n % 50 == 7 else {}), "label": rng.choice("abc")})

    requests = [example(n) for n in range(600)]
    batched, single = (Served(1, "m", "perceptron", {}, 5.0) for _ in range(2))
    for served in (batched, single):
        served.change("challenge", served.plan_challenger("passive-aggressive", {}), 5.0)
    for start in range(0, 600, 40):
        batched.learn(requests[start : start + 40], 7.0, LIMITS)
    for request in requests:
        single.learn([request], 7.0, LIMITS)
    batched.sequence, batched.bytes = single.sequence, single.bytes
    assert same(batched, single)


def test_a_challenger_that_grows_too_large_is_given_up_and_the_model_goes_on():
    served, events = Served(1, "m", "perceptron", {}, 0.0), []
    events += served.change("challenge", served.plan_challenger("arow", {"covariance": "full"}), 1.0)
    data, limits = snapshot(served), Limits(weights=400)
    run(served, traffic(60), events, limits=limits)
    assert served.challenger is None
    (reason,) = [orjson.loads(event.payload)["reason"] for event in events if event.kind == "dismiss"]
    assert "covariance" in reason
    check(served, events)
    check(served, events, data)


# ---- over HTTP ----


def test_the_life_of_a_model_over_http(store):
    with Server(store) as server, rosenblatt.Client(server.address) as client:
        post = server.post
        client.create("spam", "perceptron")
        for n in range(40):
            client.learn("spam", {"words": ["free" if n % 2 else "tea"]}, "spam" if n % 2 else "ham", id=f"i{n}")
        client.learn("spam", {"words": ["oops"]}, "spma", id="typo")
        path = "/v1/models/spam"
        assert post(f"{path}/rename", {"name": "mail"})[0] == 200
        assert server.get(path)[0] == 404
        assert post("/v1/models/mail/alias", {"alias": "spam"})[1]["aliases"] == ["spam"]
        assert server.get(path)[1]["name"] == "mail"
        assert post(path, {"algorithm": "perceptron"})[0] == 409
        assert client.predict("spam", {"words": ["free"]}, id="late")["prediction"] == "spam"
        status, answer = post(f"{path}/correct", {"id": "typo", "label": "spam"})
        assert (status, answer["before"], answer["repeated"]) == (200, "spma", False)
        assert post(f"{path}/correct", {"id": "typo", "label": "spam"})[1]["repeated"]
        assert post(f"{path}/correct", {"id": "late", "label": "spam"})[0] == 409
        assert post(f"{path}/correct", {"id": "never", "label": "spam"})[0] == 404
        assert post(f"{path}/merge-label", {"label": "spma", "into": "spam"})[1]["classes"] == ["ham", "spam"]
        assert post(f"{path}/merge-label", {"label": "spma", "into": "spam"})[0] == 404
        assert server.get(f"{path}/examples/typo")[1]["label"] == "spam"
        assert server.get(f"{path}/examples/typo")[1]["features"] == {"words": ["oops"]}
        listed = server.get(f"{path}/pending")[1]
        assert [entry["id"] for entry in listed["pending"]] == ["late"]
        status, answer = post(f"{path}/challenger", {"algorithm": "passive-aggressive", "parameters": {"C": 0.1}})
        number = answer["challenger"]["challenger"]
        client.learn("spam", {"words": ["free"]}, "spam")
        assert post(f"{path}/challenger", {"algorithm": "arow"})[0] == 409
        assert post(f"{path}/promote", {"challenger": number + 1})[0] == 409
        assert post(f"{path}/promote", {"challenger": number})[1]["algorithm"] == "passive-aggressive"
        for kind, body in (("rename", {}), ("alias", {"alias": "a b"}), ("clear", {"x": 1}), ("promote", [1])):
            assert post(f"{path}/{kind}", body)[0] == 422
        client.create("other", "perceptron")
        assert post("/v1/models/other/alias", {"alias": "spam"})[0] == 200  # moves it
        assert server.get(path)[1]["name"] == "other"
        assert post("/v1/models/other/rename", {"name": "mail"})[0] == 409
        with Server(store, wait="standby") as standby:
            wait_until(lambda: standby.get("/readyz/reads")[0] == 200)
            wait_until(
                lambda: (
                    standby.get("/v1/models/mail")[1].get("sequence") == server.get("/v1/models/mail")[1]["sequence"]
                )
            )
            post("/v1/models/mail/rename", {"name": "letters"})
            wait_until(lambda: standby.get("/v1/models/letters")[0] == 200)
            assert standby.get("/v1/models/mail")[0] == 404
            assert standby.get(path)[1]["name"] == "other"

            def insight(process):
                shown = process.get("/v1/models/letters/insight")[1]
                del shown["requests"]  # the durations of the requests that this process answered
                return {**shown, "standby": False, "snapshot": 0}

            seen = insight(server)
            wait_until(lambda: insight(standby) == seen)
        server.kill()
    with Server(store) as server:
        wait_until(lambda: server.get("/readyz")[0] == 200)
        assert insight(server) == seen
        assert server.get(path)[1]["name"] == "other"
        post = server.post
        assert post("/v1/models/letters", {"algorithm": "perceptron"})[0] == 200  # its first settings
        assert post("/v1/models/letters/clear")[1]["examples"] == 0
        assert post("/v1/models/letters/reveal", {"id": "late", "label": "ham"})[0] == 410
    _, facts = replay.replay(replay.open_log(store), "letters")
    assert (facts["gaps"], facts["differing_predictions"]) == (0, 0)
    assert Store(store).heads()


def test_pending_predictions_are_listed_in_pages(server, model):
    lines = b"\n".join(orjson.dumps({"id": f"é{n}", "features": {"x": n}}) for n in range(25))
    server.post(f"{model}/predict", lines, kind="application/x-ndjson")
    found, after = [], ""
    while after is not None:
        address = f"{model}/pending?limit=10" + (f"&after={quote(after)}" if after else "")
        answer = server.get(address)[1]
        found += [entry["id"] for entry in answer["pending"]]
        after = answer["next"]
        if len(found) == 10:  # the place of the next page has got its label
            server.post(f"{model}/reveal", {"id": found[-1], "label": "a"})
    assert sorted(set(found)) == sorted(f"é{n}" for n in range(25))
    for query in ("limit=0", "limit=x", "limit=1&limit=2", "after=x", "other=1"):
        assert server.get(f"{model}/pending?{query}")[0] == 422
