"""JSON lines: an object on each line; nested objects are flattened, so that ``{"a": {"b": 1}}`` has the column a.b."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .encoder import Encoder
from .errors import BadData
from .idle import idle_columns
from .sources import Block, Buffers, Opened, blocks
from .tables import MISSING, NUMBER, Parsed, TableReader, guess_kind


def _flat(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _record(line: bytes) -> dict[str, Any]:
    """One line as a flat dict; raises a ValueError with the reason if it is not an object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at column {error.colno}") from None
    if not isinstance(record, dict):
        raise ValueError(f"got {json.dumps(record)[:40]}")
    return dict(_flat(record))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    return json.dumps(value)


def sniff_json(head: bytes, na: Sequence[str] = (), complete: bool = False) -> dict[str, Any]:
    """Guess the columns from the first block of a file: `kinds`, `label_kinds` and `idle`, as of a table in text."""
    lines = head.split(b"\n")
    records = []
    for line in lines[:-1] if len(lines) > 1 else lines:
        try:
            if line.strip():
                records.append(_record(line))
        except ValueError:
            break
    if not records:
        raise BadData(
            'Each line must be a JSON object, such as {"text": "hello", "label": "ham"}; the first is not. Write one per line.',
            line=1,
        )
    values: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.items():
            values.setdefault(name, []).append(value)
    kinds = {name: _kind(found, [*MISSING, *na]) for name, found in values.items()}
    label_kinds = {name: _kind(found, ["", *na]) for name, found in values.items()}
    samples = {
        name: [_text(value) or "" for value in found] for name, found in values.items() if len(found) == len(records)
    }
    return {"kinds": kinds, "label_kinds": label_kinds, "idle": idle_columns(samples, kinds, None, complete)}


def _kind(values: list[Any], missing: Collection[str]) -> str:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool | int | float) for value in present):
        return "number"
    if any(isinstance(value, list) for value in present):
        return "words"
    kind = guess_kind([_text(value) or "" for value in present], missing)
    return "category" if kind == "number" and any(isinstance(value, str) for value in present) else kind


class JsonReader(TableReader):
    """Reader of JSON lines; fields that do not occur in the first block of the first file are ignored."""

    def __init__(self, encoder: Encoder, buffers: Buffers, names: list[str], labelled: bool = True) -> None:
        # Any field of a record may be missing, so a file need not have all columns.
        super().__init__(encoder, [*dict.fromkeys([*names, *encoder.columns])], labelled)
        self.missing = [*MISSING, *encoder.na]
        self.buffers = buffers

    def work(self, source: Opened) -> Iterator[Block]:
        """Blocks of lines."""
        return blocks(source, self.buffers)

    def parse(self, unit: Block) -> Parsed:
        """Parse a block; thread-safe, but only one thread at a time makes progress because of the GIL."""
        import pyarrow as pa

        records = []
        lines = bytes(unit.memory[: unit.size]).split(b"\n")
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                records.append((number + 1, _record(line)))
            except UnicodeDecodeError:
                raise BadData(
                    "Text must be UTF-8; this line is not. Convert the file, for instance with iconv.", line=number + 1
                ) from None
            except ValueError as error:
                raise BadData(
                    f"Each line must be a JSON object; {error}. Write one record per line.", line=number + 1
                ) from None
        self.buffers.give_back(unit)
        encoder, columns = self.encoder, {}
        label = str(encoder.label) if self.has_label else None
        for name, kind in [*encoder.columns.items(), *([] if label is None else [(label, encoder.label_kind)])]:
            missing = self.missing if name != label else ["", *encoder.na]
            if name == label:
                _refuse_lists(records, name)
            if kind == "number":
                cells = [_number(record.get(name), name, line, missing) for line, record in records]
                columns[name] = pa.array(cells, pa.float64(), from_pandas=True)
            else:
                texts = [_text(record.get(name)) for _, record in records]
                cells = [None if text is None or text.strip() in missing else text for text in texts]
                columns[name] = pa.array(cells, pa.string())
        return self.encode(columns, len(records), len(lines) - 1)


def _refuse_lists(records: list[tuple[int, dict[str, Any]]], name: str) -> None:
    """Raise an error if a label is a list."""
    for line, record in records:
        if isinstance(record.get(name), list):
            raise BadData(
                f"The label {name!r} must be one text or number; got a list, {json.dumps(record[name])[:40]}. Write one class, "
                "or name another column with --label.",
                line=line,
            )


def _number(value: Any, name: str, line: int, missing: Collection[str]) -> float | None:
    if isinstance(value, str):
        value = None if value.strip() in missing else (float(value) if NUMBER.match(value) else value)
    if value is None or (isinstance(value, bool | int | float) and math.isnan(value)):
        return None
    try:
        if isinstance(value, bool | int | float) and math.isfinite(float(value)):
            return float(value)
    except OverflowError:
        pass
    raise BadData(
        f"Field {name!r} must be a finite number, as in the first lines; got {json.dumps(value)[:40]}. Correct it, or set its "
        f"type to category (--types {name}=category).",
        line=line,
    )
