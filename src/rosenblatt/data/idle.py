"""Columns that say nothing about new examples: row numbers, identifiers and constants."""

import itertools
import re
from collections.abc import Mapping, Sequence

ENOUGH = 20
"""The smallest number of rows from which such a column is recognised."""

_ID = re.compile(r"(?:^|.*[_\W])(?:id|uuid|guid)\Z|index\Z|idx\Z|.*[a-z](?:Id|ID)\Z")
_INDEX = re.compile(r"Unnamed: 0\Z|__index_level_0__\Z")
_WHOLE = re.compile(r"-?\d+\Z")


def idle_columns(
    samples: Mapping[str, Sequence[str]],
    kinds: Mapping[str, str],
    complete: bool,
    *,
    unnamed: str | None = None,
    index: str | None = None,
) -> dict[str, str]:
    """The columns to leave out, each with its reason.

    Parameters
    ----------
    samples : mapping of str to sequence of str
        The first values of each column.
    kinds : mapping of str to str
        The kinds of the columns.
    complete : bool
        Whether the samples are the whole file; otherwise no column is called constant.
    unnamed : str or None, default=None
        The first column, if no column has a name. It is left out if it counts up from 0 or 1.
    index : str or None, default=None
        The first column, if all others have names, as pandas and R write the index or the names of rows. It is left out if it
        has whole numbers, in any order, or texts that differ.
    """
    found = {}
    for name, values in samples.items():
        present = [value.strip() for value in values]
        whole = all(map(_WHOLE.match, present))
        if present and (name == index or _INDEX.match(name)):
            if whole:
                found[name] = "row numbers"
            elif kinds[name] in ("category", "words") and len(set(present)) == len(present):
                found[name] = "row names"
        elif len(present) < ENOUGH or kinds[name] == "words":
            continue
        elif whole and name == unnamed and _counts_up(present):
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
