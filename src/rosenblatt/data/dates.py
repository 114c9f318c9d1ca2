"""Dates and times of a table, and their parts: year, month, day, weekday and hour."""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_MONTH = r"(?P<m>\d{1,2}|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-zA-Z]*\.?)"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d+)?))?\s*(?P<half>[aApP]\.?[mM]\.?)?"
_TIME = rf"(?:(?:T|,?\s+){_CLOCK}\s*(?:Z|UTC|GMT|[+-]\d{{2}}:?\d{{2}})?)?"
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-zA-Z]*\.?,?\s+)?"

_ISO = r"(?P<y>\d{4})(?:[-/.](?P<m>\d{1,2})(?:[-/.](?P<d>\d{1,2}))?)"
_PATTERNS = {
    "ymd": rf"^\s*{_ISO}{_TIME}\s*$",
    "dmy": rf"^\s*{_WEEKDAY}{_DAY}(?:[-/.]|\.?\s+){_MONTH}(?:(?:[-/.]|,?\s+)(?P<y>\d{{4}})|/(?P<yy>\d{{2}})){_TIME}\s*$",
    "mdy": rf"^\s*{_WEEKDAY}{_MONTH}(?:[-/]|\s+){_DAY}(?:(?:[-/]|,?\s+)(?P<y>\d{{4}})|/(?P<yy>\d{{2}})){_TIME}\s*$",
    "time": rf"^\s*{_CLOCK}\s*$",
}
_COMPILED = {order: re.compile(pattern) for order, pattern in _PATTERNS.items()}

ORDERS = {
    "ymd": "year-month-day", "dmy": "day-month-year", "mdy": "month-day-year", "time": "hour:minute",
}  # fmt: skip
"""The orders in which dates may be written."""


class Form(NamedTuple):
    """How the dates of a column are written: the order, and whether they have a day and a time that says something."""

    order: str
    day: bool
    time: bool

    @property
    def parts(self) -> dict[str, str]:
        """The parts that become features, and their kinds."""
        if self.order == "time":
            return {"hour": "category"}
        days = {"day": "number", "weekday": "category"} if self.day else {}
        return {"year": "number", "month": "category", **days, **({"hour": "category"} if self.time else {})}


class NotADate(ValueError):  # noqa: N818
    """A text of a column of dates that is none: its row and the text."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(row, text)
        self.row, self.text = row, text


def date_form(values: Iterable[str], orders: Sequence[str] = tuple(_PATTERNS)) -> Form | None:
    """The form in which all values are dates; None if there is none.

    If a date such as 03/04/2020 may begin with the day or with the month, it is taken to begin with the day if there are dots,
    and with the month otherwise.
    """
    sample = list(values)
    if not sample or not any(_COMPILED[order].match(sample[0]) for order in orders):
        return None
    import pyarrow as pa

    preferred = ["ymd", *(("dmy", "mdy") if "." in sample[0] else ("mdy", "dmy")), "time"]
    for order in [one for one in preferred if one in orders]:
        form, match = Form(order, True, True), _COMPILED[order].match
        if not all(map(match, sample)):
            continue
        try:
            found = date_parts(pa.array(sample, pa.string()), form)
        except NotADate:
            continue
        groups = [found_in.groupdict() for found_in in map(match, sample) if found_in is not None]
        hours = {part for part in found["hour"].to_pylist() if part is not None}
        return Form(order, any(group.get("d") for group in groups), bool(hours - {"0"}))
    return None


def is_date(text: str, order: str) -> bool:
    """Whether one text is a date in this order, or one that begins with the year, as `date_parts` reads them."""
    found = _COMPILED[order].match(text) or (_COMPILED["ymd"].match(text) if order != "time" else None)
    if found is None:
        return False
    fields = found.groupdict()
    half, hour, minute = fields["half"], int(fields["H"] or 0), int(fields["M"] or 0)
    if (hour > 23 and not half) or minute > 59:
        return False
    if order == "time":
        return True
    month = fields["m"].lower()[:3]
    try:
        date(
            int(fields["y"] or 2000), _MONTHS.index(month) + 1 if month.isalpha() else int(month), int(fields["d"] or 1)
        )
    except ValueError:
        return False
    return True


def date_parts(texts: Any, form: Form) -> dict[str, Any]:
    """The parts of an Arrow array of dates, as float64 or text; null stays null. Raises `NotADate`.

    Dates that begin with the year are read in every form, so that frames with dates of their own type can be predicted.
    """
    import pyarrow as pa

    read = _read(texts, form)

    def words(values: Any, names: Sequence[str]) -> Any:
        known = read.given & ~np.isnan(values)
        return pa.array(names).take(pa.array(np.where(known, values, 0).astype(np.int64), mask=~known))

    found = {"hour": words(read.hour, [str(h) for h in range(24)])}
    if form.order != "time":
        found |= {
            "year": pa.array(read.year, mask=~read.given),
            "month": words(read.month, [str(m) for m in range(13)]),
            "day": pa.array(read.day, mask=~read.given),
            "weekday": words((read.date + 3.0) % 7, _WEEKDAYS),
        }
    return {part: found[part] for part in form.parts} if (form.day, form.time) != (True, True) else found


def times(texts: Any, form: Form) -> Any:
    """Dates as days since 1970 with fractions for the time of day; NaN for null. Raises `NotADate`."""
    read = _read(texts, form)
    days = read.date + (np.nan_to_num(read.hour) + (np.nan_to_num(read.minute) + read.second / 60) / 60) / 24
    return np.where(read.given, days, np.nan)


class _Read(NamedTuple):
    """The fields of dates, as arrays of floats; `date` counts days from 1970."""

    given: Any
    year: Any
    month: Any
    day: Any
    date: Any
    hour: Any
    minute: Any
    second: Any


def _read(texts: Any, form: Form) -> _Read:
    """The fields of an Arrow array of dates."""
    import pyarrow.compute as pc

    fields = _extracted(texts, form.order)
    if form.order not in ("ymd", "time"):
        other = _extracted(texts, "ymd")
        fields = {name: pc.coalesce(column, other[name]) for name, column in fields.items()}
    count, given = len(texts), texts.is_valid().to_numpy(zero_copy_only=False)
    numbers = {name: _whole(fields[name], count) for name in ("y", "yy", "d", "H", "M", "S")}
    numbers["m"] = _month(fields["m"], count)
    late = np.array(pc.starts_with(pc.utf8_lower(fields["half"]), "p").fill_null(False))
    halved = np.array(pc.greater(pc.utf8_length(fields["half"]), 0).fill_null(False))
    hour = np.where(halved, numbers["H"] % 12 + 12 * late, numbers["H"])
    clock = ~((hour > 23) | (numbers["M"] > 59))
    year = month = day = date_ = np.zeros(count)
    if form.order == "time":
        good = clock & ~np.isnan(hour)
    else:
        short = numbers["yy"] + np.where(numbers["yy"] < 70, 2000, 1900)  # as in POSIX
        year, month = np.where(np.isnan(numbers["y"]), short, numbers["y"]), numbers["m"]
        day = np.where(np.isnan(numbers["d"]), 1.0, numbers["d"])
        inside = clock & (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
        months = np.where(inside, (np.nan_to_num(year) - 1970) * 12 + np.nan_to_num(month) - 1, 0).astype(np.int64)
        dates = months.astype("M8[M]").astype("M8[D]") + (np.where(inside, day, 1).astype(np.int64) - 1)
        good = inside & (dates.astype("M8[M]").astype(np.int64) == months)
        date_ = dates.astype(np.int64).astype(np.float64)
    wrong = np.flatnonzero(given & ~good)
    if wrong.size:
        raise NotADate(int(wrong[0]), texts[int(wrong[0])].as_py())
    return _Read(given, year, month, day, date_, hour, numbers["M"], np.nan_to_num(numbers["S"]))


def _extracted(texts: Any, order: str) -> dict[str, Any]:
    """The fields of each text, null where it does not match."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.extract_regex(texts, _PATTERNS[order])
    names = [field.name for field in found.type]
    valid = found.is_valid()
    return {
        name: pc.if_else(valid, found.field(name), None) if name in names else pa.nulls(len(texts), pa.string())
        for name in ("y", "yy", "m", "d", "H", "M", "S", "half")
    }


def _whole(column: Any, count: int) -> Any:
    """Whole numbers as floats, NaN where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not count:
        return np.zeros(0)
    numbers = pc.if_else(pc.equal(column, ""), None, column).cast(pa.float64())
    return numbers.to_numpy(zero_copy_only=False).astype(np.float64)


def _month(column: Any, count: int) -> Any:
    """Months as numbers, from their numbers or names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    named = pc.match_substring_regex(column, "^[a-zA-Z]")
    digits = _whole(pc.if_else(named, None, column), count)
    places = pc.index_in(pc.utf8_slice_codeunits(pc.utf8_lower(column), 0, 3), pa.array(_MONTHS))
    names = places.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64) + 1
    return np.where(np.isnan(digits), names, digits)
