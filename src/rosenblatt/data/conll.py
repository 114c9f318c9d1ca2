"""Sentences in columns, as the shared tasks of CoNLL have them: a token on each line, a blank line after each sentence.

Of CoNLL-U, the format of Universal Dependencies with ten columns, the words and one column of tags are taken.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .errors import BadData
from .sources import Opened, expand

_BLOCK = 1 << 20
_IGNORED = "-DOCSTART-"
_NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The columns of CoNLL-U."""
_NUMBER = re.compile(r"[1-9]\d*([-.]\d+)?")
_COMMENT = re.compile(r"#\s*(newdoc|newpar|\w[^\t=]* = [^\t]*)")


class Sentence(NamedTuple):
    """The fields of each token of a sentence, and the number of its first line."""

    tokens: list[tuple[str, ...]]
    line: int


def next_sentence(name: str, place: int) -> int:
    """The position after the first blank line from a position of a plain file on; its end if there is none."""
    with Path(name).open("rb") as file:
        file.seek(place)
        file.readline()  # the rest of a line
        while line := file.readline():
            if not line.strip():
                break
        return file.tell()


def count_lines(name: str, end: int) -> int:
    """The number of lines before a position of a plain file."""
    count = 0
    with Path(name).open("rb") as file:
        while end > 0 and (part := file.read(min(end, _BLOCK))):
            count += part.count(b"\n")
            end -= len(part)
    return count


def read_lines(name: str, span: tuple[int, int] | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a file, gzip, zstd or plain, with their numbers from 1, those of a range of its bytes; without their ends."""
    source = Opened(name, span)
    try:
        rest, number, memory = b"", 0, bytearray(_BLOCK)
        while True:
            size = source.readinto(memoryview(memory))
            parts = (rest + memory[:size]).split(b"\n")
            rest = parts.pop() if size else b""
            if not size and not parts[-1]:
                parts.pop()  # the file ended with the end of a line
            for part in parts:
                number += 1
                try:
                    text = part.decode()
                except UnicodeDecodeError:
                    raise BadData(
                        "A line must be text in UTF-8; this one is not. Convert the file.", name, number
                    ) from None
                yield number, text.removeprefix("\ufeff").rstrip("\r") if number == 1 else text.rstrip("\r")
            if not size:
                return
    finally:
        source.close()


def _place(label: str, many: int, name: str) -> int:
    """The number of the column of the tag."""
    universal = many == len(_NAMES)
    if universal and label.lower() in _NAMES:
        return _NAMES.index(label.lower())
    if not label.isdecimal() or int(label) >= many:
        names = ", or for CoNLL-U upos, xpos or another of its names" if universal else ""
        raise BadData(
            f"The column of the tag must be a number from 0 to {many - 1}{names}; got {label!r}. Change --label.", name
        )
    return int(label)


def read_sentences(
    name: str, many: Sequence[int] = (), span: tuple[int, int] | None = None, label: str | None = None
) -> Iterator[Sentence]:
    """The sentences of a file; lines that begin with -DOCSTART- and the comments of CoNLL-U are ignored.

    Lines of ten columns with tabs between them, the first one a number, are CoNLL-U: of them, tokens are pairs of a word and a
    tag, and lines of several words (1-2) and of words that are not in the text (1.1) are left out.

    Parameters
    ----------
    name : str
        The file; "-" is standard input.
    many : sequence of int, default=()
        The allowed numbers of columns; by default that of the first token.
    span : tuple of int, default=None
        Read only this range of bytes, whose lines are counted from 1; for uncompressed files.
    label : str, default=None
        The number of the column of the tag, which becomes the last one, or its name in CoNLL-U; by default the last, or upos.

    Raises
    ------
    BadData
        A line has another number of columns.
    """
    tokens: list[tuple[str, ...]] = []
    first = width = 0
    for number, line in read_lines(name, span):
        fields = tuple(line.split("\t") if "\t" in line else line.split())
        if not line.strip() or fields[0] == _IGNORED:
            if tokens:
                yield Sentence(tokens, first)
            tokens = []
            continue
        if not tokens and line[0] == "#" and (_COMMENT.fullmatch(line) or width not in (0, len(fields))):
            continue
        width = width or len(fields)
        if len(fields) == len(_NAMES) and "\t" in line and "" not in fields and _NUMBER.fullmatch(fields[0]):
            if not fields[0].isdigit():
                continue
            fields = fields[1], fields[_place(label or "upos", len(_NAMES), name)]
        elif label is not None and len(fields) == width:
            place = _place(label, width, name)
            fields = (*fields[:place], *fields[place + 1 :], fields[place])
        if not many:
            many = (len(fields),)
        if len(fields) not in many or "" in fields or "\0" in line:
            wanted = " or ".join(map(str, many))
            raise BadData(
                f"A line must have {wanted} columns that are not empty, with tabs or blanks between them; got {line[:60]!r}. "
                "Correct this line.",
                name,
                number,
            )
        if not tokens:
            first, many = number, (len(fields),)
        tokens.append(fields)
    if tokens:
        yield Sentence(tokens, first)


def read_conll(paths: str | Sequence[str], many: Sequence[int] = (), label: str | None = None) -> Iterator[Sentence]:
    """The sentences of files or patterns; all have the same number of columns."""
    for name in expand(paths):
        for sentence in read_sentences(name, many, label=label):
            many = (len(sentence.tokens[0]),)
            yield sentence
