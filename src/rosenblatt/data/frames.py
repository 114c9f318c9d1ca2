"""Frames, records and lines as the rows of an encoder: pandas, polars, Arrow, a list of dicts, or lines of a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rosenblatt.engine.conventions import CSR
from rosenblatt.model.matrix import Table

from .batch import Batch, compact, join
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


def rows_of(X: Any, encoder: Encoder, features: int) -> Table | None:
    """Frames, records and lines of text as rows of this many features; None for other examples, which are encoded already.

    Lines are in the format that the encoder was made with. A record for svmlight or VW text has names of features.
    """
    if _holds(X, str):
        return _of_lines(X, encoder).table(features)
    if encoder.family == "table":
        return encode(X, encoder, features) if is_frame(X) else None
    return _of_names(X, encoder, features) if _holds(X, Mapping) else None


def rows_to_learn(X: Any, encoder: Encoder) -> Table | None:
    """The same for examples to learn, whose new categories, words and names become features of the encoder."""
    lines = _holds(X, str)
    if not lines and encoder.family != "table":
        if _holds(X, Mapping):
            raise BadData(
                f"A model of {encoder.format} text learns lines of such text or arrays; got a dict. Pass the line as it would "
                "be in a file."
            )
        return None
    if not lines and not is_frame(X):
        return None
    encoder.thaw()
    try:
        table = _of_lines(X, encoder).table(0) if lines else encode(X, encoder, 0)
    finally:
        encoder.freeze()
    return Table.of_rows(table.rows, encoder.n_features)


def _holds(X: Any, kind: type) -> bool:
    """Whether this is a list of such values, with one at least."""
    return isinstance(X, Sequence) and not isinstance(X, str) and len(X) > 0 and all(isinstance(one, kind) for one in X)


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


def _of_lines(lines: Sequence[str], encoder: Encoder) -> Batch:
    """Lines of text as `rosenblatt predict` reads them."""
    from .streams import open_stream

    if encoder.family == "table" and encoder.header and encoder.format != "jsonl":
        raise BadData(
            "A model of a table with a header predicts a frame or a list of dicts; got lines of text. Name the columns, such as "
            f"{{{next(iter(encoder.sources), 'column')!r}: …}}."
        )
    try:
        with TemporaryDirectory() as folder:
            path = Path(folder, "lines")
            path.write_text("".join(line.rstrip("\n") + "\n" for line in lines), encoding="utf-8")
            stream = open_stream(
                path, encoder=encoder, format=encoder.format, header=encoder.header, labelled=False, threads=1
            )
            batch = join([compact(one) for one in stream])
    except BadData as error:
        place = "" if error.line is None else f"Line {error.line}: "
        raise BadData(f"{place}{error.message}") from None
    if batch.size != len(lines):
        raise BadData(
            f"Each line must be one example in the format {encoder.format} of the training data; got {len(lines)} lines with "
            f"{batch.size} examples. Leave out headers and empty lines."
        )
    return batch


def _of_names(records: Sequence[Mapping[Any, Any]], encoder: Encoder, features: int) -> Table:
    """Dicts of features by their names in svmlight or VW text; unknown ones are ignored, as in files."""
    counts, indices, values = [0], list[int](), list[float]()
    for record in records:
        row = {encoder.find(str(name)): value for name, value in record.items()}
        row.pop(-1, None)
        for column in sorted(row):
            if isinstance(row[column], bool | int | float | np.number):
                indices.append(column)
                values.append(float(row[column]))
            else:
                raise BadData(
                    f"The features of an example must be numbers; {encoder.feature_name(column)!r} is {row[column]!r}. "
                    "Convert it."
                )
        counts.append(len(indices))
    return Table.of_rows(CSR(np.array(counts, np.int64), np.array(indices, np.int32), np.array(values)), features)


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
        if hasattr(X, "iloc"):
            table = pa.Table.from_pandas(X, preserve_index=False)
        else:  # older versions of polars have only `to_arrow`
            table = X.to_arrow() if hasattr(X, "to_arrow") else pa.table(X)
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
