"""The types for which every function of the engine is compiled, from the table in `rosenblatt.engine.entries`."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from rosenblatt.engine.entries import ENTRIES


class Tuple(NamedTuple):
    """A tuple argument: the name of its class, empty for a plain tuple, and its parts."""

    name: str
    parts: "tuple[Argument, ...]"


Argument = str | Tuple
"""One argument: the letter of a number, letter and number of dimensions of an array, or a tuple."""


def expand(template: str) -> Iterator[str]:
    """All signatures that a template stands for."""
    choices: dict[str, tuple[str, ...]] = {
        "V": ("d", "f"),
        "X": ("V2", "CSR(q1i1V1)", "CSR(q1q1V1)"),
        "W": ("V1", "V2"),
        "O": ("i", "q"),
    }
    words = template.split()
    if words[0].startswith("V="):
        choices["V"] = (words.pop(0)[2:],)
    wanted = {letter for word in words for letter in choices if word.startswith(letter)}
    if wanted & {"X", "W"}:
        wanted.add("V")
    names = [letter for letter in ("X", "W", "V", "O") if letter in wanted]
    for chosen in itertools.product(*(choices[name] for name in names)):
        made = words
        for name, value in zip(names, chosen, strict=True):
            made = [_fill(word, name, value) for word in made]
        yield " ".join(made)


def _fill(word: str, name: str, value: str) -> str:
    """Replace a placeholder; in a named tuple it stands inside of the parentheses."""
    head, bracket, parts = word.rpartition("(")
    return head + bracket + parts.replace(name, value)


def parse(signature: str) -> tuple[Argument, ...]:
    """The arguments of a signature without placeholders."""
    arguments, rest = _parse(signature.replace(" ", "") + ")")
    if rest:
        raise ValueError(f"a signature must have matching parentheses; got {signature!r}")
    return arguments


def _parse(text: str) -> tuple[tuple[Argument, ...], str]:
    found: list[Argument] = []
    while text[0] != ")":
        name = text[: text.index("(")] if "(" in text else ""
        if name in ("", "CSR", "Tokens") and text.startswith(f"{name}("):
            parts, text = _parse(text[len(name) + 1 :])
            found.append(Tuple(name, parts))
        else:
            size = 2 if text[1].isdigit() else 1
            found.append(text[:size])
            text = text[size:]
    return tuple(found), text[1:]


def key(arguments: tuple[Argument, ...]) -> str:
    """What the caller computes from actual arguments: arrays by type, numbers as ``s``, tuples in parentheses."""
    return "".join(
        f"({key(argument.parts)})" if isinstance(argument, Tuple) else argument if len(argument) == 2 else "s"
        for argument in arguments
    )


def numbers(arguments: tuple[Argument, ...]) -> str:
    """The letters of the numbers among the arguments, in order."""
    return "".join(
        numbers(argument.parts) if isinstance(argument, Tuple) else argument if len(argument) == 1 else ""
        for argument in arguments
    )


def catalogue() -> dict[str, list[str]]:
    """All signatures of every function."""
    return {name: list(expand(template)) for name, (_, template) in ENTRIES.items()}
