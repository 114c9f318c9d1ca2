"""Bodies of requests and answers: a JSON object, or many as JSON lines."""

import secrets
from collections.abc import Sequence
from typing import Any

import orjson

from rosenblatt.serve.examples import NAME, Refused

FIELDS = {"predict": {"id", "features"}, "reveal": {"id", "label"}, "learn": {"id", "features", "label"}}
REQUIRED = {"predict": ("features",), "reveal": ("id", "label"), "learn": ("features", "label")}
MOST_NAMED = 100

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
            f"The body must be a JSON object with {', '.join(sorted(FIELDS[kind]))}; got {type(request).__name__}.",
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


def read_lines(kind: str, body: bytes) -> tuple[list[tuple[Any, bytes]], Sequence[int]]:
    """Requests of a body of JSON lines and their line numbers; one bad line refuses all of them."""
    fields, required = FIELDS[kind], frozenset(REQUIRED[kind])
    lines = body.removesuffix(b"\n").split(b"\n")
    values = _parsed_at_once(lines)
    if values is not None and all(
        type(value) is dict and (value.keys() == required or required <= value.keys() <= fields) for value in values
    ):
        return list(zip(values, lines, strict=True)), range(1, len(lines) + 1)
    requests, numbers, bad = [], [], []
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        try:
            request = orjson.loads(line)
            check_fields(kind, request)
        except (orjson.JSONDecodeError, Refused) as error:
            bad.append({"line": number, "error": str(error)})
            continue
        requests.append((request, line))
        numbers.append(number)
    if bad:
        raise Refused(
            422,
            f"{len(bad)} of {len(bad) + len(requests)} lines cannot be read, the first of them line {bad[0]['line']}: "
            f"{bad[0]['error']} Nothing was done with the other lines; send them again without the bad ones.",
            lines=bad[:MOST_NAMED],
            done=0,
        )
    return requests, numbers
