"""All compiled code: the loops, the rules' arithmetic, rows of examples, parsers; nothing else."""
