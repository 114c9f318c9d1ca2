"""Frames and records as the rows of an encoder: pandas, polars, Arrow, or a list of dicts."""

from collections.abc import Mapping, Sequence
from typing import Any

from rosenblatt.model.matrix import Table

from .encoder import Encoder
from .errors import BadData
from .parquet import cast_column
from .tables import MISSING, BadCell, InfiniteNumber, TableReader


def is_frame(X: Any) -> bool:
    """Whether an object is a frame or a list of dicts."""
    if isinstance(X, Sequence) and not isinstance(X, str):
        return len(X) > 0 and all(isinstance(row, Mapping) for row in X)
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def encode(X: Any, encoder: Encoder, features: int) -> Table:
    """The rows of a frame as `encoder` makes them of a file with the same columns."""
    import pyarrow as pa

    try:
        table = pa.Table.from_pylist([dict(row) for row in X]) if isinstance(X, Sequence) else _as_arrow(X)
    except (pa.ArrowException, TypeError) as error:
        raise BadData(
            f"The columns of a frame must hold numbers, text or lists of text; {str(error).rstrip('.')}. Convert them first."
        ) from None
    names = list(table.column_names)
    if isinstance(X, Sequence) or encoder.format == "jsonl":  # a record need not have all fields
        for name in encoder.sources:
            if name not in names:
                table = table.append_column(name, pa.nulls(table.num_rows))
    reader = TableReader(encoder, table.column_names, labelled=False)
    columns = {}
    for name, kind in encoder.sources.items():
        column = table.column(name).combine_chunks()
        columns[name] = _cast(column, name, kind, [*MISSING, *encoder.na], name in encoder.forms)
    try:
        parsed = reader.encode(columns, table.num_rows, table.num_rows)
    except BadCell as bad:
        raise BadData(f"Row {bad.row}: {bad.message}") from None
    except InfiniteNumber as bad:
        raise BadData(
            f"Column {bad.column!r} must hold finite numbers; row {bad.row} has {bad.value}. Write a number, or leave it empty."
        ) from None
    return reader.finish(parsed, 1).table(features)


def _as_arrow(X: Any) -> Any:
    import pyarrow as pa

    if hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    if hasattr(X, "to_arrow"):  # older versions of polars
        return X.to_arrow()
    return pa.Table.from_pandas(X, preserve_index=False)


def _cast(column: Any, name: str, kind: str, missing: list[str], formed: bool) -> Any:
    """A column of numbers as float64; others as text, in which some words mean a missing value.

    A column that is `formed` has numbers or dates as text in the form that the encoder has.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if text:
            trimmed = pc.utf8_trim_whitespace(column)
            column = pc.if_else(
                pc.is_in(trimmed, pa.array(missing, column.type)), None, trimmed if kind == "number" else column
            )
            if formed:
                return column.cast(pa.string())
        cast = cast_column(column, kind == "number")
    except pa.ArrowException as error:
        raise BadData(
            f"Column {name!r} must hold {'numbers' if kind == 'number' else 'text'}, as it did in training; "
            f"{str(error).rstrip('.')}. Convert it first."
        ) from None
    return pc.if_else(pc.is_nan(cast), None, cast) if kind == "number" else cast
