"""Numbers as people write them: with a currency or percent sign, separated thousands, a decimal comma, or in parentheses."""

import re
from collections.abc import Iterable
from typing import Any

_CURRENCY = r"(?:[$€£¥₹₽₩₺₪]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|kr|zł)"
_BLANK = "[ '’_\u00a0\u202f]"
_DIGITS = {
    ".": rf"(?:(?:\d{{1,3}}(?:(?:,|{_BLANK})\d{{3}})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?",
    ",": rf"(?:(?:\d{{1,3}}(?:(?:\.|{_BLANK})\d{{3}})+|\d+)(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?",
}


def _pattern(digits: str) -> str:
    """The whole text of a number; the same for `re` and for Arrow."""
    signed = rf"[+-]?\s*(?:{_CURRENCY}\s*)?[+-]?{digits}\s*(?:%|{_CURRENCY})?"
    return rf"^\s*(?:{_CURRENCY}\s*)?(?:{signed}|\({signed}\))\s*$"


PATTERNS = {mark: _pattern(digits) for mark, digits in _DIGITS.items()}
"""What a number may look like, by its decimal mark."""

_COMPILED = {mark: re.compile(pattern) for mark, pattern in PATTERNS.items()}
_NOISE = rf"{_CURRENCY}|{_BLANK}|\s|[()%]"


def notation(values: Iterable[str], prefer: str = ".") -> str | None:
    """The decimal mark with which all values are numbers, `prefer` if both are possible; None if there is none."""
    possible = [prefer, *(mark for mark in PATTERNS if mark != prefer)]
    for value in values:
        possible = [mark for mark in possible if _COMPILED[mark].match(value)]
        if not possible:
            return None
    return possible[0]


def is_quantity(text: str, mark: str) -> bool:
    """Whether one text is a number with this decimal mark."""
    return _COMPILED[mark].match(text) is not None


def quantity(text: str, mark: str) -> float:
    """The number that a text means; raises a ValueError if it is none. ``3%`` is 0.03, and ``(3)`` is -3."""
    if not is_quantity(text, mark):
        raise ValueError(text)
    plain = re.sub(_NOISE, "", text)
    plain = plain.replace(",", "") if mark == "." else plain.replace(".", "").replace(",", ".")
    value = float(plain) / (100.0 if "%" in text else 1.0)
    return -value if "(" in text else value


class NotANumber(ValueError):  # noqa: N818
    """A text of a column of numbers that is none: its row and the text."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(row, text)
        self.row, self.text = row, text


def quantities(texts: Any, mark: str) -> Any:
    """An Arrow array of texts as float64, as by `quantity`; null stays null. Raises `NotANumber`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wrong = pc.invert(pc.match_substring_regex(texts, PATTERNS[mark])).fill_null(False)
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise NotANumber(row, texts[row].as_py())
    plain = pc.replace_substring_regex(texts, _NOISE, "")
    plain = pc.replace_substring(plain, "," if mark == "." else ".", "")
    numbers = pc.replace_substring(plain, ",", ".").cast(pa.float64())
    numbers = pc.if_else(pc.match_substring(texts, "%"), pc.divide(numbers, 100.0), numbers)
    return pc.if_else(pc.match_substring(texts, "("), pc.negate(numbers), numbers)
