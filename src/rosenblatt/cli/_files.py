"""Read and write the models and data files that are named on the command line."""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from rosenblatt.cli._errors import Usage, warn, writing


def load_model(path: str, taggers: bool = False) -> Any:
    """Load an estimator that can read data files or, if that is allowed, a tagger."""
    from rosenblatt.cli._sequences import is_tagger
    from rosenblatt.learners._load import load

    estimator = load(path)
    if is_tagger(estimator):
        if not taggers:
            raise Usage(
                f"{path} must be a model of examples; it is a tagger of sentences. Use it with `rosenblatt tag`, `evaluate` or "
                "`inspect`, or train it with `rosenblatt train --format conll --resume`."
            )
    elif not hasattr(estimator, "encoder_"):
        raise Usage(
            f"{path} must be a model of `rosenblatt train`; this one was saved from Python and holds no "
            "description of data files. Train it with `rosenblatt train`, or use rosenblatt.load in Python."
        )
    return estimator


def open_stream(paths: Sequence[str], **options: Any) -> Any:
    """`rosenblatt.data.open_stream` with a faster start: pandas is not loaded."""
    from rosenblatt.cli import _imports
    from rosenblatt.data import open_stream

    stream = open_stream(paths, **options)
    encoder, words = stream.encoder, options.get("word_weights")
    if words is not None and encoder.family == "table" and "words" not in encoder.columns.values():
        raise Usage(
            f"--words is for tables with a column of words; this one has none, got --words {words}. Leave it out."
        )
    if stream.format not in ("svmlight", "vw"):
        _imports.arrow_without_pandas()
    return stream


def open_data(
    paths: Sequence[str],
    estimator: Any,
    *,
    labelled: bool,
    format: str | None = None,  # noqa: A002
    threads: int | None = None,
    keep: Sequence[str] = (),
    on_bad_rows: str = "stop",
) -> Any:
    """Open files with the features of a model; other features in them are ignored. `keep` names columns to give as they are."""
    encoder = estimator.encoder_
    encoder.freeze()
    return open_stream(
        paths, format=format, encoder=encoder, labelled=labelled, threads=threads, keep=keep, on_bad_rows=on_bad_rows,
    )  # fmt: skip


def read_all(paths: Sequence[str], options: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    """Read whole files as X, y and feature names; examples without a label are left out. y may hold real targets.

    As with `rosenblatt.read`, the features of svmlight text count from 1 if column 0 is never used.
    """
    import numpy as np

    from rosenblatt.cli._examples import Examples
    from rosenblatt.cli._targets import TargetExamples
    from rosenblatt.learners import find
    from rosenblatt.training.loop import TargetBlock

    stream = open_stream(paths, **{"ahead": math.inf, **options})
    regression = stream.encoder.regression
    model = find("AROWRegressor" if regression else "Perceptron")()._new_model(0, np.float64)
    examples = (
        TargetExamples(stream, model, scale=False, limit=1 << 62)
        if regression
        else Examples(stream, model, limit=1 << 62)
    )
    block = next(iter(examples.blocks()))
    warn_of_bad_rows(stream)
    kept = np.flatnonzero(block.labelled)
    if kept.size == 0:
        raise Usage(f"{', '.join(paths)}: there is no labelled example in it. Check --label and --format.")
    X, names = block.table.take(kept), stream.encoder.names()
    if stream.format == "svmlight" and stream.encoder.bits is None:
        names = [f"x{name}" for name in names]
        if options["one_based"] is None and names and not X[:, [0]].nnz:
            X, names = X[:, 1:], names[1:]
    return (
        X,
        block.targets[kept] if isinstance(block, TargetBlock) else np.array(model.classes)[block.codes[kept]],
        names,
    )


def warn_of_bad_rows(stream: Any) -> None:
    """Say how many rows were left out."""
    if message := stream.bad_rows.describe():
        warn(message)


def save_model(estimator: Any, path: str) -> None:
    """Write a model file, completely or not at all."""
    from rosenblatt.model_file import save

    with writing(path):
        save(estimator, path)


@contextmanager
def output(path: str | None) -> Iterator[IO[str]]:
    """Open standard output, or a file that is created when everything has been written."""
    if path is None or path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    from rosenblatt.model_file.atomic import check_output, replacing

    check_output(path)
    with writing(path), replacing(path) as draft, Path(draft).open("w", encoding="utf-8") as file:
        yield file


def emit(facts: dict[str, Any]) -> None:
    """Print a result as JSON."""
    click.echo(json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False))
