"""All compiled code: the loops, the arithmetic of the rules, rows of examples, parsers."""
