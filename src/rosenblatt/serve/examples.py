"""Checks of the features, labels and ids that clients send."""

import re
import reprlib
from typing import Any

LARGEST = 1e100
"""Larger numbers are refused, because their squares could overflow."""

LONGEST_ID, LONGEST_LABEL, LONGEST_NAME = 200, 200, 1000
LONGEST_KEY = 2 * LONGEST_NAME + 1
"""Number of characters of the longest ``name=word``."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_NUMBERS = frozenset({float, int})

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 80, 80
"""Values of clients are shown without their depths: `repr` of deeply nested lists raises RecursionError."""


class Refused(Exception):  # noqa: N818 - a response, not an error of the program
    """Refusal of a request.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        Reason.
    **details
        Further members of the response.
    """

    def __init__(self, status: int, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.details = status, message, details

    def as_json(self) -> dict[str, Any]:
        """Body of the response."""
        return {"error": self.message, **self.details}


def expanded(features: Any, most: int = 1 << 62, size: int = 0) -> Any:
    """Convert features to a dict of numbers or a list of numbers, as learners need them.

    A string becomes the feature ``name=value``, each word of a list ``name=word`` with its count, true and false 1 and 0; null
    is left out. `size` is the length of the request: in a short request no name can be too long.
    """
    if type(features) is dict:
        if len(features) > most:
            raise _too_many(len(features), most)
        if size > LONGEST_NAME and features and max(map(len, features)) > LONGEST_NAME:
            raise Refused(
                422, f"The name of a feature must have at most {LONGEST_NAME} characters; got a longer one. Shorten it."
            )
        if not _in_range(features):
            features = _spelled_out(features, most)
            _in_range(features)
        return features
    if type(features) is list:
        if len(features) > most:
            raise _too_many(len(features), most)
        if not features:
            raise Refused(
                422,
                "`features` as a list must contain at least one number; got none. Send {} for an example without features.",
            )
        if not _NUMBERS.issuperset(map(type, features)):
            wrong = next(value for value in features if type(value) not in _NUMBERS)
            raise Refused(
                409 if all(map(_is_token, features)) else 422,  # a sentence is for other models
                f"`features` as a list must contain numbers; got {shown(wrong)}. Use an object for named features and words; "
                "sentences are for the algorithm sequence-perceptron.",
            )
        if max(features) > LARGEST or min(features) < -LARGEST:
            raise _too_large(next((n, value) for n, value in enumerate(features) if abs(value) > LARGEST))
        return features
    raise Refused(
        422,
        f"`features` must be an object of numbers, strings and lists of words, or a list of numbers; got {shown(features)}. "
        'For example {"length": 3.5, "sender": "ann", "words": ["free", "offer"]}.',
    )


def _in_range(features: dict[str, Any]) -> bool:
    """Whether all values are numbers or booleans; numbers that are too large are refused.

    Numbers cannot be compared with other types, so the search for the largest value also detects other types.
    """
    if not features:
        return True
    values = features.values()
    try:
        fine = min(values) >= -LARGEST and max(values) <= LARGEST
    except TypeError:
        return False
    if not fine:
        raise _too_large(next(item for item in features.items() if abs(item[1]) > LARGEST))
    return True


def _spelled_out(features: dict[str, Any], most: int) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, value in features.items():
        kind = type(value)
        if kind is float or kind is int:
            numbers[name] = value + numbers.get(name, 0)
        elif kind is str:
            _count(numbers, name, value)
        elif kind is bool:
            numbers[name] = int(value) + numbers.get(name, 0)
        elif kind is list:
            if len(numbers) + len(value) > most:
                raise _too_many(len(numbers) + len(value), most)
            for word in value:
                if type(word) is not str:
                    raise Refused(
                        422, f"The list `{name[:60]}` must contain words; got {shown(word)}. Give each number a name."
                    )
                _count(numbers, name, word)
        elif value is not None:
            raise Refused(
                422,
                f"The feature `{name[:60]}` must be a number, a string, true, false, null or a list of words; got "
                f"{shown(value)}. Flatten it.",
            )
    return numbers


def _count(numbers: dict[str, float], name: str, word: str) -> None:
    if len(word) > LONGEST_NAME:
        raise Refused(
            422,
            f"A word must have at most {LONGEST_NAME} characters; got a longer one in `{name[:60]}`. Split the text into words.",
        )
    key = f"{name}={word}"
    numbers[key] = numbers.get(key, 0) + 1


def _is_token(value: Any) -> bool:
    """Whether a value has the form of a token of a sentence."""
    if type(value) is dict:
        return all(type(each) in (str, int, float, bool) or _are_strings(each) for each in value.values())
    return type(value) is str or _are_strings(value)


def _are_strings(value: Any) -> bool:
    return type(value) is list and all(type(each) is str for each in value)


def checked_label(label: Any) -> Any:
    """Check a label: a string, an integer or a boolean."""
    kind = type(label)
    if (kind is str and len(label) <= LONGEST_LABEL) or kind is bool or (kind is int and -(2**53) <= label <= 2**53):
        return label
    if kind is float and label.is_integer() and abs(label) <= 2**53:
        return int(label)  # JSON does not distinguish 1 and 1.0
    tags = kind is list and label and all(type(tag) in (str, int, float, bool) for tag in label)
    raise Refused(
        409 if tags else 422,  # they are for other models
        f"`label` must be a string of at most {LONGEST_LABEL} characters, an integer up to 2^53 or a boolean; got "
        f"{shown(label)}. Send fractions as strings if they are names of classes.",
    )


def checked_id(value: Any) -> str:
    """Check an id: a string, not empty and not long."""
    if type(value) is str and 0 < len(value) <= LONGEST_ID:
        return value
    raise Refused(
        422,
        f"`id` must be a string of 1 to {LONGEST_ID} characters; got {shown(value)}. Use, for example, a UUID.",
    )


def _too_many(count: int, most: int) -> Refused:
    return Refused(422, f"An example may have at most {most} features; got {count}. Leave out less important ones.")


def _too_large(item: tuple[Any, Any]) -> Refused:
    return Refused(
        422,
        f"The value of a feature must be between -{LARGEST:g} and {LARGEST:g}; `{str(item[0])[:60]}` is {item[1]:g}. Scale it.",
    )


def shown(value: Any) -> str:
    """A value of a client as it is shown in a message: as in JSON, and shortened."""
    if value is None or type(value) is bool:
        return "null" if value is None else str(value).lower()
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def kind_of(value: Any) -> str:
    """What a value is in JSON."""
    if type(value) in (dict, list):
        return "an object" if type(value) is dict else "an array"
    return "a string" if type(value) is str else shown(value)
