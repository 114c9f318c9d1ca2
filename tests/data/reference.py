"""Slow readers of svmlight and VW text in plain Python, as a reference for the compiled parsers."""

import math
import re

NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
BLANK = bytes(byte for byte in range(33) if byte != 10)


class Refused(Exception):  # noqa: N818
    """The text is malformed."""


def number(text, ends):
    """A finite number at the beginning of a text, and the rest, which must begin with one of `ends` or a blank."""
    found = NUMBER.match(text)
    if not found:
        raise Refused(text)
    rest = text[found.end() :]
    if rest and rest[0] > 32 and rest[:1] not in ends:
        raise Refused(text)
    value = float(found[0])
    if not math.isfinite(value):
        raise Refused(text)
    return value, rest


def check_label(label):
    """From 2^53 on, two whole numbers may be the same float."""
    if label is not None and abs(label) >= 2**53:
        raise Refused(label)


def svmlight(text, first=0, labelled=True):
    """A list of (label or None, {index: value}) for each example."""
    examples = []
    for line in text.split(b"\n"):
        rest = line.lstrip(BLANK)
        if not rest or rest.startswith(b"#"):
            continue
        label = None
        found = NUMBER.match(rest)
        if found and rest[found.end() : found.end() + 1] == b":":
            if labelled:
                raise Refused(line)
        else:
            label, rest = number(rest, (b"#",))
        features = {}
        while rest := rest.lstrip(BLANK):
            if rest.startswith(b"#"):
                break
            pair = re.match(rb"(\d+):", rest)
            if pair:
                index = int(pair[1]) - first
                value, rest = number(rest[pair.end() :], (b"#",))
                if index < 0 or index >= 2**31 - 1 or len(pair[1]) > 19:
                    raise Refused(line)
                features[index] = features.get(index, 0.0) + value
            elif rest.startswith(b"qid"):
                rest = re.sub(rb"^[^\x00-\x20#]+", b"", rest)
            else:
                raise Refused(line)
        check_label(label)
        examples.append((label, dict(sorted(features.items()))))
    return examples


def vw(text):
    """A list of (label or None, importance, tag, {name: value}) for each example; names are bytes."""
    examples = []
    for line in text.split(b"\n"):
        if not line.lstrip(BLANK):
            continue
        before, bar, after = line.lstrip(BLANK).partition(b"|")
        if not bar:
            raise Refused(line)
        parts = [part for part in re.split(rb"[\x00-\x20]+", before) if part]
        adjacent = bool(before) and before[-1] > 32
        numbers, tag = [], b""
        for place, part in enumerate(parts):
            if part.startswith(b"'") or (adjacent and place == len(parts) - 1):
                tag = part.removeprefix(b"'")
                continue
            value, rest = number(part, ())
            if rest or len(numbers) == 3:
                raise Refused(line)
            numbers.append(value)
        features = {}
        for group in after.split(b"|"):
            space = re.match(rb"[^\x00-\x20:]*", group)[0]
            rest, factor = group[len(space) :], 1.0
            if rest.startswith(b":"):
                factor, rest = number(rest[1:], ())
            for word in [word for word in re.split(rb"[\x00-\x20]+", rest) if word]:
                name, colon, value = word.partition(b":")
                if not name:
                    raise Refused(word)
                amount = factor
                if colon:
                    amount, rest = number(value, ())
                    if rest:
                        raise Refused(word)
                    amount *= factor
                full = space + b"^" + name if space else name
                features[full] = features.get(full, 0.0) + amount
        label, weight = [*numbers, None][0], (numbers[1] if len(numbers) > 1 else 1.0)
        check_label(label)
        if weight < 0:
            raise Refused(line)
        examples.append((label, weight, tag, features))
    return examples
