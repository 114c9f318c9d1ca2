"""Parquet files, read in batches of rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from .dates import date_form
from .encoder import KINDS, Encoder
from .errors import BadData
from .idle import idle_columns
from .sources import Opened
from .summary import Sample
from .tables import MISSING, BadCell, InfiniteNumber, Parsed, TableReader, guess, plan

SAMPLE = 1000
"""Number of rows used to decide whether a column of text holds words or categories."""


def _guess(column: Any, tolerant: bool) -> tuple[str, Any]:
    """The kind and the form of a column, from its type, and for text and dates from its first values; else the type itself."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        form = date_form([value for value in cast_column(column, numeric=False).to_pylist() if value])
        return ("category", None) if form is None else ("date", form)
    if types.is_string(kind) or types.is_large_string(kind):
        text, form = guess([value or "" for value in column.to_pylist()], tolerant=tolerant)
        return ("category", None) if text == "number" and form is None else (text, form)
    return _kind(column), None


def _kind(column: Any) -> str:
    """The kind of a column that is not text, from its type; the type itself if it is none of these."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return "number"
    if types.is_dictionary(column.type) or types.is_temporal(kind) or types.is_null(kind):
        return "category"
    if types.is_list(kind) and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type)):
        return "words"
    return str(column.type)


class ParquetReader(TableReader):
    """Reader of Parquet files."""

    def __init__(self, encoder: Encoder, names: list[str], batch_bytes: int, labelled: bool = True) -> None:
        super().__init__(encoder, names, labelled)
        self.batch_bytes = batch_bytes

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
        tolerant: bool = False,
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
            guesses = {name: _guess(column, tolerant) for name, column in zip(names, first.columns)}
            kinds = {name: kind for name, (kind, _) in guesses.items()}
            forms = {name: form for name, (_, form) in guesses.items() if form is not None}
            texts = {
                name: ["" if value is None else str(value) for value in column.to_pylist()]
                for name, column in zip(names, first.columns)
                if kinds[name] in KINDS
            }
            complete = file.metadata.num_rows <= SAMPLE
            label_kinds = {name: "category" if name in forms else kind for name, kind in kinds.items()}
            encoder = plan(
                kinds, label, types, labelled, idle=idle_columns(texts, kinds, complete), forms=forms,
                label_kinds=label_kinds,
                samples={name: Sample.of(values, [*MISSING, *options["na"]]) for name, values in texts.items()}, **options,
            )  # fmt: skip
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

    def bad_rows(self, unit: Any, problem: BadData) -> list[tuple[BadData, int]]:
        """The bad rows that are known after an error, as in `OneLineEach`."""
        return [] if problem.line is None else [(problem, 1)]

    def without(self, unit: Any, lines: set[int]) -> Any:
        """The unit without these rows, counted from 1; None if no row is left."""
        import pyarrow as pa

        mask = [row not in lines for row in range(1, unit.num_rows + 1)]
        return unit.filter(pa.array(mask)) if any(mask) else None

    def parse(self, unit: Any) -> Parsed:
        """Cast the columns to numbers and text, then encode them."""
        import pyarrow as pa
        import pyarrow.compute

        encoder, columns = self.encoder, {}
        kept = {name: unit.column(name).to_pylist() for name in self.kept}
        needed = {*encoder.sources, *([str(encoder.label)] if self.has_label else []), self.weight}
        for name in self.wanted:
            if name not in needed:
                continue
            column = unit.column(name)
            if name == encoder.label and isinstance(column, pa.ListArray | pa.LargeListArray):
                raise BadData(
                    f"The label {name!r} must be one text or number; got a list. Choose one class for each row, or name another "
                    "column with --label."
                )
            numeric = name == self.weight or encoder.sources.get(name, encoder.label_kind) == "number"
            try:
                columns[name] = cast_column(column, numeric and not (name in encoder.forms and _is_text(column)))
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
            for name in encoder.forms:
                columns[name] = without_missing(columns[name], [*MISSING, *encoder.na])
            return self.encode(columns, unit.num_rows, unit.num_rows, kept)
        except BadCell as bad:
            raise BadData(bad.message, line=bad.row + 1) from None
        except InfiniteNumber as bad:
            raise BadData(
                f"Column {bad.column!r} must hold finite numbers; got {bad.value}. Write a number, or null if it is missing.",
                line=bad.row + 1,
            ) from None


def cast_column(column: Any, numeric: bool) -> Any:
    """A column as float64 or as text."""
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


def _is_text(column: Any) -> bool:
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def without_missing(column: Any, missing: list[str]) -> Any:
    """A column of texts, without blanks around them, in which those that mean a missing value are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(column):
        return column
    trimmed = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(trimmed, pa.array(missing, trimmed.type)), None, trimmed)


def _open(source: Opened) -> Any:
    """Open the file from its beginning; standard input is read completely, because Parquet metadata are at the end."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(source.whole(), pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise BadData(f"The Parquet file cannot be read: {str(error).rstrip('.')}. Copy or write it again.") from None
