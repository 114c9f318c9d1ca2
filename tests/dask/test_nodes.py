"""Which shards are added up first, and who gets how many of them."""

import collections
import itertools

import pytest

from rosenblatt.dask._nodes import group_of, groups_for, nodes_of
from rosenblatt.dask._sources import places_of


@pytest.mark.parametrize("count", [*range(1, 200), 1000, 4095, 4096])
def test_nodes_follow_each_other_and_are_of_one_size(count):
    nodes = [group_of(number, nodes_of(count), count) for number in range(count)]
    assert [node for node, _ in itertools.groupby(nodes)] == list(range(nodes_of(count)))
    sizes = collections.Counter(nodes).values()
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 16


class Workers:
    """Stands where a cluster is asked for its workers."""

    def __init__(self, count):
        self.client = self
        self.nthreads = {f"worker {number:02}": 1 for number in range(count)}

    def ask(self, answer):
        return answer


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 30])
def test_every_worker_gets_its_part(workers):
    for count in range(workers, 700):
        owned = collections.Counter(places_of(Workers(workers), count))
        fair = -(-count // workers)
        assert max(owned.values()) <= max(fair, 1.25 * count / workers + 1), (count, owned)
        assert len(owned) == workers


@pytest.mark.parametrize("count", [30, 31, 61, 62, 63, 64, 65, 100, 127])
def test_two_workers_share_alike(count):
    assert groups_for(count, 2) < count
    few, many = sorted(collections.Counter(places_of(Workers(2), count)).values())
    assert many - few <= 1
