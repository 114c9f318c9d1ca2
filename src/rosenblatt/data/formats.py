"""Detection of file formats and creation of their readers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol

from .batch import Batch
from .delimited import DelimitedReader, has_several_numbers, sniff
from .encoder import Encoder
from .errors import BadData
from .json_lines import JsonReader, sniff_json
from .parquet import ParquetReader
from .sources import COMPRESSIONS, Buffers, Opened
from .tables import plan

FORMATS = ("svmlight", "csv", "tsv", "parquet", "vw", "jsonl", "arff")

_ENDINGS = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".vw": "vw", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".arff": "arff",
}  # fmt: skip

_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SVMLIGHT = re.compile(rb"\s*(?:" + _NUMBER + rb")?(?:\s+qid:\d+)?(?:\s*\d+:\S+)*\s*(?:#.*)?\Z")
_VW = re.compile(rb"\s*(?:" + _NUMBER + rb"(?:\s+" + _NUMBER + rb"){0,2}\s+(?:[^\s|,;]+\s*)?|'[^\s|]*\s*)?\|")


class Reader(Protocol):
    """Interface of the format readers: units of work, thread-safe parsing, and a last step in order."""

    encoder: Encoder
    labels: Any

    @property
    def label_text(self) -> str:
        """Description of the label's position."""

    def work(self, source: Opened) -> Iterator[Any]:
        """Units of work, in order."""

    def parse(self, unit: Any) -> Any:
        """Parse one unit; the result has `lines`, the number of its lines."""

    def bad_rows(self, unit: Any, problem: BadData) -> list[tuple[BadData, int]]:
        """The bad rows that are known after an error: their errors, and the numbers of their lines."""

    def without(self, unit: Any, lines: set[int]) -> Any:
        """The unit without these lines; None if no row is left."""

    def finish(self, parsed: Any, first_line: int) -> Batch:
        """Number labels and new features; called for the units in order."""


def find_format(source: Opened, name: str, format: str | None, encoder: Encoder | None = None) -> str:  # noqa: A002
    """The given format; else found by the first bytes (Parquet), the file name, the encoder's first file, or the content."""
    if format is not None and format not in FORMATS:
        raise BadData(f"`format` must be one of {', '.join(FORMATS)}; got {format!r}. Leave it out to detect it.")
    named = format_by_name(name)
    source.refuse_other_formats()
    if source.parquet:
        return "parquet"
    if "parquet" in (format, named):
        raise BadData("A Parquet file must begin with PAR1; this one does not. Check its name and that it is complete.")
    if format or named:
        return str(format or named)
    head = source.head()[: 1 << 16]
    before = encoder.format if encoder is not None else None
    if before in ("csv", "tsv", "svmlight", "vw") and not (before in ("csv", "tsv") and _is_record(head, encoder)):
        return str(before)  # a short text may look like another format
    return _by_content(head)


def format_by_name(name: str) -> str | None:
    """The format that the ending of a file name says, if it says one."""
    endings = [ending.lower() for ending in PurePath(name).suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return _ENDINGS.get(endings[-1]) if endings else None


def _is_record(head: bytes, encoder: Encoder | None) -> bool:
    """Whether the first line is a JSON object with a column of the encoder."""
    try:
        record = json.loads(head.lstrip().split(b"\n", 1)[0])
    except ValueError:
        return False
    return isinstance(record, dict) and encoder is not None and not set(record).isdisjoint(encoder.sources)


def _by_content(head: bytes) -> str:
    pieces = head.split(b"\n")
    lines = [line for line in pieces[:-1] or pieces if line.strip() and not line.startswith((b"#", b"%"))][:20]
    if not lines:
        return "csv"
    if lines[0].lstrip().startswith(b"{"):
        return "jsonl"
    if lines[0].lstrip()[:9].lower() == b"@relation":
        return "arff"
    if all(_VW.match(line) for line in lines):
        return "vw"
    if all(_SVMLIGHT.match(line) for line in lines) and any(b":" in line for line in lines):
        return "svmlight"
    mixed = len(lines) > 1 and has_several_numbers(lines[1].decode("utf-8", "replace"))  # blanks and tabs
    return "tsv" if b"\t" in lines[0] and not mixed else "csv"


def make_reader(
    source: Opened,
    format: str,  # noqa: A002
    buffers: Buffers,
    encoder: Encoder | None,
    *,
    label: str | int | None,
    header: bool | None,
    types: Mapping[str, str] | None,
    labelled: bool,
    one_based: bool | None,
    bits: int | None,
    interactions: Sequence[tuple[str, str]],
    standardize: bool | None,
    na: Sequence[str] = (),
    word_weights: str | None = "counts",
    ngrams: Sequence[int] = (1, 1),
    char_ngrams: Sequence[int] | None = None,
    weight: str | None = None,
    tolerant: bool = False,
) -> Reader:
    """Create the reader of a format, with a new encoder from the beginning of the file unless one is given."""
    family = {"svmlight": "numbered", "vw": "named"}.get(format, "table")
    if encoder is not None and encoder.family != family:
        words = {"numbered": "svmlight text", "named": "VW text", "table": "tables (CSV, TSV, Parquet, JSON lines)"}
        raise BadData(
            f"The model was trained on {words[encoder.family]} and reads such files only; got {format}. Convert the file."
        )
    options: dict[str, Any] = {"bits": bits, "interactions": interactions, "standardize": bool(standardize)}
    if weight is not None and family != "table":
        raise BadData(
            f"Only tables have a column of weights; this is {format}. In VW text write the weight after the label."
        )
    if family == "table":
        options["weight"] = weight
        options |= {"standardize": standardize is not False, "na": na}
    options["word_weights"] = word_weights or ("log" if family == "table" else "counts")
    options |= {"ngrams": ngrams, "char_ngrams": char_ngrams}
    if format == "svmlight":  # compiled code and its table of shapes are loaded only if needed
        from .svmlight import SvmlightReader

        encoder = encoder or Encoder(family, first_column=int(bool(one_based)), **options)
        return SvmlightReader(encoder, buffers, labelled)
    if format == "vw":
        from .vw import VwReader, has_values

        if word_weights is None and not has_values(source.head()):
            options["word_weights"] = "log"
        return VwReader(encoder or Encoder(family, **options), buffers)
    if format == "parquet":
        return ParquetReader.of(source, encoder, buffers.size, label, types, labelled, options, tolerant)
    head = source.head()
    if not head:
        raise BadData("A file must hold at least one example; this one is empty. Check that it was written completely.")
    if format == "jsonl":
        found = sniff_json(head, na if encoder is None else encoder.na, source.head_is_all, tolerant)
        names = list(found["kinds"])
        if encoder is None:
            return JsonReader(plan(found.pop("kinds"), label, types, labelled, **found, **options), buffers, names)
        return JsonReader(encoder, buffers, names, labelled)
    if encoder is not None and header is None:
        header = encoder.header
    na = na if encoder is None else encoder.na
    dialect = sniff(head, format, header, na=na, complete=source.head_is_all, tolerant=tolerant, encoder=encoder)
    if encoder is None:
        label = dialect.label if label is None else label
        encoder = plan(
            dialect.kinds, label, types, labelled, label_kinds=dialect.label_kinds, idle=dialect.idle,
            forms=dialect.forms, samples=dialect.samples, delimiter=dialect.delimiter, **options,
        )  # fmt: skip
        encoder.header, encoder.width = dialect.header, len(dialect.names)
        labelled = True
    return DelimitedReader(encoder, buffers, dialect, labelled, tolerant)
