"""Constants of the report of the VW parser."""

OK, BAD_LABEL, NO_BAR, BAD_FACTOR, BAD_NAME, BAD_VALUE, NO_ROOM, BAD_WEIGHT = range(8)
"""Status of a parsed text: the reason why parsing ended."""

ROWS, LINES, SLOW_COUNT, STATUS, PLACE, TAGS, WEIGHTS = range(7)
"""Positions in the report."""
