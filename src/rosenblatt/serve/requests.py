"""Bodies of requests and answers: a JSON object, or many as JSON lines."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from rosenblatt.serve.examples import NAME, Refused, kind_of

FIELDS = {
    "predict": {"id", "features", "top", "reasons"},
    "reveal": {"id", "label"},
    "learn": {"id", "features", "label"},
    "score": {"features", "top", "reasons"},
}
REQUIRED = {
    "predict": ("features",),
    "reveal": ("id", "label"),
    "learn": ("features", "label"),
    "score": ("features",),
}
MOST_NAMED = 100

SLICE, SLICE_BYTES = 250, 1 << 16
"""Number of lines of a batch, and of their bytes, that are handled without a break; between them other requests are."""

PADDED = 2048
"""Longer requests are stored without the spaces between their members."""

_MARK = secrets.token_hex(16)
_BETWEEN = f',"{_MARK}",'.encode()


def check_name(name: str) -> None:
    """Refuse a name that is not allowed for a model."""
    if NAME.fullmatch(name) is None:
        raise Refused(
            422,
            "The name of a model must be 1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or digit.",
        )


def check_fields(kind: str, request: Any) -> None:
    """Refuse a request that lacks a required member or has an unknown one."""
    if type(request) is not dict:
        raise Refused(
            422,
            f"The body must be a JSON object with {', '.join(sorted(FIELDS[kind]))}; got {kind_of(request)}.",
        )
    for key in REQUIRED[kind]:
        if key not in request:
            raise Refused(422, f"`{key}` is missing. A {kind} takes {', '.join(sorted(FIELDS[kind]))}.")
    if not FIELDS[kind].issuperset(request):
        wrong = next(key for key in request if key not in FIELDS[kind])
        raise Refused(422, f"A {kind} takes {', '.join(sorted(FIELDS[kind]))}; got {wrong[:60]!r}.")


def as_lines(numbers: Sequence[int], answers: list[Any]) -> bytes:
    """Encode the answers, one per line."""
    plain = [
        {**answer.as_json(), "line": number, "status": answer.status} if isinstance(answer, Refused) else answer
        for number, answer in zip(numbers, answers, strict=True)
    ]
    body = orjson.dumps(plain)[1:-1]
    if body.count(b"},{") == len(plain) - 1:  # only between answers: splitting there is faster than encoding one by one
        return body.replace(b"},{", b"}\n{") + b"\n"
    return b"".join(orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE) for answer in plain)


def looks_like_lines(body: bytes) -> bool:
    """Whether a body that is not a JSON object may be JSON lines."""
    lines = body.strip().split(b"\n", 2)
    return len(lines) > 1 and lines[0].strip().startswith(b"{") and lines[0].strip().endswith(b"}")


def _parsed_at_once(lines: list[bytes]) -> list[Any] | None:
    """Parse all lines in one call, which is twice as fast as line by line; None if a line is not exactly one JSON value.

    The lines are joined to one array with a secret string between them. If every second value of the array is this string, each
    line is one value: two values in a line would be neighbours in the array, and a value over two lines would contain the string.
    """
    try:
        values: list[Any] = orjson.loads(b"[" + _BETWEEN.join(lines) + b"]")
    except orjson.JSONDecodeError:
        return None
    fine = len(values) == 2 * len(lines) - 1 and values[1::2] == [_MARK] * (len(lines) - 1)
    return values[::2] if fine else None


def compact(request: Any, text: bytes) -> bytes:
    """Text of a request to store: a long one is written again, because it may consist of spaces."""
    if len(text) <= PADDED:
        return text
    try:
        return orjson.dumps(request)
    except TypeError as error:  # more than 254 levels
        raise Refused(422, f"The JSON of an example must not be nested deeply; {error}. Flatten it.") from error


class LinesReader:
    """Requests of a body of JSON lines; one bad line refuses all of them.

    Iteration gives None while the lines are parsed, so that other requests can be handled in between, and then slices of
    requests.

    Parameters
    ----------
    kind : str
        Kind of the requests.
    body : bytes
        The lines.

    Attributes
    ----------
    numbers : list of int
        Line numbers of the requests.
    """

    def __init__(self, kind: str, body: bytes) -> None:
        self.kind, self._body = kind, body
        self.numbers: list[int] = []

    def __iter__(self) -> Iterator[list[tuple[Any, bytes]] | None]:
        slices: list[list[tuple[Any, bytes]]] = []
        bad: list[dict[str, Any]] = []
        number = 1
        for lines in _sliced(self._body):
            slices.append(self._parse(lines, number, bad))
            number += len(lines)
            yield None
        self._body = b""
        if bad:
            count = len(bad) + len(self.numbers)
            raise Refused(
                422,
                f"{len(bad)} of {count} lines cannot be read, the first of them line {bad[0]['line']}: {bad[0]['error']} "
                "Nothing was done with the other lines; send them again without the bad ones.",
                lines=bad[:MOST_NAMED],
                done=0,
            )
        slices.reverse()
        while slices:
            yield slices.pop()  # so that it can be freed

    def _parse(self, lines: list[bytes], first: int, bad: list[dict[str, Any]]) -> list[tuple[Any, bytes]]:
        fields, required = FIELDS[self.kind], frozenset(REQUIRED[self.kind])
        values = _parsed_at_once(lines)
        if values is not None and all(
            type(value) is dict and (value.keys() == required or required <= value.keys() <= fields) for value in values
        ):
            self.numbers += range(first, first + len(lines))
            if max(map(len, lines)) <= PADDED:
                return list(zip(values, lines, strict=True))
            return [(value, compact(value, line)) for value, line in zip(values, lines, strict=True)]
        requests = []
        for number, line in enumerate(lines, first):
            if not line or line.isspace():
                continue
            try:
                request = orjson.loads(line)
                check_fields(self.kind, request)
                requests.append((request, compact(request, line)))
            except (orjson.JSONDecodeError, Refused) as error:
                bad.append({"line": number, "error": str(error)})
                continue
            self.numbers.append(number)
        return requests


def _sliced(body: bytes) -> Iterator[list[bytes]]:
    """Lines of a body, a part at a time."""
    lines: list[bytes] = []
    size = start = 0
    body = body.removesuffix(b"\n")
    while start <= len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        if lines and (len(lines) == SLICE or size + end - start > SLICE_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(body[start:end])
        size += end - start
        start = end + 1
    yield lines


def read_lines(kind: str, body: bytes) -> tuple[list[tuple[Any, bytes]], Sequence[int]]:
    """Requests of a body of JSON lines and their line numbers; one bad line refuses all of them."""
    reader = LinesReader(kind, body)
    return [request for requests in reader if requests is not None for request in requests], reader.numbers
