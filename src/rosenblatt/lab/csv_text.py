"""A table that somebody pasted or dropped: which columns hold numbers, which the labels, and what the page can draw of it."""

import csv
import io
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .runs import MOST_CLASSES, MOST_FEATURES, MOST_POINTS

__all__ = ["read"]

LABEL_NAMES = ("label", "target", "class", "y")


def read(text: Any, label: Any = None, columns: Any = None, projection: bool = False) -> dict[str, Any]:
    """Points and labels from the text of a CSV file.

    Parameters
    ----------
    text : str
        Comma, semicolon or tab between the fields, with a header or without.
    label : str or None, default=None
        The column of the labels; None: one that is named like one, else the last.
    columns : list of str or None, default=None
        The columns to use; None: the first two that hold numbers, or all for a projection.
    projection : bool, default=False
        Use the two directions in which the columns, each scaled to the same spread, differ most.

    Returns
    -------
    dict
        ``columns``, ``numeric``, ``label``, ``chosen``; ``X``, ``y``, ``features``; ``skipped`` rows with an empty field.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError("A CSV must hold at least one line with numbers; got nothing. Paste the table or drop a file.")
    if "\0" in text:
        raise ValueError(
            "A CSV must be text; got bytes that are not. Save a spreadsheet as CSV first, and drop that file."
        )
    header, rows = _table(text)
    numeric = [place for place in range(len(header)) if _is_numeric(rows, place)]
    labels = _label_column(header, label)
    chosen = _chosen(header, [place for place in numeric if place != labels], columns, projection)
    full = [row for row in rows if all(row[place].strip() for place in [*chosen, labels])]
    if not full:
        raise ValueError("A CSV must have a row without empty fields; got none. Choose other columns.")
    if len(full) > MOST_POINTS:
        raise ValueError(
            f"The lab draws {MOST_POINTS:,} points at most; the CSV has {len(full):,} rows. Drop a part of them, or use "
            "`rosenblatt train` for the whole."
        )
    X = np.array([[float(row[place]) for place in chosen] for row in full])
    names = [header[place] for place in chosen]
    if projection:
        X, names = _project(X), ["direction 1", "direction 2"]
    y = _labels([row[labels].strip() for row in full])
    if len(set(y)) > MOST_CLASSES:
        raise ValueError(
            f"The column {header[labels]!r} has {len(set(y)):,} different labels; the lab draws {MOST_CLASSES} at most. "
            "Choose another column as the label."
        )
    return {
        "columns": header,
        "numeric": [header[place] for place in numeric],
        "label": header[labels],
        "chosen": [header[place] for place in chosen],
        "X": X.tolist(),
        "y": y,
        "features": names,
        "skipped": len(rows) - len(full),
    }


def _table(text: str) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the rows, all of the same length."""
    first = text.lstrip("\ufeff\r\n").partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    if not first.count(delimiter):
        raise ValueError(
            "A CSV must have at least two columns, separated by commas, semicolons or tabs; the first line has one. Put a "
            "comma between the fields."
        )
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff")), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    try:
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if rows and len(fields) != len(rows[0]):
                raise ValueError(
                    f"Line {reader.line_num} of the CSV must have {len(rows[0])} fields like the first; got {len(fields)}. "
                    "Check the separators and quotes there."
                )
            rows.append(fields)
    except csv.Error as error:
        raise ValueError(
            f"Line {reader.line_num} of the CSV cannot be read: {error}. Check the quotes there."
        ) from None
    has_header = len(rows) > 1 and not any(_number(field) is not None for field in rows[0])
    header = [field.strip() for field in rows[0]] if has_header else [f"x{n}" for n in range(1, len(rows[0]) + 1)]
    if has_header:
        header = [name or f"column {place + 1}" for place, name in enumerate(header)]
    else:
        header[-1] = "y"
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"The columns of a CSV must have different names; {twice!r} stands twice. Rename one of them.")
    return header, rows[1:] if has_header else rows


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_numeric(rows: list[list[str]], place: int) -> bool:
    fields = [row[place].strip() for row in rows]
    return any(fields) and all(not field or _number(field) is not None for field in fields)


def _label_column(header: list[str], label: Any) -> int:
    if label is None:
        named = [place for place, name in enumerate(header) if name.lower() in LABEL_NAMES]
        return named[0] if named else len(header) - 1
    if label not in header:
        raise ValueError(
            f"The label must be a column of the CSV: {', '.join(header)}; got {label!r}. Choose one of them."
        )
    return header.index(label)


def _chosen(header: list[str], numeric: list[int], columns: Any, projection: bool) -> list[int]:
    if columns is None:
        chosen = numeric if projection else numeric[:2]
    else:
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise ValueError(f"The columns must be a list of names; got {columns!r}. Choose them from the list.")
        known = {header[place]: place for place in numeric}
        wrong = [name for name in columns if name not in known]
        if wrong:
            raise ValueError(
                f"The columns must hold numbers, in every row that is not empty; {wrong[0]!r} does not, or is the label. "
                f"Choose from {', '.join(known) or 'none'}."
            )
        chosen = [known[name] for name in columns]
    least = 2 if projection else 1
    if not least <= len(chosen) <= MOST_FEATURES:
        raise ValueError(
            f"A CSV must have between {least} and {MOST_FEATURES} columns of numbers beside the label; got {len(chosen)}. "
            "Check that numbers are written with a point, and that the right column is the label."
        )
    return chosen


def _project(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first two principal components of the standardised columns."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    _, _, directions = np.linalg.svd(Z, full_matrices=False)
    directions = directions[:2] * np.sign(directions[:2].sum(axis=1, keepdims=True) + 1e-300)
    Y = Z @ directions.T
    return np.round(np.hstack([Y, np.zeros((len(Y), 2 - Y.shape[1]))]), 6)


def _labels(fields: list[str]) -> list[Any]:
    """Whole numbers if all of them are, else words."""
    if all(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", field) for field in fields):
        return [int(float(field)) for field in fields]
    return fields
