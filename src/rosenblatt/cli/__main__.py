"""``python -m rosenblatt.cli``."""

from rosenblatt.cli import main

main()
