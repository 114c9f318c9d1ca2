"""JSON lines: an object on each line; nested objects are flattened, so that ``{"a": {"b": 1}}`` has the column a.b."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from .encoder import Encoder
from .errors import BadData
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


def sniff_json(head: bytes) -> tuple[list[str], dict[str, str]]:
    """Guess the columns and their kinds from the first block of a file."""
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
    return list(values), {name: _kind(found) for name, found in values.items()}


def _kind(values: list[Any]) -> str:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool | int | float) for value in present):
        return "number"
    if any(isinstance(value, list) for value in present):
        return "words"
    kind = guess_kind([_text(value) or "" for value in present])
    return "category" if kind == "number" and any(isinstance(value, str) for value in present) else kind


class JsonReader(TableReader):
    """Reader of JSON lines; fields that do not occur in the first block of the first file are ignored."""

    def __init__(self, encoder: Encoder, buffers: Buffers, names: list[str]) -> None:
        # Any field of a record may be missing, so a file need not have all columns.
        super().__init__(encoder, [*dict.fromkeys([*names, *encoder.columns])])
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
        for name, kind in [
            *encoder.columns.items(),
            *([(str(encoder.label), encoder.label_kind)] if self.has_label else []),
        ]:
            if kind == "number":
                cells = [_number(record.get(name), name, line) for line, record in records]
                columns[name] = pa.array(cells, pa.float64(), from_pandas=True)
            else:
                texts = [_text(record.get(name)) for _, record in records]
                columns[name] = pa.array([None if text in MISSING else text for text in texts], pa.string())
        return self.encode(columns, len(records), len(lines) - 1)


def _number(value: Any, name: str, line: int) -> float | None:
    if isinstance(value, str):
        value = None if value.strip() in MISSING else (float(value) if NUMBER.match(value) else value)
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
