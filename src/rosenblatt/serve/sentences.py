"""Checks of sentences and tags, which models of sequences have as features and label."""

import math
from typing import Any

from rosenblatt.serve.examples import LARGEST, LONGEST_LABEL, LONGEST_NAME, Refused, shown
from rosenblatt.serve.examples import checked_label as checked_tag

MOST_TOKENS = 1000
"""Maximum number of tokens of a sentence."""

MOST_STEPS = 200_000_000
"""Maximum of tokens times classes times classes: the time to tag a sentence, in which no other request is answered."""


def expanded(features: Any, most: int = 1 << 62, size: int = 0) -> Any:
    """Check a sentence: a list of tokens, each a string, a list of strings, or an object of features."""
    if type(features) is list and features and type(features[0]) in (int, float):
        raise Refused(
            409,  # a row is for other models
            f"A token must be a string, a list of strings or an object; got {shown(features[0])}. A row of numbers is for other "
            "algorithms.",
        )
    if type(features) is not list or not 0 < len(features) <= MOST_TOKENS:
        got = f"{len(features)} tokens" if type(features) is list else shown(features)
        raise Refused(
            409 if type(features) is dict else 422,
            f"`features` of a model of sequences must be a list of 1 to {MOST_TOKENS} tokens; got {got}. A token is a word, "
            'a list of strings, or an object of features, such as ["She", "sleeps"].',
        )
    count = 0
    for token in features:
        kind = type(token)
        if kind is str:
            count += 1
            _check_string(token)
        elif kind is list:
            count += len(token)
            for string in token:
                _check_string(string)
        elif kind is dict:
            count += sum(_checked_entry(name, value) for name, value in token.items())
        else:
            raise Refused(
                422, f"A token must be a string, a list of strings or an object; got {shown(token)}. Change it."
            )
    if count > most:
        raise Refused(422, f"A sentence may have at most {most} strings and features; got {count}. Split it.")
    return features


def _check_string(string: Any) -> None:
    if type(string) is not str or len(string) > LONGEST_NAME or "\0" in string:
        raise Refused(
            422,
            f"A token must be made of strings of at most {LONGEST_NAME} characters without NUL; got {shown(string)}. Change it.",
        )


def _checked_entry(name: str, value: Any) -> int:
    """The number of features of a member of a token."""
    _check_string(name)
    kind = type(value)
    if kind is str or kind is list:
        words = [value] if kind is str else value
        for word in words:
            _check_string(word)
        return len(words)
    if kind is bool or (kind in (int, float) and math.fabs(value) <= LARGEST):
        return 1
    raise Refused(
        422,
        f"The feature `{name[:60]}` of a token must be a string, a number between -{LARGEST:g} and {LARGEST:g}, true, false or a "
        f"list of words; got {shown(value)}. Leave it out where its value is missing.",
    )


def checked_label(label: Any) -> Any:
    """Check the tags of a sentence: a list of strings, integers or booleans."""
    if type(label) is not list or not 0 < len(label) <= MOST_TOKENS:
        raise Refused(
            409 if type(label) in (str, int, float, bool) else 422,
            f"`label` of a model of sequences must be a list with a tag of at most {LONGEST_LABEL} characters for each token; "
            f'got {shown(label)}. For example ["PRON", "VERB"].',
        )
    return [tag if type(tag) is str and len(tag) <= LONGEST_LABEL else checked_tag(tag) for tag in label]
