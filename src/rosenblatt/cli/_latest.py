"""`train --split time:COLUMN`: set the latest examples aside instead of random ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli._errors import Usage
from rosenblatt.cli._files import open_stream
from rosenblatt.data.dates import date_form, times
from rosenblatt.data.errors import did_you_mean
from rosenblatt.data.tables import MISSING, NUMBER


def time_column(split: str) -> str:
    """The column that --split names."""
    kind, colon, column = split.partition(":")
    if kind != "time" or not colon or not column:
        raise Usage(f"--split takes time:COLUMN, such as time:date; got {split!r}. It sets the latest examples aside.")
    return column


def latest(
    data: Sequence[str], column: str, share: float, format: str | None, header: bool | None  # noqa: A002
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether each row is among the latest: this share of the rows, and those of the same time as the first of them.

    A row without a time is not.
    """
    if "-" in data:
        raise Usage("--split reads the data twice; got standard input. Save it to a file.")
    names = getattr(open_stream(data, format=format, header=header, labelled=False)._reader, "names", None)
    if names is None:
        raise Usage(f"--split needs a table with columns; got --split time:{column} for another format. Leave it out.")
    if column not in names:
        raise Usage(f"--split must name a column; got {column!r}. {did_you_mean(column, names)}")
    types = {name: "ignore" for name in names if name != column} | {column: "category"}
    others = {"types": types, "label": next((name for name in names if name != column), None), "labelled": False}
    stream = open_stream(data, format=format, header=header, bits=1, keep=[column], **others)
    texts = []
    for batch in stream:
        assert batch.kept is not None
        texts += [None if value is None else str(value).strip() for value in batch.kept[column]]
    values = _as_times(texts, column)
    known = np.sort(values[~np.isnan(values)])
    cut = known[min(known.size - 1, int(np.ceil((1.0 - share) * known.size)))] if known.size else np.inf
    late = values >= cut
    if late.all() or not late.any() or cut == known[0]:
        raise Usage(
            f"--split needs different times in {column!r}, some for learning and some to set aside; got "
            f"{np.unique(known).size:,}. Name another column, or leave it out."
        )
    return late


def _as_times(texts: list[str | None], column: str) -> NDArray[np.float64]:
    """Numbers or dates as numbers that grow with time; NaN where there is none."""
    import pyarrow as pa

    present = [text for text in texts if text is not None and text not in MISSING]
    if all(map(NUMBER.match, present)):
        return np.array([float(text) if text is not None and text not in MISSING else np.nan for text in texts])
    form = date_form(present)
    if form is None:
        raise Usage(
            f"--split needs a column of numbers or dates; {column!r} has others, such as {present[0][:40]!r}. Name "
            "another column."
        )
    found: Any = times(pa.array([None if text in MISSING else text for text in texts], pa.string()), form)
    values: NDArray[np.float64] = found
    return values
