"""Options that several commands share, and their conversion to arguments."""

from typing import Annotated, Any

import typer

from rosenblatt.cli._errors import Usage
from rosenblatt.learners import names


def _algorithms(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files or patterns: svmlight, CSV, TSV, Parquet, VW text or JSON lines, plain, gzip or zstd; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Algorithm = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        autocompletion=_algorithms,
        show_default=False,
        help=f"The learner: {', '.join(names())}. A unique beginning of the name is enough.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        show_default=False,
        help="Train on a Dask cluster: the address of its scheduler, such as tcp://10.0.0.1:8786, or local or local:WORKERS for "
        "processes on this computer. The workers must find the files under the same names.",
    ),
]
Shards = Annotated[
    int | None,
    typer.Option(
        "--shards",
        min=1,
        metavar="N",
        show_default=False,
        help="With --dask: number of parts of the data. Default: parts of 64 MiB, at least 8.",
    ),
]
Mixing = Annotated[
    str | None,
    typer.Option(
        "--mixing",
        metavar="BY",
        show_default=False,
        help="With --dask: how the weights of the parts are averaged: uniform (the default), or by mistakes or examples.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        show_default=False,
        help="svmlight, csv, tsv, parquet, vw or jsonl. Default: detected from name and content.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        metavar="COLUMN",
        show_default=False,
        help="The column of the label: its name, or its number from 0. Default: label, target, class or y, else the last column.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default=False,
        help="Whether the first line of a CSV file contains the column names. Default: detected.",
    ),
]
Bits = Annotated[
    int | None,
    typer.Option(
        "--bits",
        "-b",
        metavar="B",
        show_default=False,
        help="Hash the features to 2^B weights, which limits memory. Default: one weight per feature.",
    ),
]
Types = Annotated[
    list[str],
    typer.Option(
        "--types",
        metavar="COLUMN=TYPE",
        show_default=False,
        help="The type of a column: number, category, words or ignore; separate several by commas. Default: detected.",
    ),
]
Interactions = Annotated[
    list[str],
    typer.Option(
        "--interactions",
        metavar="A*B",
        show_default=False,
        help="Also use the products of two columns as features; separate several by commas.",
    ),
]
Standardize = Annotated[
    bool,
    typer.Option("--standardize", help="Scale numbers to mean 0 and standard deviation 1, with running estimates."),
]
OneBased = Annotated[
    bool | None,
    typer.Option(
        "--one-based/--zero-based",
        show_default=False,
        help="Whether the features of an svmlight file count from 1 or 0. Default: trace, certify and compare, which read whole "
        "files, count from 1 if no 0 is used; train and stream keep the numbers of the file.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, show_default=False, help="Number of threads that read. Default: one per core."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random numbers.")]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        show_default=False,
        help="A parameter of the learner, such as C=0.1 or multiclass=ovr; can be given several times. `--set help` lists them.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


def check_cluster(dask: str | None, shards: int | None, mixing: str | None) -> None:
    """Raise an error if options of a cluster are given without --dask."""
    for name, given in (("--shards", shards is not None), ("--mixing", mixing is not None)):
        if given and dask is None:
            raise Usage(
                f"{name} needs --dask, which trains on a cluster; got it without. Leave it out, or add --dask local."
            )


def parsed_settings(settings: list[str], algorithm: str | None = None) -> dict[str, Any]:
    """Parse settings such as ``["C=0.1", "multiclass=ovr"]``; numbers, True, False and None are converted.

    If ``"help"`` is among them, print the parameters of the algorithm and stop.
    """
    if "help" in settings and algorithm is not None:
        from rosenblatt.learners import find

        typer.echo((find(algorithm).__doc__ or "").partition("----------\n")[2].partition("\n\n")[0])
        raise typer.Exit
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


def parsed_types(types: list[str]) -> dict[str, str]:
    """Parse types such as ``["age=number,job=category"]``."""
    parsed = {}
    for part in _parts(types):
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise Usage(
                f"--types takes COLUMN=TYPE, such as age=number; got {part!r}. Types are number, category, words and ignore."
            )
        parsed[column.strip()] = kind.strip()
    return parsed


def _parts(texts: list[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def stream_options(
    format: str | None, label: str | None, header: bool | None, bits: int | None, types: list[str],  # noqa: A002
    interactions: list[str], standardize: bool, one_based: bool | None, threads: int | None,
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
