"""Parquet files, read in batches of rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from .encoder import KINDS, Encoder
from .errors import BadData
from .idle import idle_columns
from .sources import Opened
from .tables import InfiniteNumber, Parsed, TableReader, guess_kind, plan

SAMPLE = 1000
"""Number of rows used to decide whether a column of text holds words or categories."""


def _kind(column: Any) -> str:
    """The kind of a column, from its type, and for text from its first values; the type itself if it is none of these."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return "number"
    if types.is_dictionary(column.type) or types.is_temporal(kind) or types.is_null(kind):
        return "category"
    if types.is_string(kind) or types.is_large_string(kind):
        text = guess_kind([value or "" for value in column.to_pylist()])
        return "category" if text == "number" else text
    if types.is_list(kind) and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type)):
        return "words"
    return str(column.type)


class ParquetReader(TableReader):
    """Reader of Parquet files."""

    def __init__(self, encoder: Encoder, names: list[str], batch_bytes: int, labelled: bool = True) -> None:
        super().__init__(encoder, names, labelled)
        self.batch_bytes = batch_bytes
        self.wanted = [*encoder.columns, *([str(encoder.label)] if self.has_label else [])]

    @classmethod
    def of(
        cls,
        source: Opened,
        encoder: Encoder | None,
        batch_bytes: int,
        label: str | int | None,
        types: Mapping[str, str] | None,
        labelled: bool,
        options: Mapping[str, Any],
    ) -> "ParquetReader":
        """Create a reader for files with the columns of this one."""
        file = _open(source)
        names = list(file.schema_arrow.names)
        if encoder is None:
            first = next(file.iter_batches(SAMPLE), None)
            if first is None:
                raise BadData(
                    "A file must hold at least one example; this one has none. Check that it was written completely."
                )
            kinds = {name: _kind(column) for name, column in zip(names, first.columns)}
            samples = {
                name: ["" if value is None else str(value) for value in column.to_pylist()]
                for name, column in zip(names, first.columns)
                if kinds[name] in KINDS
            }
            complete = file.metadata.num_rows <= SAMPLE
            encoder = plan(kinds, label, types, labelled, idle=idle_columns(samples, kinds, None, complete), **options)
            return cls(encoder, names, batch_bytes)
        return cls(encoder, names, batch_bytes, labelled)

    def work(self, source: Opened) -> Iterator[Any]:
        """Record batches of approximately the size of a block."""
        import pyarrow as pa

        file = _open(source)
        self.check_columns(file.schema_arrow.names)
        details = file.metadata
        size = sum(details.row_group(i).total_byte_size for i in range(details.num_row_groups))
        rows = max(1, min(65536, self.batch_bytes * max(1, details.num_rows) // max(1, size)))
        try:
            groups = None if source.span is None else list(range(*source.span))
            yield from file.iter_batches(rows, row_groups=groups, columns=self.wanted)
        except (OSError, pa.ArrowException) as error:
            raise BadData(
                f"The Parquet file cannot be read: {str(error).rstrip('.')}. Copy or write it again."
            ) from None

    def parse(self, unit: Any) -> Parsed:
        """Cast the columns to numbers and text, then encode them."""
        import pyarrow as pa
        import pyarrow.compute

        encoder, columns = self.encoder, {}
        for name in self.wanted:
            column = unit.column(name)
            if name == encoder.label and isinstance(column, pa.ListArray | pa.LargeListArray):
                raise BadData(
                    f"The label {name!r} must be one text or number; got a list. Choose one class for each row, or name another "
                    "column with --label."
                )
            numeric = encoder.columns.get(name, encoder.label_kind) == "number"
            try:
                columns[name] = _cast(column, numeric)
            except pa.ArrowException as error:
                raise BadData(
                    f"Column {name!r} cannot be read as {'numbers' if numeric else 'text'}: {str(error).rstrip('.')}. Set "
                    "its type."
                ) from None
        if self.has_label and encoder.na and encoder.label_kind != "number":
            labels = columns[str(encoder.label)]
            named = pa.compute.is_in(labels, pa.array(encoder.na, labels.type))
            columns[str(encoder.label)] = pa.compute.if_else(named, None, labels)
        try:
            return self.encode(columns, unit.num_rows, unit.num_rows)
        except InfiniteNumber as bad:
            raise BadData(
                f"Column {bad.column!r} must hold finite numbers; got {bad.value}. Write a number, or null if it is missing.",
                line=bad.row + 1,
            ) from None


def _cast(column: Any, numeric: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if numeric and types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if types.is_list(column.type):
        column = pc.binary_join(column.cast(pa.list_(pa.string())), " ")
    return column.cast(pa.float64() if numeric else pa.string())


def _open(source: Opened) -> Any:
    """Open the file from its beginning; standard input is read completely, because Parquet metadata are at the end."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(source.whole(), pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise BadData(f"The Parquet file cannot be read: {str(error).rstrip('.')}. Copy or write it again.") from None
