"""Frames, records and lines as the rows of an encoder: pandas, polars, Arrow, a list of dicts, or lines of a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from rosenblatt.model.matrix import Table

from .encoder import Encoder
from .errors import BadData
from .parquet import cast_column
from .tables import MISSING, BadCell, InfiniteNumber, TableReader


def is_frame(X: Any) -> bool:
    """Whether an object is a frame or a list of dicts; an error for one that is almost one."""
    if isinstance(X, Sequence) and not isinstance(X, str):
        return all(isinstance(row, Mapping) for row in X)
    if isinstance(X, str | Mapping) or type(X).__name__ == "Series":
        raise BadData(
            f"A model of a table predicts a frame or a list of dicts; got a {type(X).__name__}. For one row call "
            "predict_one with a dict, or pass a list that holds it."
        )
    return _is_lazy(X) or hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def _is_lazy(X: Any) -> bool:
    """Whether this is a LazyFrame of polars."""
    return hasattr(X, "collect") and hasattr(X, "collect_schema")


def encode(X: Any, encoder: Encoder, features: int) -> Table:
    """The rows of a frame as `encoder` makes them of a file with the same columns; other columns are not looked at."""
    if isinstance(X, Sequence):
        columns, rows = _of_records(X, encoder), len(X)
    else:
        columns, rows = _of_frame(X, encoder)
    reader = TableReader(encoder, list(columns), labelled=False)
    columns = {
        name: _cast(columns[name], name, kind, [*MISSING, *encoder.na], name in encoder.forms)
        for name, kind in encoder.sources.items()
    }
    try:
        parsed = reader.encode(columns, rows, rows)
    except BadCell as bad:
        raise BadData(f"Row {bad.row}: {bad.message}") from None
    except InfiniteNumber as bad:
        raise BadData(
            f"Column {bad.column!r} must hold finite numbers; row {bad.row} has {bad.value}. Write a number, or leave it empty."
        ) from None
    return reader.finish(parsed, 1).table(features)


def _of_records(records: Sequence[Mapping[str, Any]], encoder: Encoder) -> dict[str, Any]:
    """The columns that the encoder needs; a record need not have all of them, and NaN and NA are missing values."""
    import pyarrow as pa

    columns = {}
    for name in encoder.sources:
        try:
            columns[name] = pa.array([record.get(name) for record in records], from_pandas=True)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise _not_of_one_kind(name, error) from None
    return columns


def _of_frame(X: Any, encoder: Encoder) -> tuple[dict[str, Any], int]:
    """The columns of a frame that the encoder needs, and the number of rows."""
    import pyarrow as pa

    if _is_lazy(X):
        X = X.collect()
    if hasattr(X, "dtypes"):  # pandas or polars; other columns may hold what Arrow has no type for
        wanted = [name for name in X.columns if str(name) in encoder.sources]
        rows, X = len(X), X[wanted]
    else:
        X = pa.table(X)
        rows, X = X.num_rows, X.select([name for name in X.column_names if name in encoder.sources])
    try:
        table = pa.Table.from_pandas(X, preserve_index=False) if hasattr(X, "iloc") else pa.table(X)
    except (pa.ArrowException, TypeError) as error:
        raise BadData(
            f"The columns of a frame must hold numbers, text or lists of text; {str(error).rstrip('.')}. Convert them first."
        ) from None
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    if encoder.format == "jsonl":  # a record need not have all fields
        columns = {name: columns.get(name, pa.nulls(rows)) for name in encoder.sources}
    return columns, rows


def _not_of_one_kind(name: str, error: Exception) -> BadData:
    return BadData(
        f"Column {name!r} must hold numbers, text or lists of text, of one kind; {str(error).rstrip('.')}. Convert it first."
    )


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
