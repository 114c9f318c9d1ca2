"""One file for each learning rule; `_template.py` is the one to copy."""
