"""Columns of predictions, written as lines, CSV, TSV, JSON lines or Parquet."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO, Any

from rosenblatt.cli._errors import writing
from rosenblatt.cli._files import output

Columns = dict[str, list[Any]]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def kind_of(path: str | None, as_json: bool, several: bool) -> str:
    """How to write: "parquet", "jsonl", a delimiter for a table with a header, or "" for lines without one."""
    ending = PurePath(path or "").suffix.lower()
    if ending in (".parquet", ".pq"):
        return "parquet"
    if as_json or ending in (".jsonl", ".ndjson"):
        return "jsonl"
    if ending == ".csv":
        return ","
    return "\t" if several else ""


@contextmanager
def columns_to(path: str | None, kind: str) -> Iterator[Any]:
    """A function that writes the next rows, given as columns."""
    if kind == "parquet":
        assert path is not None
        with _parquet(path) as write:
            yield write
        return
    with output(path) as file:
        yield _as_json(file) if kind == "jsonl" else _as_text(file, kind)


def _as_json(file: IO[str]) -> Any:
    def write(columns: Columns) -> None:
        names = list(columns)
        for row in zip(*columns.values(), strict=True):
            file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")

    return write


def _as_text(file: IO[str], delimiter: str) -> Any:
    writer: Any = csv.writer(file, delimiter=delimiter or "\t", lineterminator="\n")
    begun = not delimiter

    def write(columns: Columns) -> None:
        nonlocal begun
        if not begun:
            writer.writerow(columns)
            begun = True
        cells = [[_cell(value) for value in column] for column in columns.values()]
        writer.writerows(zip(*cells, strict=True))

    return write


def _cell(value: Any) -> Any:
    return f"{value:.9g}" if isinstance(value, float) else value


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    from rosenblatt.model_file.atomic import check_output, replacing

    check_output(path)
    made: list[Any] = []
    with writing(path), replacing(path) as draft:

        def write(columns: Columns) -> None:
            table = pa.table(columns)
            if not made and any(map(pa.types.is_null, table.schema.types)):  # no value so far, so the type is not known
                known = [
                    field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in table.schema
                ]
                table = table.cast(pa.schema(known))
            if not made:
                made.append(parquet.ParquetWriter(draft, table.schema))
            made[0].write_table(table.cast(made[0].schema))

        try:
            yield write
        finally:
            if made:
                made[0].close()
