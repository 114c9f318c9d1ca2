"""Options that several commands share, and their conversion to arguments."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from rosenblatt.cli._errors import Usage
from rosenblatt.learners import names


class _Command(click.Command):
    """A command that remembers its arguments as they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, args)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., None]], Any]:
    """Make a command of a function, as `click.command` does; in the help the lines of examples stay as they are."""

    def decorate(function: Callable[..., None]) -> Any:
        text = inspect.cleandoc(function.__doc__ or "").replace("\nFor example:\n", "\n\b\nFor example:\n")
        decorator: Any = click.command(name, **{"cls": _Command, "help": text, **attributes})
        return decorator(function)

    return decorate


ALGORITHM, SETTINGS = "passive-aggressive", {"readout": "average"}
"""The learner of `train` if none is named, and its settings."""


def _algorithms(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


FILE = click.Path(readable=False)
"""Type of file names: the shell completes them, and the command itself checks them."""

data_files = click.argument(
    "data",
    type=FILE,
    nargs=-1,
    required=True,
    metavar="DATA...",
    help="Files or patterns: svmlight, CSV, TSV, Parquet, VW text or JSON lines, plain or compressed (gzip, zstd, bzip2, xz); - "
    "is standard input.",
)
model_file = click.argument("model", type=FILE, metavar="MODEL", help="A model file.")
algorithm = click.option(
    "--algorithm",
    "-a",
    metavar="NAME",
    shell_complete=lambda context, parameter, incomplete: _algorithms(incomplete),
    help=f"The learner: {', '.join(names())}. A unique beginning of the name is enough. In train, auto compares "
    "all on a part of the data and takes the best.",
)
regression = click.option(
    "--regression",
    is_flag=True,
    help="The label is a number to predict, and not a class: learn it with arow-regressor, or with --algorithm "
    "passive-aggressive.",
)
multilabel = click.option(
    "--multilabel",
    is_flag=True,
    help="An example may have several labels: a list in JSON lines, or texts between separators. Each label gets a learner.",
)
separator = click.option(
    "--separator", metavar="TEXT", help="With --multilabel: what separates the labels in a field. Default: a comma."
)
cluster = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Train on a Dask cluster: the address of its scheduler, such as tcp://10.0.0.1:8786, or local or local:WORKERS for "
    "processes on this computer. The workers must find the files under the same names.",
)
shards = click.option(
    "--shards",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --dask: number of parts of the data. Default: parts of 64 MiB, at least 8.",
)
mixing = click.option(
    "--mixing",
    metavar="BY",
    help="With --dask: how the weights of the parts are averaged: uniform (the default), or by mistakes or examples.",
)
format = click.option(  # noqa: A001
    "--format",
    "-f",
    metavar="FORMAT",
    help="svmlight, csv, tsv, parquet, vw, jsonl or arff. Default: detected from name and content. train, "
    "evaluate, stream and trace also take conll: a token on each line with its tag in the last column, and a blank line after "
    "each sentence.",
)
label = click.option(
    "--label",
    "-l",
    metavar="COLUMN",
    help="The column of the label: its name, or its number from 0. Default: label, else target, class or y, else the last. Of "
    "sentences (conll): its number, or upos or xpos of CoNLL-U.",
)
header = click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line of a CSV file contains the column names. Default: detected.",
)
bits = click.option(
    "--bits",
    "-b",
    type=int,
    metavar="B",
    help="Hash the features to 2^B weights, which limits memory. Default: one weight per feature.",
)
types = click.option(
    "--types",
    metavar="COLUMN=TYPE",
    multiple=True,
    help="The type of a column: number, category, words, date or ignore; separate several by commas. date:dmy and date:mdy give "
    "the order of day and month. Default: detected.",
)
interactions = click.option(
    "--interactions",
    metavar="A*B",
    multiple=True,
    help="Also use the products of two columns as features; separate several by commas.",
)
standardize = click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Scale the number columns of tables to mean 0 and standard deviation 1. Default: yes in train, stream and compare.",
)
na = click.option(
    "--na",
    metavar="TEXT",
    multiple=True,
    help="A text that means a missing value, also in the label, where otherwise only an empty field is missing.",
)
weight = click.option(
    "--weight",
    metavar="COLUMN",
    help="The column with the weight of each example, a number of at least 0. It is no feature.",
)


class _Range(click.ParamType):  # type: ignore[type-arg]
    """A number N, which stands for `least` to N, or two as in 2-3."""

    name = "N|A-B"

    def __init__(self, what: str, none: bool = False) -> None:
        self.what, self.none = what, none

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return int(value[0]), int(value[1])
        first, minus, last = str(value).partition("-")
        if first.strip().isdecimal() and (last.strip().isdecimal() or not minus):
            pair = (int(first), int(last)) if minus else (min(1, int(first)), int(first))
            if 1 <= pair[0] <= pair[1] <= 10 or (self.none and pair == (0, 0)):
                return pair
        none = ", or 0 for none" if self.none else ""
        return self.fail(
            f"must be a number of {self.what} between 1 and 10, or two as in 2-3{none}; got {value!r}.", param, ctx
        )


words = click.option(
    "--words",
    type=click.Choice(["log", "counts", "tfidf"]),
    help="The values of words: log is 1 + log of how often each occurs, all words of an example scaled to length 1; tfidf first "
    "multiplies these by a factor that is larger for words in few examples; counts is how often each occurs. In svmlight and VW "
    "text, all features are words. Default: log for columns of tables, counts for svmlight and VW text.",
)
ngrams = click.option(
    "--ngrams",
    type=_Range("words", none=True),
    help="Phrases in columns of words: 2 uses single words and pairs of consecutive words, 2-3 pairs and triples, 0 no words. "
    "Default: 1.",
)
char_ngrams = click.option(
    "--char-ngrams",
    type=_Range("characters"),
    help="Also use the sequences of so many characters within each word of columns of words: 3-5, or 3 for 1 to 3. They help "
    "with wrong spellings, endings and short texts.",
)
one_based = click.option(
    "--one-based/--zero-based",
    default=None,
    help="Whether the features of an svmlight file count from 1 or 0. Default: trace, certify and compare, which read whole "
    "files, count from 1 if no 0 is used; train and stream keep the numbers of the file.",
)
on_bad_rows = click.option(
    "--on-bad-rows",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    help="What to do with a row that cannot be read: stop with an error, or leave it out and count it.",
)
positive = click.option(
    "--positive",
    metavar="LABEL",
    help="The class +1 of two classes. Default: the second in sorted order, and + of labels such as - and +.",
)
classes = click.option(
    "--classes",
    metavar="A,B,...",
    help="All classes, separated by commas, if some of them are missing in the data.",
)
threads = click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads that read. Default: one per core."
)
seed = click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random numbers.")
settings = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the learner, such as C=0.1 or class_weight=spam:5,ham:1; can be given several times. "
    "`--set help` lists them.",
)
as_json = click.option("--json", is_flag=True, help="Print the result as JSON.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")


def check_cluster(dask: str | None, shards: int | None, mixing: str | None) -> None:
    """Raise an error if options of a cluster are given without --dask."""
    for name, given in (("--shards", shards is not None), ("--mixing", mixing is not None)):
        if given and dask is None:
            raise Usage(
                f"{name} needs --dask, which trains on a cluster; got it without. Leave it out, or add --dask local."
            )


def _learner(name: str, regression: bool = False) -> type[Any]:
    """The class of a learner of rows or of sequences."""
    from rosenblatt.learners import find

    return find(name, regression=regression, sequences=True)


def parsed_settings(settings: Sequence[str], algorithm: str | None = None, regression: bool = False) -> dict[str, Any]:
    """Parse settings such as ``["C=0.1", "multiclass=ovr"]``; numbers, True, False and None are converted.

    If ``"help"`` is among them, print the parameters of the algorithm and stop.
    """
    if "help" in settings and algorithm is not None:
        click.echo((_learner(algorithm, regression).__doc__ or "").partition("----------\n")[2].partition("\n\n")[0])
        raise click.exceptions.Exit
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip().isidentifier():
            raise Usage(
                f"--set takes NAME=VALUE, such as C=0.1; got {setting!r}. Write the name of the parameter before the equals sign."
            )
        parameters[name.strip()] = _value(text.strip())
    return parameters


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parsed_class_weight(text: str) -> dict[Any, float]:
    """Parse weights of classes such as ``"spam:5,ham:1"``; names that are numbers are converted."""
    weights = {}
    for part in text.split(","):
        name, colon, number = part.rpartition(":")
        weight = _value(number.strip())
        if not colon or not name.strip() or type(weight) not in (int, float) or not 0 <= weight < float("inf"):
            raise Usage(
                f"--set class_weight must be balanced, None, or weights of at least 0 such as spam:5,ham:1; got {text!r}. A "
                "class that is not named has the weight 1."
            )
        weights[_value(name.strip())] = float(weight)
    return weights


def parsed_classes(text: str | None, labels: Iterable[Any]) -> list[Any] | None:
    """Parse classes such as ``"0,1,2"``: numbers if the labels of the data are numbers, else texts."""
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    labels = list(labels)
    classes = names if any(isinstance(label, str) for label in labels) else [_value(name) for name in names]
    missing = [label for label in labels if label not in classes]
    if missing or len(classes) < 2 or "" in names:
        raise Usage(
            f"--classes must name every class of the data, at least 2, separated by commas; got {text!r}"
            f"{f', without {missing[0]!r}' if missing else ''}. Leave it out if the data hold all classes."
        )
    return classes


def parsed_types(types: Sequence[str]) -> dict[str, str]:
    """Parse types such as ``["age=number,job=category"]``."""
    parsed = {}
    for part in _parts(types):
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise Usage(
                f"--types takes COLUMN=TYPE, such as age=number; got {part!r}. Types are number, category, words, date "
                "and ignore."
            )
        parsed[column.strip()] = kind.strip()
    return parsed


def _parts(texts: Sequence[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def text_options(
    words: str | None, ngrams: tuple[int, int] | None, char_ngrams: tuple[int, int] | None
) -> dict[str, Any]:
    """Convert the options for columns of words to those of `open_stream`."""
    return {"word_weights": words, "ngrams": ngrams or (1, 1), "char_ngrams": char_ngrams}


def given_text_options(options: Mapping[str, Any]) -> list[str]:
    """The options for columns of words that differ from their defaults, from the result of `text_options`."""
    given = {"--words": "word_weights", "--ngrams": "ngrams", "--char-ngrams": "char_ngrams"}
    return [name for name, key in given.items() if options[key] not in (None, (1, 1))]


def stream_options(
    format: str | None, label: str | None, header: bool | None, bits: int | None, types: Sequence[str],  # noqa: A002
    interactions: Sequence[str], standardize: bool | None, one_based: bool | None, threads: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Convert the options of a command to those of `open_stream`."""
    pairs = []
    for part in _parts(interactions):
        first, star, second = part.partition("*")
        if not star or not first.strip() or not second.strip():
            raise Usage(f"--interactions takes A*B, such as age*job; got {part!r}. Name two columns.")
        pairs.append((first.strip(), second.strip()))
    if bits is not None and not 1 <= bits <= 30:
        raise Usage(f"--bits must be between 1 and 30, for 2 to 1,073,741,824 weights; got {bits}. 18 to 24 are usual.")
    return {
        "format": format,
        "label": int(label) if label is not None and label.isdecimal() else label,
        "header": header,
        "bits": bits,
        "types": parsed_types(types) or None,
        "interactions": pairs,
        "standardize": standardize,
        "one_based": one_based,
        "threads": threads,
    }
