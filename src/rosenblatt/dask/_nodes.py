"""Grouping of shards for tasks and sums.

Floating-point numbers must always be added in the same order, so the groups that are summed first, the *nodes*, depend on the
number of shards only. A worker that holds all shards of a node processes them in one task and sends one sum.
"""

LARGEST = 16
"""Maximum number of shards in a node."""


def nodes_of(count: int) -> int:
    """Number of nodes: a power of two if there are enough shards, so that two, four or eight workers get equal parts."""
    nodes = 4
    while nodes * LARGEST < count:
        nodes *= 2
    return min(nodes, count)


def group_of(number: int, groups: int, count: int) -> int:
    """The group of a shard if `count` shards are split into `groups` groups whose sizes differ by at most one."""
    return ((number + 1) * groups - 1) // count


def groups_for(count: int, threads: int) -> int:
    """Number of groups, each processed by one task.

    The groups are the nodes if every thread gets at least two and none more than 25% above the mean; else the single shards.
    These balance better, but their sums take more memory and time: twice as long with a million features and 100 shards.
    """
    nodes, threads = nodes_of(count), max(1, threads)
    most = -(-nodes // threads)
    return nodes if nodes >= 2 * threads and 4 * most * threads <= 5 * nodes else count


def shared_out(count: int, threads: int) -> list[int]:
    """The thread number of each shard; neighbouring shards, and all shards of one task, get the same thread."""
    groups = groups_for(count, threads)
    return [group_of(number, groups, count) * threads // groups for number in range(count)]
