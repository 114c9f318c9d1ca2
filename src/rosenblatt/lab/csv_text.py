"""Read points and labels from a pasted or dropped table, in the same way as `rosenblatt.data` reads a CSV file."""

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data.delimited import records, sniff
from rosenblatt.data.tables import MISSING, NUMBER, choose_label

from .runs import MOST_CLASSES, MOST_FEATURES, MOST_POINTS


def read(text: Any, label: Any = None, columns: Any = None, projection: bool = False) -> dict[str, Any]:
    """Read points and labels from the text of a CSV file.

    Parameters
    ----------
    text : str
        Fields separated by commas, semicolons, tabs or bars, with or without a header.
    label : str or None, default=None
        Column of the labels; None for a column with a typical name such as "label", else the last column.
    columns : list of str or None, default=None
        Columns to use; None for the first two columns of numbers, or for all of them with a projection.
    projection : bool, default=False
        Whether to use the first two principal components of the standardised columns.

    Returns
    -------
    dict
        ``columns``, ``numeric``, ``label``, ``chosen``; ``X``, ``y``, ``features``; ``skipped`` rows with a missing value;
        ``unused`` columns that look like numbers, each with its first cell that is none.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError("A CSV must have at least one line with numbers; got nothing. Paste a table or drop a file.")
    if "\0" in text:
        raise ValueError("A CSV must be text; got binary data. Save a spreadsheet as CSV first, and drop that file.")
    header, rows, numeric = _table(text)
    labels = header.index(str(choose_label(header, None if label is None else str(label), True)))
    chosen = _chosen(header, [place for place in numeric if place != labels], columns, projection)
    full = [row for row in rows if all(row[place] not in MISSING for place in [*chosen, labels])]
    if not full:
        raise ValueError("A CSV must have a row without empty fields; got none. Choose other columns.")
    if len(full) > MOST_POINTS:
        raise ValueError(
            f"The lab draws at most {MOST_POINTS:,} points; the CSV has {len(full):,} rows. Remove some rows, or use "
            "`rosenblatt train` for all of them."
        )
    X = np.array([[float(row[place]) for place in chosen] for row in full])
    names = [header[place] for place in chosen]
    if projection:
        X, names = _project(X), ["direction 1", "direction 2"]
    y = _labels([row[labels] for row in full])
    if len(set(y)) > MOST_CLASSES:
        raise ValueError(
            f"The column {header[labels]!r} has {len(set(y)):,} different labels; the lab draws at most {MOST_CLASSES}. "
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
        "unused": _unused(header, rows, numeric, labels),
    }


def _unused(header: list[str], rows: list[list[str]], numeric: list[int], labels: int) -> list[tuple[str, str]]:
    """Columns that look like numbers but cannot be used, each with the first cell that is none; "" if all its cells are empty."""
    found = []
    for place, name in enumerate(header):
        present = [row[place] for row in rows if row[place] not in MISSING]
        wrong = [cell for cell in present if not NUMBER.match(cell)]
        if place in numeric or place == labels or (present and 2 * (len(present) - len(wrong)) < len(present)):
            continue
        if wrong or not present:
            found.append((name, wrong[0][:40] if wrong else ""))
    return found


def _table(text: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Column names, rows, and positions of the columns of numbers."""
    text = text.lstrip("\ufeff\r\n")
    if not re.search("[,;\t|]", text.partition("\n")[0]):
        raise ValueError(
            "A CSV must have at least two columns, separated by commas, semicolons or tabs; the first line has one. Put "
            "commas between the fields."
        )
    dialect = sniff(text.encode("utf-8", "surrogatepass"), "csv", None)
    width = len(dialect.names)
    rows = [[cell.strip() for cell in cells] for _, cells in records(text, width, dialect.delimiter, dialect.quoted)]
    rows = [row for row in rows[int(dialect.header) :] if any(row)]
    header = dialect.names if dialect.header else [*(f"x{number}" for number in range(1, width)), "y"]
    numeric = [place for place, kind in enumerate(dialect.kinds.values()) if kind == "number"]
    return header, rows, [place for place in numeric if all(_is_finite(row[place]) for row in rows)]


def _is_finite(cell: str) -> bool:
    return cell in MISSING or math.isfinite(float(cell))


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
                f"The columns must contain numbers in every row that is not empty; {wrong[0]!r} does not, or is the label. "
                f"Choose from {', '.join(known) or 'none'}."
            )
        chosen = [known[name] for name in columns]
    least = 2 if projection else 1
    if not least <= len(chosen) <= MOST_FEATURES:
        raise ValueError(
            f"A CSV must have between {least} and {MOST_FEATURES} columns of numbers besides the label; got {len(chosen)}. "
            "Check that numbers have a decimal point, and that the label is the right column."
        )
    return chosen


def _project(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the first two principal components of the standardised columns."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    _, _, directions = np.linalg.svd(Z, full_matrices=False)
    directions = directions[:2] * np.sign(directions[:2].sum(axis=1, keepdims=True) + 1e-300)
    Y = Z @ directions.T
    return np.round(np.hstack([Y, np.zeros((len(Y), 2 - Y.shape[1]))]), 6)


def _labels(fields: list[str]) -> list[Any]:
    """Convert to integers if all labels are integers."""
    if all(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", field) for field in fields):
        return [int(float(field)) for field in fields]
    return fields
