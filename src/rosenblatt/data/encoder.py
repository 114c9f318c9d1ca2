"""From records to features: which columns there are, of which kind, and which feature has which number."""

from typing import Any

__all__ = ["Encoder"]


class Encoder:
    """What turns records into features; made by `open_stream` and handed on to the next file by the model.

    Attributes
    ----------
    family : {"numbered", "named", "table"}
        svmlight, whose features are column numbers; VW text, whose features have names; tables with columns.
    columns : dict of str to {"number", "category", "words"}
        The columns of a table and their kinds, in order; the label is not among them.
    label : str or None
        The label's column.
    bits : int or None
        None: an exact vocabulary that grows; else features are hashed to 2**bits places.
    n_features : int
        How many features there are so far (2**bits when hashing).
    """

    n_features: int

    def feature_name(self, i: int) -> str:
        """The name of feature i: the column number as written, `word`, `column=value`, `column:word` or `#slot`."""
        raise NotImplementedError

    def names(self) -> list[str]:
        """The names of all features, in order."""
        return [self.feature_name(i) for i in range(self.n_features)]

    def freeze(self) -> None:
        """From now on ignore features that are not known yet, and leave the running statistics as they are."""

    def to_json(self) -> dict[str, Any]:
        """All of it as plain dicts, lists, strings and numbers."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Encoder":
        """The encoder that `to_json` described."""
        raise NotImplementedError
