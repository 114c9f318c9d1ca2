"""Real data that is part of the package; README.md in this folder names its source and terms."""

import csv
import gzip
from importlib import resources

__all__ = ["load_spam"]


def load_spam() -> tuple[list[str], list[str]]:
    """2,000 mails from the SpamAssassin public corpus: their words, and "spam" or "ham" for each.

    Returns
    -------
    texts, labels : lists of str
        The words of each mail separated by spaces, and its label.
    """
    with (
        resources.files(__name__).joinpath("spam.csv.gz").open("rb") as packed,
        gzip.open(packed, "rt", encoding="utf-8") as file,
    ):
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]
