"""When shards of a slow worker are given to others."""

from types import SimpleNamespace

import pytest

from rosenblatt.dask._data import Data
from rosenblatt.dask._pace import BANDWIDTH, LAG, MESSAGES, WATCHED, Pace, lags, pays, seconds_of
from rosenblatt.dask._partials import Note

MB = 1_000_000


def watched(*epochs):
    """A pace that has seen epochs, each with the seconds that shard 0 took on worker a and shard 1 on worker b."""
    pace = Pace()
    for a, b in epochs:
        pace.note([Note(0, seconds=a, place="a 1"), Note(1, seconds=b, place="b 7")], [MB, 2 * MB])
    return pace


def test_speeds_are_the_best_of_the_last_epochs():
    pace = watched((0.001, 0.001), (1.0, 8.0), (0.5, 2.0), (1.0, 4.0))
    assert WATCHED == 3
    assert pace.speeds({"a": 1, "b": 4}) == {"a": 2 * MB, "b": 4 * MB}


@pytest.mark.parametrize("workers", [{"a": 1, "b": 1, "new": 1}, {"new": 1}])
def test_who_was_not_watched_is_not_judged(workers):
    assert watched(*[(1.0, 1.0)] * WATCHED).speeds(workers) is None


def test_a_few_epochs_say_nothing():
    pace = watched(*[(1.0, 1.0)] * (WATCHED - 1))
    assert pace.speeds({"a": 1}) is None
    pace = watched(*[(1.0, 1.0)] * WATCHED)
    assert pace.speeds({"a": 1}) == {"a": MB}
    pace.forget()
    assert pace.speeds({"a": 1}) is None


def test_no_time_at_all_is_very_fast():
    assert watched(*[(0.0, 1.0)] * WATCHED).speeds({"a": 1, "b": 1})["a"] > 1e12


def test_lagging():
    speeds = {"a": 1.0, "b": 1.0, "idle": 2.0}
    assert seconds_of({"a": 3.0, "b": 1.0}, speeds) == 3.0
    even = {"a": 1.0, "b": 1.0, "idle": 2.0}
    assert not lags(even, speeds)
    assert not lags({**even, "a": LAG, "idle": 3 - LAG}, speeds)
    assert lags({**even, "a": 1.01 * LAG, "idle": 3 - 1.01 * LAG}, speeds)


def test_moving_must_pay():
    assert pays(saved=1.0, moved=2 * BANDWIDTH, done=3, left=3)
    assert not pays(saved=1.0, moved=2 * BANDWIDTH, done=2, left=1000)
    assert not pays(saved=1.0, moved=2 * BANDWIDTH, done=1000, left=2)
    assert not pays(saved=MESSAGES / 4, moved=0, done=3, left=3)
    assert not pays(saved=-1.0, moved=0, done=1000, left=1000)


class Still(Data):
    """Data without a cluster: what would be moved is written down."""

    def __init__(self, holders, limits):
        self.pace = Pace()
        self.holders = [(one,) for one in holders]
        self.shards = list(holders)
        self.facts = [SimpleNamespace(bytes=MB) for _ in holders]
        self.workers = dict.fromkeys(sorted(set(holders)), 1)
        self.client = SimpleNamespace(run_on_scheduler=None)
        self.awaiting = SimpleNamespace(ask=lambda *_: limits)
        self.moved = {}
        for _ in range(WATCHED):
            notes = [Note(n, seconds=9.0 if one == "a" else 1.0, place=one) for n, one in enumerate(holders)]
            self.pace.note(notes, [MB] * len(holders))

    def _move(self, moves):
        self.moved = moves


def test_a_worker_keeps_a_shard_and_neighbours_stay_together():
    data = Still("aaaaabbbbb", {"a": 0, "b": 0})
    data.even_out(3, 3)
    assert data.moved == dict.fromkeys((1, 2, 3, 4), "b")
    assert data.pace.speeds(data.workers) is None


@pytest.mark.parametrize(("limit", "moved"), [(18 * MB, 4), (17 * MB, 0)])
def test_who_has_no_room_gets_nothing(limit, moved):
    data = Still("aaaaabbbbb", {"a": 1, "b": limit})
    data.even_out(3, 3)
    assert len(data.moved) == moved


def test_without_epochs_to_come_nothing_moves():
    data = Still("aaaaabbbbb", {"a": 0, "b": 0})
    data.even_out(3, 0)
    assert not data.moved
    assert data.pace.speeds(data.workers) is not None
