"""What was found in a table: its columns, their kinds, an example, how much is missing, and what is done with each."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from .dates import ORDERS, Form

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")

MOST = 1000
"""The largest number of values of a column that are kept."""

SHOWN = 30
"""The largest number of columns that are listed one by one."""


class Sample(NamedTuple):
    """The first values of a column: those that are not missing, and all."""

    values: list[str]
    rows: list[str]

    @classmethod
    def of(cls, values: Sequence[str | None], missing: Collection[str]) -> "Sample":
        """The sample of the first values of a column, some of which mean that it is missing."""
        first = [(value or "").strip() for value in values[:MOST]]
        return cls([value for value in first if value not in missing], first)

    def of_label(self, na: Sequence[str]) -> "Sample":
        """The same for a label, which is missing only if it is empty or one of these texts."""
        return Sample.of(self.rows, ["", *na])

    @property
    def missing(self) -> float:
        """The share of the values that are missing."""
        return 1.0 - len(self.values) / max(1, len(self.rows))


def columns_as_text(encoder: Any) -> list[str]:
    """A table of the columns of a file, from an encoder with samples."""
    rows = [_row(encoder, name, sample) for name, sample in encoder.samples.items()]
    more: list[str] = []
    if len(rows) > SHOWN:
        rest = [
            row for row in rows[SHOWN - 5 :] if row[4].startswith("the ")
        ]  # the label and the weights are always shown
        counts = Counter(row[1] for row in rows[SHOWN - 5 :] if row not in rest)
        more = [f"… and {', '.join(f'{many:,} more of kind {kind}' for kind, many in counts.items())}"]
        rows = [*rows[: SHOWN - 5], *rest]
    rows = [("column", "kind", "example", "missing", "use"), *rows]
    widths = [max(len(row[c]) for row in rows) for c in range(4)]
    lines = []
    for name, kind, example, missing, use in rows:
        cells = f"{name:{widths[0]}}  {kind:{widths[1]}}  {example:{widths[2]}}  {missing:>{widths[3]}}"
        lines.append(f"{cells}  {use}".rstrip())
    if encoder.left_out:
        name = next(iter(encoder.left_out))
        numeric = all(map(_NUMBER.match, encoder.samples[name].values))
        more.append(
            f"To use a column that is left out, give its type: --types {name}={'number' if numeric else 'category'}"
        )
    return [*lines, *more]


def _row(encoder: Any, name: str, sample: Sample) -> tuple[str, str, str, str, str]:
    kind, use = encoder.sources.get(name, ""), ""
    if name == encoder.label:
        kind, use = "label", "the label"
    elif name == encoder.weight:
        kind, use = "weight", "the weight of the example"
    elif name in encoder.left_out:
        kind, use = "-", f"left out: {encoder.left_out[name]}"
    elif not kind:
        kind, use = "-", "left out, as its type says"
    else:
        use = _use(encoder, name, kind, sample) + _mixed(name, kind, sample)
    example = " ".join(sample.values[0].split()) if sample.values else ""
    shown = example if len(example) <= 20 else example[:19] + "…"
    several = name == encoder.label and encoder.separator is not None  # an example may have no label at all
    missing = f"{sample.missing:.1%}" if sample.missing and not several else "-"
    return _short(name), kind, shown, missing, use


def _short(name: str) -> str:
    return name if len(name) <= 30 else name[:29] + "…"


def _mixed(name: str, kind: str, sample: Sample) -> str:
    """A note on a column of categories most of which are numbers."""
    texts = [value for value in sample.values if not _NUMBER.match(value)]
    if kind != "category" or not texts or 2 * len(texts) >= len(sample.values):
        return ""
    share = 1.0 - len(texts) / len(sample.values)
    return f"; {share:.1%} are numbers, but not {texts[0][:20]!r}: if this means a missing value, give --na {texts[0][:20]}"


def _use(encoder: Any, name: str, kind: str, sample: Sample) -> str:
    """What is done with a feature column."""
    form = encoder.forms.get(name)
    if isinstance(form, Form):
        return f"{', '.join(form.parts)}; written {ORDERS[form.order]}"
    if kind == "number":
        scaled = "scaled to mean 0 and deviation 1" if encoder.moments is not None else "as it is"
        if form is None:
            return scaled
        shown = next(
            (value for value in sample.values if not _NUMBER.match(value)), "1,234.5" if form == "." else "1.234,5"
        )
        return f"{scaled}; written as {shown[:20]}"
    if kind == "category":
        return "one feature per value"
    return _use_of_words(encoder)


def _use_of_words(encoder: Any) -> str:
    least, most = encoder.ngrams
    made = {(0, 0): [], (1, 1): ["one feature per word"]}.get((least, most))
    if made is None:
        size = f"up to {most}" if least == 1 else f"{least}" if least == most else f"{least} to {most}"
        made = [f"one feature per phrase of {size} words"]
    if encoder.char_ngrams is not None:
        least, most = encoder.char_ngrams
        size = f"{least}" if least == most else f"{least} to {most}"
        made.append(f"one feature per sequence of {size} characters")
    return " and ".join(made) + ("; tf-idf weights" if encoder.word_weights == "tfidf" else "")
