"""The order in which shards are summed, and the number of shards of each worker."""

import collections
import itertools

import pytest

import rosenblatt.dask as rd
from rosenblatt.dask import _data
from rosenblatt.dask._nodes import group_of, groups_for, nodes_of, shared_out
from tests.helpers import blobs

pytest.importorskip("distributed")


@pytest.mark.parametrize("count", [*range(1, 200), 1000, 4095, 4096])
def test_nodes_are_consecutive_and_of_similar_size(count):
    nodes = [group_of(number, nodes_of(count), count) for number in range(count)]
    assert [node for node, _ in itertools.groupby(nodes)] == list(range(nodes_of(count)))
    sizes = collections.Counter(nodes).values()
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 16


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 30])
def test_every_thread_gets_shards(threads):
    for count in range(threads, 700):
        owned = collections.Counter(shared_out(count, threads))
        fair = -(-count // threads)
        assert max(owned.values()) <= max(fair, 1.25 * count / threads + 1), (count, owned)
        assert sorted(owned) == list(range(threads))


@pytest.mark.parametrize("count", [30, 31, 61, 62, 63, 64, 65, 100, 127])
def test_two_threads_get_equal_shares(count):
    assert groups_for(count, 2) < count
    few, many = sorted(collections.Counter(shared_out(count, 2)).values())
    assert many - few <= 1


@pytest.mark.parametrize("count", [31, 62])
def test_two_workers_get_equal_shares(client, monkeypatch, count):
    monkeypatch.setattr(_data, "FEW", 0)  # as with many features, where nodes stay together
    client.wait_for_workers(2)
    data, real = [], _data.Data.task_groups

    def task_groups(self):
        data.append([collections.Counter(self.holders), real(self)])
        return data[-1][1]

    monkeypatch.setattr(_data.Data, "task_groups", task_groups)
    X, y = blobs(500, 4, 2, seed=0)
    rd.Perceptron(max_iter=1, tol=None, shards=count).fit(X, y, client=client)
    owned, tasks = data[0]
    assert sorted(owned.values()) == [count // 2, count - count // 2]
    assert len(tasks) == 4
