"""The beginning of ARFF and KEEL files: ``@attribute name type`` lines, then ``@data`` and rows as in CSV."""

import re
from typing import NamedTuple

from .errors import BadData

_ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{]+)\s*(.*)""", re.IGNORECASE)
_NUMBERS = ("numeric", "real", "integer")


class Preamble(NamedTuple):
    """What the lines before the rows say.

    Attributes
    ----------
    lines : int
        Their number.
    names, kinds : list of str
        The columns, and number, category or an empty string where the values decide.
    label : str or None
        The column that KEEL names as output.
    """

    lines: int
    names: list[str]
    kinds: list[str]
    label: str | None


def sparse_row(line: int) -> BadData:
    """The error for a row that names its attributes by numbers."""
    return BadData(
        "Rows of sparse ARFF, such as {0 1.5, 3 a}, cannot be read. Convert the file to svmlight text.", line=line
    )


def preamble(text: str) -> Preamble:
    """Read the lines up to ``@data``."""
    names, kinds, label = [], [], None
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        word = line.split(None, 1)[0].lower() if line.strip() else ""
        if word == "@attribute":
            found = _ATTRIBUTE.match(line.strip())
            if found is None:
                raise BadData(
                    f"An attribute must have a name and a type, as in @attribute age numeric; got {line.strip()[:60]!r}. "
                    "Correct the line.",
                    line=number,
                )
            names.append(found[1].strip("'\""))
            kind = found[2].strip().lower()
            kinds.append("number" if kind.startswith(_NUMBERS) else "category" if kind.startswith("{") else "")
        elif word in ("@output", "@outputs"):
            label = line.split(None, 1)[1].split(",")[0].strip().strip("'\"")
        elif word == "@data":
            return Preamble(number, names, kinds, label)
        elif word and word[0] not in "@%":
            break
    raise BadData("An ARFF file must have a line @data before its rows. Check that it was written completely.")
