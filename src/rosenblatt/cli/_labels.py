"""Examples with several labels on the command line: `train --multilabel`, and `predict` and `evaluate` for such models."""

import math
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli._errors import Usage
from rosenblatt.cli._files import emit, open_data, open_stream, save_model, warn_of_bad_rows
from rosenblatt.cli._session import fingerprint, new_learner, provenance
from rosenblatt.data.batch import Batch, compact, join
from rosenblatt.estimators.multi_label import MultiLabel
from rosenblatt.training.schedule import held_out

HELD_OUT = 0.1
"""The share of the examples by which the accuracy is measured before the model learns all of them."""

EPOCHS = 10

Members = NDArray[np.bool_]


def is_multilabel(estimator: Any) -> bool:
    """Whether a model predicts several labels for an example."""
    return isinstance(estimator, MultiLabel)


def refuse(given: dict[str, Any]) -> None:
    """Raise an error for options that have no meaning for several labels; `given` has each with its value."""
    for name, value in given.items():
        if value not in (None, False, ()):
            raise Usage(f"{name} is not for examples with several labels (--multilabel); got {value!r}. Leave it out.")


def split(text: str, separator: str) -> list[str]:
    """The distinct labels in a field."""
    return list(dict.fromkeys(part for part in (piece.strip() for piece in text.split(separator)) if part))


def _members(batch: Batch, stream: Any, labels: Sequence[Any]) -> Members:
    """Which of these labels each example of a batch has; an example with an empty field has none."""
    place = {label: k for k, label in enumerate(labels)}
    sets = np.zeros((len(stream.labels) + 1, len(labels)), bool)
    for number, text in enumerate(stream.labels):
        for label in split(text, stream.encoder.separator):
            if label in place:
                sets[number, place[label]] = True
    found: Members = sets[batch.codes]  # -1 is the last row, which has no label
    return found


def train(
    data: tuple[str, ...], path: str, options: dict[str, Any], algorithm: str, parameters: dict[str, Any], epochs: int | None,
    seed: int, test: str | None, threads: int | None, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Train a binary learner for each label on files that fit into memory."""
    import time

    learner = new_learner(algorithm, parameters, seed)
    learner.max_iter, learner.tol = epochs or EPOCHS, None
    stream = open_stream(data, **options, ahead=math.inf)
    if stream.encoder.family != "table":
        raise Usage(
            f"--multilabel reads tables and JSON lines, in which a field can hold several labels; got {stream.format}. Convert "
            "the data, for instance to JSON lines with a list as label."
        )
    if not quiet:
        click.echo(stream.describe(), err=True)
    started = time.monotonic()
    whole = join([compact(batch) for batch in stream])
    warn_of_bad_rows(stream)
    labels = sorted({label for text in stream.labels for label in split(text, stream.encoder.separator)})
    if not labels:
        raise Usage(f"{', '.join(data)}: no example has a label. Check --label and --separator.")
    member = _members(whole, stream, labels)
    table = whole.table(stream.encoder.n_features)
    out = held_out(0, whole.size, HELD_OUT, seed)
    facts: dict[str, Any] = {
        "model": path, "algorithm": f"MultiLabel of {type(learner).__name__}", "data": list(data), "examples": whole.size,
        "labels": labels, "features": stream.encoder.n_features, "epochs": epochs or EPOCHS,
    }  # fmt: skip

    def fitted(rows: NDArray[np.int64]) -> MultiLabel:
        model = MultiLabel(learner)
        model._fit_table(table, member.astype(np.int64), labels, whole.weights, rows)
        return model

    judge = None
    if out.any() and not out.all():
        judge = fitted(np.flatnonzero(~out))
        rows = np.flatnonzero(out)
        scores = judge._raw_scores(table.some(rows))
        judge._calibrate(scores, member[rows].astype(np.int64))
        facts["held_out"] = measures(member[rows], scores > 0.0, labels)
    model = fitted(np.arange(whole.size))
    if judge is not None:
        model.calibrations_ = judge.calibrations_
    model.encoder_ = stream.encoder
    read = fingerprint(stream.names)
    command = shlex.join(["rosenblatt", "train", *click.get_current_context().meta.get("typed", [])])
    model.training_ = {"data": read, "runs": [provenance(read, whole.size, command)]}
    facts["seconds"] = time.monotonic() - started
    save_model(model, path)
    result = None
    if test is not None:
        result = measure(model, (test,), None, threads)
        facts["test"] = {"data": test, **result}
    if json:
        emit(facts)
    elif not quiet:
        shown = ", ".join(labels[:6]) + (", …" if len(labels) > 6 else "")
        lines = [
            f"algorithm  {facts['algorithm']}", f"examples   {whole.size:,}", f"labels     {len(labels)}: {shown}",
            f"features   {facts['features']:,}", f"epochs     {facts['epochs']} for each label, in {facts['seconds']:.2f} s",
        ]  # fmt: skip
        if "held_out" in facts:
            part = facts["held_out"]
            lines.append(
                f"held out   {part['subset_accuracy']:.2%} with exactly the right labels, micro F1 {part['micro_f1']:.4f}, on "
                f"{part['examples']:,} examples set aside, before the model learned all examples"
            )
        click.echo("\n".join([*lines, f"model      {path}"]))
        if result is not None:
            click.echo(f"\nTest on {test}\n{text_of(result)}")


def describe(model: Any, path: str) -> dict[str, Any]:
    """What `inspect` says about a model: its learner with the parameters that are not the defaults, labels and training."""
    from rosenblatt.model_file import read

    learner = model._learner()
    defaults = type(learner)().get_params()
    counters = [one.state.counters for one in model.models_]
    facts: dict[str, Any] = {
        "algorithm": f"MultiLabel of {type(learner).__name__}",
        "parameters": {name: value for name, value in learner.get_params().items() if value != defaults[name]},
        "labels": sorted(model._labels),
        "features": model.n_features_in_,
        "mistakes": sum(int(one.mistakes) for one in counters),
        "updates": sum(int(one.updates) for one in counters),
        "written by": f"rosenblatt {read(path).library}",
    }
    if training := getattr(model, "training_", None):
        facts["trained on"] = [name for name, _ in training["data"]]
        facts["examples"], facts["runs"] = training["runs"][-1]["examples"], training["runs"]
    return facts


def has_weights(model: Any) -> bool:
    """Whether there is one weight for each feature and label."""
    return all(one.readout != "vote" for one in model.models_)


def vectors(model: Any) -> tuple[list[Any], list[Any]]:
    """The weights of each label in sorted order, and the labels."""
    labels = sorted(model._labels)
    return [model.models_[model._labels.index(label)].coef()[0][0] for label in labels], labels


def measure(
    model: Any,
    data: Sequence[str],
    format: str | None,  # noqa: A002
    threads: int | None,
    on_bad_rows: str = "stop",
) -> dict[str, Any]:
    """Compare predictions with labels."""
    labels = list(model._labels)
    members: list[Members] = []
    guesses: list[Members] = []
    stream = open_data(data, model, labelled=True, format=format, threads=threads, on_bad_rows=on_bad_rows)
    for batch in stream:
        members.append(_members(batch, stream, labels))
        guesses.append(model._raw_scores(batch.table(model.n_features_in_)) > 0.0)
    warn_of_bad_rows(stream)
    names = {label for text in stream.labels for label in split(text, stream.encoder.separator)}
    unknown = len(names - set(labels))
    facts = measures(np.concatenate(members), np.concatenate(guesses), labels)
    return {**facts, "unknown_labels": unknown} if unknown else facts


def measures(truth: Members, guess: Members, labels: Sequence[Any]) -> dict[str, Any]:
    """Subset accuracy, Hamming loss, F1 over all decisions and the mean F1 of the labels, and measures of each label."""
    right, found, real = (truth & guess).sum(axis=0), guess.sum(axis=0), truth.sum(axis=0)

    def share(part: Any, of: Any) -> float | None:
        return float(part / of) if of else None

    each = [
        {
            "label": label, "precision": share(right[k], found[k]), "recall": share(right[k], real[k]),
            "f1": share(2 * right[k], found[k] + real[k]), "examples": int(real[k]),
        }
        for k, label in enumerate(labels)
    ]  # fmt: skip
    return {
        "subset_accuracy": float((truth == guess).all(axis=1).mean()),
        "hamming_loss": float((truth != guess).mean()),
        "micro_f1": share(2 * right.sum(), found.sum() + real.sum()) or 0.0,
        "macro_f1": float(np.mean([one["f1"] or 0.0 for one in each])),
        "examples": len(truth),
        "per_label": each,
    }


def text_of(facts: dict[str, Any]) -> str:
    """Measures as text."""
    from rosenblatt.training.evaluation import _classes

    lines = [
        f"subset accuracy {facts['subset_accuracy']:.2%}: exactly the right labels",
        f"Hamming loss    {facts['hamming_loss']:.4f}: wrong decisions among all",
        f"micro F1        {facts['micro_f1']:.4f}",
        f"macro F1        {facts['macro_f1']:.4f}: mean of the labels",
        f"examples        {facts['examples']:,}",
    ]
    if facts.get("unknown_labels"):
        lines.append(f"unknown labels  {facts['unknown_labels']:,}, which the model cannot predict; left out")
    return "\n".join([*lines, "", *(_classes(facts["per_label"]) if len(facts["per_label"]) <= 30 else [])])


def predictions(
    model: Any, stream: Any, nested: bool, scores: bool, kept: Sequence[str]
) -> Iterator[dict[str, list[Any]]]:
    """Columns of predicted labels for each batch: lists, or texts joined by the separator of the training data."""
    labels = list(model._labels)
    for batch in stream:
        found = model._raw_scores(batch.table(model.n_features_in_))
        rows = [[label for label, has in zip(labels, row, strict=True) if has] for row in (found > 0.0).tolist()]
        made = {name: (batch.kept or {})[name] for name in kept}
        made["predicted labels" if "labels" in kept else "labels"] = (
            rows if nested else [stream.encoder.separator.join(map(str, row)) for row in rows]
        )
        if scores:
            made |= {f"score of {label}": column for label, column in zip(labels, found.T.tolist(), strict=True)}
        yield made
