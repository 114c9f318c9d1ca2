"""Which shards are added up first, and which one task works off.

Floating-point numbers must always be added in the same order, so the groups whose sums are formed first, the *nodes*, follow from
the number of shards alone. Whoever has all shards of a node works them off in one task and sends one sum.
"""

LARGEST = 16
"""A node has so many shards at most."""


def nodes_of(count: int) -> int:
    """The number of nodes: a power of two where there are enough shards, so that two, four or eight workers get equal parts."""
    nodes = 4
    while nodes * LARGEST < count:
        nodes *= 2
    return min(nodes, count)


def group_of(number: int, groups: int, count: int) -> int:
    """The group of a shard, where so many shards are cut into groups whose sizes differ by one at most."""
    return ((number + 1) * groups - 1) // count


def groups_for(count: int, threads: int) -> int:
    """The number of groups that are worked off by one task each.

    The nodes, if every thread gets two of them at least, and none more than a quarter above its part; else every shard is one.
    That is even, but sums of single shards take more memory and time: with a million features and 100 shards twice as long.
    """
    nodes, threads = nodes_of(count), max(1, threads)
    most = -(-nodes // threads)
    return nodes if nodes >= 2 * threads and 4 * most * threads <= 5 * nodes else count


def shared_out(count: int, threads: int) -> list[int]:
    """For each shard the number of the thread that gets it: neighbours together, and whole what one task works off."""
    groups = groups_for(count, threads)
    return [group_of(number, groups, count) * threads // groups for number in range(count)]
