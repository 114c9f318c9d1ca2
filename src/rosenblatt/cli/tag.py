"""`rosenblatt tag`: predict the tags of the words of sentences."""

import re
from collections.abc import Iterator
from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage

_WORD = re.compile(r"\w+(?:[-'’.]\w+)*|[^\w\s]")
_TOGETHER = 1000
"""Number of sentences that are tagged together."""


@option.command()
@option.model_file
@click.argument(
    "text", type=option.FILE, nargs=-1, required=True, metavar="TEXT...", help="Files; - is standard input."
)
@click.option("--output", "-o", type=option.FILE, metavar="FILE", help="Output file. Default: standard output.")
@click.option(
    "--format",
    "-f",
    type=click.Choice(["tokens", "plain", "conll"]),
    help="tokens: a sentence on each line, with blanks between its tokens; plain: the same, but punctuation is split from words; "
    "conll: a token on each line, its columns as in training with or without the tag. Default: tokens, or conll if the model was "
    "trained on several columns.",
)
@click.option("--json", is_flag=True, help="Write one JSON object per sentence.")
def tag(model: str, text: tuple[str, ...], output: str | None, format: str | None, json: bool) -> None:  # noqa: A002
    """Predict the tag of each token, in columns with a blank line after each sentence.

    For example:
      rosenblatt tag tagger.model text.txt
      echo "They are talking ." | rosenblatt tag tagger.model - --json
    """
    from rosenblatt.cli import _files
    from rosenblatt.cli._sequences import columns_of, load_tagger
    from rosenblatt.data.sources import expand

    estimator = load_tagger(model)
    columns = columns_of(estimator)
    if format is None:
        format = "tokens" if columns == 1 else "conll"  # noqa: A001
    if format != "conll" and columns > 1:
        names = ", ".join(estimator._chain.templates.columns)
        raise Usage(
            f"A tagger of several columns ({names}) needs --format conll; got {format}. Give a file with these columns."
        )
    with _files.output(output) as file:
        for name in expand(text):
            together = 1 if name == "-" else _TOGETHER
            for part in _parts(_sentences(name, format, columns), together):
                file.write("".join(_lines(part, estimator.predict(part), json)))
                if together == 1:
                    file.flush()


def _sentences(name: str, format: str, columns: int) -> Iterator[list[Any]]:  # noqa: A002
    from rosenblatt.data.conll import read_lines, read_sentences

    if format == "conll":
        for sentence in read_sentences(name, (columns, columns + 1)):
            yield [token[0] if columns == 1 else token[:columns] for token in sentence.tokens]
        return
    for _, line in read_lines(name):
        tokens = _WORD.findall(line) if format == "plain" else line.split()
        if tokens:
            yield tokens


def _parts(sentences: Iterator[list[Any]], size: int) -> Iterator[list[list[Any]]]:
    part: list[list[Any]] = []
    for sentence in sentences:
        part.append(sentence)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _lines(sentences: list[list[Any]], tags: list[list[Any]], json: bool) -> Iterator[str]:
    import json as writer

    from rosenblatt.cli._sequences import tagged

    if not json:
        yield from tagged(sentences, tags)
        return
    for tokens, found in zip(sentences, tags, strict=True):
        yield writer.dumps({"tokens": tokens, "tags": found}, ensure_ascii=False) + "\n"
