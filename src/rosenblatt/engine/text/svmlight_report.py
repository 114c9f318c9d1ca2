"""Constants of the report of the svmlight parser."""

OK, BAD_LABEL, NO_LABEL, BAD_INDEX, BIG_INDEX, ZERO_INDEX, NO_COLON, BAD_VALUE, LONG_INDEX = range(9)
"""Status of a parsed text: the reason why parsing ended."""

ROWS, ENTRIES, LINES, HIGHEST, SLOW_COUNT, STATUS, PLACE = range(7)
"""Positions in the report."""
