"""When shards of a slow worker are moved to others."""

from types import SimpleNamespace

import pytest

from rosenblatt.dask._data import Data
from rosenblatt.dask._pace import BANDWIDTH, GAIN, LAG, MESSAGES, WATCHED, Pace, Plan, pays
from rosenblatt.dask._partials import Note

MB = 1_000_000


def watched(*epochs):
    """A pace after some epochs, each given by the seconds for shard 0 on worker a and for shard 1 on worker b."""
    pace = Pace()
    for a, b in epochs:
        pace.note([Note(0, seconds=a, place="a 1"), Note(1, seconds=b, place="b 7")], [MB, 2 * MB])
    return pace


def test_speeds_are_the_best_of_the_last_epochs():
    pace = watched((0.001, 0.001), (1.0, 8.0), (0.5, 2.0), (1.0, 4.0))
    assert WATCHED == 3
    assert pace.speeds("ab") == {"a": 2 * MB, "b": 1 * MB}
    assert pace.epochs == 4


@pytest.mark.parametrize("workers", ["abc", "c"])
def test_a_worker_without_measurements_has_no_speed(workers):
    assert watched(*[(1.0, 1.0)] * WATCHED).speeds(workers) is None


def test_speeds_need_enough_epochs():
    pace = watched(*[(1.0, 1.0)] * (WATCHED - 1))
    assert pace.speeds("a") is None
    pace = watched(*[(1.0, 1.0)] * WATCHED)
    assert pace.speeds("a") == {"a": MB}
    pace.moved()
    assert pace.speeds("a") is None


def test_after_each_move_the_number_of_measured_epochs_doubles():
    pace = Pace()
    for patience in (WATCHED, 2 * WATCHED, 4 * WATCHED):
        for _ in range(patience):
            assert pace.speeds("a") is None
            pace.note([Note(0, seconds=1.0, place="a")], [MB])
        assert pace.speeds("a") == {"a": MB}
        pace.moved()


def test_a_worker_without_examples_has_no_speed():
    pace = Pace()
    for _ in range(WATCHED):
        pace.note([Note(0, seconds=1.0, place="a"), Note(1, seconds=0.0, place="b")], [MB, 0])
    assert pace.speeds("a") == {"a": MB}
    assert pace.speeds("ab") is None


def test_a_time_of_0_is_a_very_high_speed():
    assert watched(*[(0.0, 1.0)] * WATCHED).speeds("ab")["a"] > 1e12


def plan(threads=1, **sizes):
    """Workers a and b learn one byte per second in each thread, worker c two."""
    return Plan(dict.fromkeys("abc", threads), {"a": 1.0, "b": 1.0, "c": 2.0}, sizes)


def test_lagging():
    assert plan(a=[1, 2], b=[1], c=[]).seconds() == 3.0
    assert not plan(a=[1], b=[1], c=[2]).lags()
    assert not plan(a=[100 * LAG], b=[100], c=[300 - 100 * LAG]).lags()
    assert plan(a=[101 * LAG], b=[100], c=[300 - 101 * LAG]).lags()


def test_a_shard_is_learned_by_one_thread():
    assert plan(4, a=[8] * 4, b=[8] * 4, c=[8] * 4).seconds() == 8.0
    assert plan(4, a=[8] * 4, b=[8] * 3, c=[8] * 9).seconds() == 12.0
    assert plan(4, a=[8] * 4, b=[8] * 3, c=[8] * 5).seconds() == 8.0


def test_shards_move_only_if_it_saves_time():
    assert pays(2.0, 1.0, moved=2 * BANDWIDTH, done=3, left=3)
    assert not pays(2.0, 1.0, moved=2 * BANDWIDTH, done=2, left=1000)
    assert not pays(2.0, 1.0, moved=2 * BANDWIDTH, done=1000, left=2)
    assert not pays(MESSAGES / 2, MESSAGES / 4, moved=0, done=3, left=3)
    assert not pays(GAIN - 0.001, 1.0, moved=0, done=1000, left=1000)
    assert not pays(1.0, 2.0, moved=0, done=1000, left=1000)


class Still(Data):
    """Data without a cluster: moves are only recorded. The worker called a takes nine times as long as the others."""

    def __init__(self, holders, room=1e9, threads=1, slow=9.0):
        super().__init__(SimpleNamespace(run_on_scheduler=None), None)
        self.holders = [(one,) for one in holders]
        self.shards = list(holders)
        self.facts = [SimpleNamespace(bytes=MB) for _ in holders]
        self.workers = dict.fromkeys(sorted(set(holders)), threads)
        self.awaiting = SimpleNamespace(ask=lambda *_: dict.fromkeys(self.workers, room))
        self.moved = {}
        for _ in range(WATCHED):
            notes = [Note(n, seconds=slow if one == "a" else 1.0, place=one) for n, one in enumerate(holders)]
            self.pace.note(notes, [MB] * len(holders))

    def _move(self, moves):
        self.moved = moves


def test_a_worker_keeps_a_shard_and_neighbours_stay_together():
    data = Still("aaaaabbbbb")
    data.even_out(3)
    assert data.moved == dict.fromkeys((1, 2, 3, 4), "b")
    assert data.pace.speeds(data.workers) is None
    assert data.pace.epochs == 0


@pytest.mark.parametrize(("room", "moved"), [(4 * MB, 4), (4 * MB - 1, 0)])
def test_a_worker_without_free_memory_gets_no_shards(room, moved):
    data = Still("aaaaabbbbb", room)
    data.even_out(3)
    assert len(data.moved) == moved


def test_nothing_moves_after_the_last_epoch():
    data = Still("aaaaabbbbb")
    data.even_out(0)
    assert not data.moved
    assert data.pace.speeds(data.workers) is not None


@pytest.mark.parametrize(("threads", "moved"), [(4, 0), (1, 1)])
def test_shards_do_not_move_to_a_worker_without_a_free_thread(threads, moved):
    data = Still("aaaabbbb", threads=threads, slow=1.6)
    data.even_out(1000)
    assert len(data.moved) == moved


def test_shards_do_not_move_back_and_forth():
    """Two equal workers cannot share three shards evenly: moving one is no improvement."""
    data = Still("aab", slow=1.02)
    data.pace.epochs = 1000
    data.even_out(1000)
    assert not data.moved


def test_a_worker_that_joins_during_a_move_gets_shards():
    data = Still("aaabbb")
    data.few, data._served = True, {"a", "b"}
    data.workers = {"a": 1, "b": 1, "c": 1}  # known since the move
    data.client.nthreads, data.awaiting.ask, data.locate = None, lambda *_: data.workers, lambda: None
    data.follow()
    assert list(data.moved.values()) == ["c", "c"]
    data.moved = {}
    data.follow()
    assert not data.moved


def test_shards_without_a_known_worker_are_located_again():
    data, looked = Still("aaabbb"), []
    data.few, data._served, data.holders[2] = True, {"a", "b"}, ()
    data.client.nthreads, data.awaiting.ask, data.locate = None, lambda *_: data.workers, lambda: looked.append(1)
    data.follow()
    assert looked
    data.holders[2] = ("a",)
    data.follow()
    assert looked == [1]
