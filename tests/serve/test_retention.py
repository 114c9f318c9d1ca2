"""Events that are not kept: what is removed, and that no promise is broken by it."""

import asyncio
import json
import urllib.request

import pytest
import sqlalchemy as sa

import rosenblatt
from rosenblatt.model_file import container
from rosenblatt.serve import replay
from rosenblatt.serve.events import Limits
from rosenblatt.serve.learner import Served
from rosenblatt.serve.retention import Mark, Policy, Removal, Retention, policy_of
from rosenblatt.serve.service import Service
from rosenblatt.serve.snapshots import Gap, copy, read_model
from rosenblatt.serve.store import Snapshot, Store
from tests.cli.helpers import call
from tests.serve.crashes import differing
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until
from tests.serve.test_learner import LIMITS, asked, run, traffic
from tests.serve.test_stores import executed

MODEL = "/v1/models/m"


def test_what_is_kept_is_written_as_a_time_or_a_size():
    assert policy_of("all") == Policy()
    assert policy_of("30d") == Policy(30 * 86400.0)
    assert policy_of("1.5GB") == Policy(size=1.5e9)
    assert policy_of("snapshot") == Policy(60.0)
    for wrong in ("", "0d", "10", "-1GB", "10 gb", "week", "0MB"):
        with pytest.raises(ValueError, match="--keep-events takes all, snapshot, a time such as 30d"):
            policy_of(wrong)


class Simulated:
    """Retention over a long time: only the numbers, without a store."""

    def __init__(self, policy, models=1):
        self.now = 0.0
        self.retention = Retention(policy, lambda: self.now)
        self.models = [Served(number, f"m{number}", "perceptron", {}, 0.0) for number in range(1, models + 1)]
        self.most = 0

    def pass_time(self, seconds, size=100):
        self.now += seconds
        retention = self.retention
        for served in self.models:
            served.sequence, served.time, served.bytes = served.sequence + 1, self.now, served.bytes + size
            if retention.wants(served, len(self.models)):
                mark = Mark(served.sequence, served.time, served.bytes)
                kept = retention.keep(served.number, mark, len(self.models))
                retention.added(served.number, mark, kept)
                served.snapshot_sequence = served.sequence
            self.most = max(self.most, len(retention.marks.get(served.number, ())))
        while (choice := retention.next_cut(self.models)) is not None:
            retention.cut(*choice)
            while (step := retention.removal()) is not None:
                assert step.after < step.until
                retention.removed(step)


def test_events_are_kept_for_the_time_and_not_much_longer():
    simulated = Simulated(Policy(seconds=1000.0))
    for _ in range(3000):
        simulated.pass_time(10.0)
        (served,), base = simulated.models, simulated.retention.base.get(1, 0)
        kept = (served.sequence - base) * 10.0
        assert base == 0 or 1000.0 <= kept <= 1700.0
    assert base > 2000
    assert simulated.most <= 12


def test_events_are_kept_to_the_size_over_all_models():
    simulated = Simulated(Policy(size=4e6), models=5)
    for n in range(3000):
        simulated.models[0].bytes += 900  # one model gets most of the events
        simulated.pass_time(10.0, size=1000)
        kept = sum(map(simulated.retention.kept_bytes, simulated.models))
        assert kept <= 4e6
        assert n < 1000 or kept >= 2e6
    assert simulated.most <= 25
    assert all(number in simulated.retention.base for number in range(1, 6))


def test_without_a_limit_nothing_is_removed_but_a_log_that_was_cut_keeps_its_beginning():
    retention = Retention(Policy(), lambda: 1e9)
    retention.start({1: [Mark(5, 1.0, 10), Mark(9, 2.0, 20)]}, {1: 4})
    assert (retention.base, retention.removal()) == ({1: 5}, Removal(1, 3, 5, 1000))  # goes on where it was interrupted
    assert retention.keep(1, Mark(20, 3.0, 30), 1) == (5,)
    assert not retention.wants(Served(1, "m", "perceptron", {}, 0.0), 1)
    retention.start({1: [Mark(9, 2.0, 20)]}, {1: 1})
    assert (retention.base, retention.keep(1, Mark(20, 3.0, 30), 1)) == ({}, ())
    retention.start({1: [Mark(5, 1.0, 10), Mark(9, 2.0, 20)]}, {1: None})
    assert (retention.base, retention.removal()) == ({1: 9}, None)


def events_of(server, last, until):
    """Events that a listener gets that had `last` before, up to the number `until`."""
    request = urllib.request.Request(f"{server.address}{MODEL}/events", headers={"Last-Event-ID": str(last)})
    found = []
    with urllib.request.urlopen(request, timeout=60) as stream:
        for line in stream:
            if line.startswith(b"id: "):
                found.append([int(line[4:])])
            elif line.startswith(b"event: ") and found:
                found[-1].append(line[7:].decode().strip())
            elif line.startswith(b"data: ") and found:
                found[-1].append(json.loads(line[6:]))
                if found[-1][0] >= until:
                    return found
    return found


def test_no_promise_is_broken_when_events_are_removed(store, tmp_path):
    with Server(store, "--keep-events", "1s") as server, Server(store, wait=None) as standby:
        assert server.post(MODEL, {"algorithm": "perceptron"})[0] == 201
        for n in range(30):
            server.post(f"{MODEL}/predict", {"id": f"p{n}", "features": {"x": n % 3, "words": [f"w{n}"]}})
            if n % 2:
                server.post(f"{MODEL}/reveal", {"id": f"p{n}", "label": "ab"[n % 3 == 0]})
            server.post(f"{MODEL}/learn", {"id": f"l{n}", "features": {"x": n}, "label": "ab"[n % 2]})

        def removed():
            return float(server.get("/metrics")[1].split(b"rosenblatt_events_removed_total ")[-1].split()[0])

        wait_until(lambda: removed() >= server.get(MODEL)[1]["log_begins_after"] >= 40, 30)
        facts = server.get(MODEL)[1]
        begin = facts["log_begins_after"]
        # ids are revealed and learned once, and predictions still wait
        assert server.post(f"{MODEL}/reveal", {"id": "p1", "label": "a"})[1]["repeated"]
        assert server.post(f"{MODEL}/reveal", {"id": "p1", "label": "b"})[0] == 409
        assert server.post(f"{MODEL}/learn", {"id": "l1", "features": {"x": 1}, "label": "b"})[1]["repeated"]
        assert server.post(f"{MODEL}/predict", {"id": "p2", "features": {"x": 2, "words": ["w2"]}})[1]["repeated"]
        assert server.post(f"{MODEL}/reveal", {"id": "p2", "label": "a"})[0] == 200
        # features that are gone are said to be gone
        status, answer = server.post(f"{MODEL}/correct", {"id": "l1", "label": "a"})
        assert (status, "no longer in the log" in answer["error"]) == (410, True)
        assert server.post(f"{MODEL}/correct", {"id": "l1", "label": "a", "features": {"x": 1}})[0] == 200
        # a listener learns which events it cannot get, and gets the others
        head = server.get(MODEL)[1]["sequence"]
        heard = events_of(server, 3, head)
        got = [number for number, kind, _ in heard if kind != "gap"]
        gaps = [range(news["first"], news["last"] + 1) for _, kind, news in heard if kind == "gap"]
        assert gaps[0].start == 4
        assert len(gaps[0]) > 10
        assert sorted([*got, *(number for gap in gaps for number in gap)]) == list(range(4, head + 1))
        with rosenblatt.Client(server.address) as client:  # and so does the iterator of a client
            events = client.events(MODEL.rpartition("/")[2], after=3)
            assert next(events)["kind"] == "model"
            told = []
            while not told or told[-1] < head:
                event = next(events)
                told += range(event["first"], event["last"] + 1) if event["kind"] == "gap" else [event["sequence"]]
            events.close()
        assert told == list(range(4, head + 1))
        wait_until(lambda: standby.state() == "standby" and standby.get(MODEL)[1].get("sequence") == head)
        before = server.get(MODEL)[1]
        server.kill()
        standby.wait_for("ready")
        after = standby.get(MODEL)[1]
        shown = ("examples", "mistakes", "pending", "sequence", "predictions", "corrections")
        assert [after[key] for key in shown] == [before[key] for key in shown]
        assert after["log_begins_after"] >= begin  # also without the option: what was removed stays removed
        assert standby.post(f"{MODEL}/reveal", {"id": "p4", "label": "a"})[0] == 200
        assert standby.stop() == 0
    # the log that is left is complete in itself
    result = json.loads(call("replay", store, "--json").stdout)
    assert (result["differing_predictions"], result["gaps"]) == (0, 0)
    assert result["log_begins_after"] >= begin
    assert result["examples"] == before["examples"] + 1
    call("replay", store, "--export", tmp_path / "log.jsonl.gz")
    assert json.loads(call("replay", tmp_path / "log.jsonl.gz", "--json").stdout) == result
    other = json.loads(call("replay", store, "--algorithm", "passive", "--json").stdout)
    assert other["refused"] == 1  # the correction of an example that is no longer there
    assert "not kept" in call("replay", store).stdout


def filled(store, count=120, snapshots=(40, 80)):
    """A store with a model, and snapshots after some of its events."""
    opened = Store(store)
    opened.prepare()
    opened.acquire(5.0)
    served, events, taken = Served(1, "m", "perceptron", {}, 1.0), [], []
    opened.append([served.creation()], [], [(1, "m")])
    for kind_and_request in traffic(count):
        run(served, [kind_and_request], new := [], start=1000.0 + len(events))
        events += new
        if len(events) in snapshots:
            mark = copy(served).mark
            taken.append(
                Snapshot(1, *mark[:1], container.to_bytes(*copy(served).packed()), *mark[1:], snapshots_kept(taken))
            )
            opened.append([], [taken[-1]])
    opened.append(events)
    return opened, served, taken


def snapshots_kept(taken):
    return tuple(snapshot.sequence for snapshot in taken)


def cut_all(opened, until):
    opened.cut(Removal(1, 0, until, until))


def test_every_reading_of_a_cut_log_gives_the_same_bits(store):
    opened, served, (first, second) = filled(store)
    cut_all(opened, first.sequence)
    assert opened.firsts() == {1: first.sequence + 1}
    assert [mark.sequence for mark in opened.marks()[1]] == [first.sequence, second.sequence]
    for use_snapshot in (True, False):
        assert differing(read_model(opened, 1, LIMITS, use_snapshot), served) == []
    cut_all(opened, second.sequence)
    assert opened.snapshot_numbers(1) == [second.sequence]
    assert differing(read_model(opened, 1, LIMITS, use_snapshot=False), served) == []
    opened.close()
    log = replay.open_log(store)
    again, facts = replay.replay(log, "m")
    assert facts["differing_predictions"] == facts["gaps"] == 0
    assert differing(again, served) == []
    log.store.close()


def test_an_unreadable_newest_snapshot_is_replaced_by_an_older_one(store):
    opened, served, (first, second) = filled(store)
    cut_all(opened, first.sequence)
    executed(store, sa.text(f"UPDATE rosenblatt_snapshots SET data = :d WHERE sequence = {second.sequence} AND part < 2000000")
             .bindparams(d=second.data[:-1] + b"?"))  # fmt: skip
    assert differing(read_model(opened, 1, LIMITS), served) == []
    service = Service(opened, LIMITS)
    assert asyncio.run(service._can_begin(1, first.sequence))
    assert not asyncio.run(service._can_begin(1, second.sequence))  # so its events are not removed
    executed(store, sa.text("DELETE FROM rosenblatt_snapshots"))
    with pytest.raises(
        ValueError, match=f"its log begins with the event {first.sequence + 1}, and there is no snapshot"
    ):
        read_model(opened, 1, LIMITS, use_snapshot=False)
    with pytest.raises(Gap):
        read_model(opened, 1, LIMITS)
    opened.close()


def test_events_that_are_removed_while_they_are_read_do_no_harm(store, monkeypatch):
    opened, served, (_, second) = filled(store)
    executed(store, sa.text(f"DELETE FROM rosenblatt_snapshots WHERE sequence = {second.sequence}"))
    reading, cut = opened.events, []

    def events(*arguments):
        if not cut:  # the newest snapshot is known, and only now is there a newer one with which the log begins
            cut.append(opened.append([], [second]))
            cut_all(opened, second.sequence)
        return reading(*arguments)

    monkeypatch.setattr(opened, "events", events)
    assert differing(read_model(opened, 1, LIMITS), served) == []
    assert cut
    opened.close()


def test_a_standby_that_is_late_continues_with_a_snapshot(store):
    opened, served, _ = filled(store)

    async def follow():
        other = Store(store)
        late = Service(other, LIMITS)
        await late._catch_up()
        more = []
        for n in range(60):
            more += served.learn([asked({"features": {"x": n}, "label": "spam"})], 5000.0, Limits())[0]
            if n == 40:
                mark = copy(served).mark
                data = container.to_bytes(*copy(served).packed())
        opened.append(more, [Snapshot(1, mark.sequence, data, mark.time, mark.bytes)])
        cut_all(opened, mark.sequence)
        await late._catch_up()
        late._helper.shutdown()
        late._writer.shutdown()
        other.close()
        return late

    late = asyncio.run(follow())
    assert (late.aside, late._following["m"].sequence) == ({}, served.sequence)
    assert differing(late._following["m"], served) == []
    opened.close()


def test_all_events_can_be_removed(store):
    opened, served, _ = filled(store)
    mark = copy(served).mark
    opened.append([], [Snapshot(1, mark.sequence, container.to_bytes(*copy(served).packed()), mark.time, mark.bytes)])
    cut_all(opened, mark.sequence)
    assert (opened.firsts(), opened.heads()) == ({1: None}, [(1, "m", mark.sequence)])
    assert differing(read_model(opened, 1, LIMITS), served) == []
    opened.release()
    opened.close()
    with Server(store) as server:
        assert server.get(MODEL)[1]["sequence"] >= mark.sequence  # old predictions expire
        assert server.post(f"{MODEL}/learn", {"features": {"x": 1}, "label": "spam"})[0] == 200
        assert server.get(MODEL)[1]["sequence"] > mark.sequence
