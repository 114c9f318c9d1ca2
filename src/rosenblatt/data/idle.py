"""Columns that say nothing about new examples: row numbers, identifiers and constants."""

import itertools
import re
from collections.abc import Mapping, Sequence

ENOUGH = 20
"""The smallest number of rows from which such a column is recognised."""

_ID = re.compile(r"(?:^|.*[_\W])(?:id|uuid|guid)\Z|index\Z|idx\Z|.*[a-z](?:Id|ID)\Z")
_UNNAMED = re.compile(r"Unnamed: 0\Z|__index_level_0__\Z")
_WHOLE = re.compile(r"-?\d+\Z")


def idle_columns(
    samples: Mapping[str, Sequence[str]], kinds: Mapping[str, str], unnamed: str | None, complete: bool
) -> dict[str, str]:
    """The columns to leave out, each with its reason.

    Parameters
    ----------
    samples : mapping of str to sequence of str
        The first values of each column.
    kinds : mapping of str to str
        The kinds of the columns.
    unnamed : str or None
        The first column, if it has no name of its own.
    complete : bool
        Whether the samples are the whole file; otherwise no column is called constant.
    """
    found = {}
    for name, values in samples.items():
        present = [value.strip() for value in values]
        if len(present) < ENOUGH or kinds[name] == "words":
            continue
        whole = all(map(_WHOLE.match, present))
        if whole and (name == unnamed or _UNNAMED.match(name)) and _counts_up(present):
            found[name] = "row numbers"
        elif (whole or kinds[name] == "category") and _is_id(name) and len(set(present)) == len(present):
            found[name] = "an identifier"
        elif complete and len(set(present)) == 1:
            found[name] = "a single value"
    return found


def _is_id(name: str) -> bool:
    name = name.strip()
    return bool(_ID.match(name) or _ID.match(name.lower()))


def _counts_up(values: Sequence[str]) -> bool:
    numbers = [int(value) for value in values]
    return numbers[0] in (0, 1) and all(after - before == 1 for before, after in itertools.pairwise(numbers))
