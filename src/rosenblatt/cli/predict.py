"""`rosenblatt predict`: predict the label of each example."""

import math
import re
from collections.abc import Callable
from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage, warn


@option.command()
@option.model_file
@option.data_files
@click.option(
    "--output",
    "-o",
    type=option.FILE,
    metavar="FILE",
    help="Output file; .csv, .parquet and .jsonl get named columns. Default: standard output.",
)
@click.option(
    "--scores",
    "-s",
    is_flag=True,
    help="Also write the scores: one score for two classes (positive for the second), else one per class.",
)
@click.option("--probabilities", "-p", is_flag=True, help="Also write the probability of each class.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="K",
    help="Also write the K best classes of each example, the best first.",
)
@click.option(
    "--keep",
    metavar="COLUMN",
    multiple=True,
    help="Also write this column of DATA, such as an id; separate several by commas. In VW text, tag.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Of two classes, predict the second where its probability is at least P.",
)
@click.option(
    "--cost",
    metavar="FP,FN",
    help="What it costs to predict the second of two classes wrongly, and the first wrongly; the cheaper class is predicted.",
)
@click.option(
    "--explain", type=click.IntRange(min=1), metavar="N", help="Also write the N features that moved each score most."
)
@option.format
@option.on_bad_rows
@option.threads
@click.option("--json", is_flag=True, help="Write one JSON object per line.")
@option.quiet
def predict(
    model: str,
    data: tuple[str, ...],
    output: str | None,
    scores: bool,
    probabilities: bool,
    top: int | None,
    keep: tuple[str, ...],
    threshold: float | None,
    cost: str | None,
    explain: int | None,
    format: str | None,  # noqa: A002
    on_bad_rows: str,
    threads: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Predict the label of every example, one per line, in the order of the data; for a regression, a number.

    Labels in DATA are ignored. Tabs separate several columns; they have a header if --keep is given or the output ends with .csv.

    For example:
      rosenblatt predict spam.model new.csv
      rosenblatt predict spam.model new.csv --keep id --probabilities -o answers.csv
      rosenblatt predict churn.model new.csv --cost 1,20 --explain 3
      cat new.csv | rosenblatt predict spam.model - | sort | uniq -c
    """
    from rosenblatt.cli import _files
    from rosenblatt.cli._outputs import columns_to, kind_of
    from rosenblatt.training.evaluation import class_labels, describe_unseen, scored_batches
    from rosenblatt.training.progress import Bar

    estimator = _files.load_model(model)
    from rosenblatt.cli import _labels

    kept = [part.strip() for text in keep for part in text.split(",") if part.strip()]
    rule = _threshold(threshold, cost)
    if _labels.is_multilabel(estimator):
        _labels.refuse({
            "--probabilities": probabilities, "--top": top, "--threshold": threshold, "--cost": cost, "--explain": explain,
        })  # fmt: skip
        answers = None
    else:
        answers = _Answers(estimator, class_labels(estimator), kept, scores, probabilities, top, rule, explain)
    stream = _files.open_data(
        data, estimator, labelled=False, format=format, threads=threads, keep=kept, on_bad_rows=on_bad_rows
    )
    if answers is None:
        kind = kind_of(output, json, several=bool(kept))
        with columns_to(output, kind) as write:
            for columns in _labels.predictions(estimator, stream, kind == "jsonl", scores, kept):
                write(columns)
        _files.warn_of_bad_rows(stream)
        return
    kind = answers.kind = kind_of(output, json, several=bool(kept))
    answers.nested, answers.source = kind == "jsonl" and not kept, stream.format
    shown = output is not None and not quiet
    with columns_to(output, kind) as write, Bar("predicting", quiet=not shown) as bar:
        for batch, numbers in scored_batches(estimator, stream):
            write(answers.columns(batch, numbers))
            bar.update(stream.bytes_read, stream.bytes_total)
    _files.warn_of_bad_rows(stream)
    if (unseen := describe_unseen(stream.unseen)) and not quiet:
        warn(unseen)


def _threshold(threshold: float | None, cost: str | None) -> float | None:
    """The probability from which the second class is predicted; None for the usual rule."""
    if cost is None:
        return threshold
    parts = cost.split(",")
    try:
        wrong, missed = (float(part) for part in parts)
    except ValueError:
        wrong = missed = -1.0
    if threshold is not None or not (wrong >= 0 and missed >= 0 and 0 < wrong + missed < float("inf")):
        raise Usage(
            f"--cost takes two costs that are at least 0, such as 1,20, and not with --threshold; got {cost!r}. The first is "
            "that of predicting the second class wrongly."
        )
    return wrong / (wrong + missed)


class _Answers:
    """Makes columns of predictions."""

    def __init__(
        self, estimator: Any, classes: list[Any], kept: list[str], scores: bool, probabilities: bool,
        top: int | None, threshold: float | None, explain: int | None,
    ) -> None:  # fmt: skip
        self.estimator, self.classes, self.kept = estimator, classes, kept
        self.scores, self.probabilities, self.top = scores, probabilities, top
        self.threshold, self.explain = threshold, explain
        from rosenblatt.cli._targets import is_regressor, refuse

        self.nested, self.kind, self.source = False, "", ""
        self.calibration = getattr(estimator, "_calibration", None)
        self.regression = is_regressor(estimator)
        if self.regression:
            refuse({
                "--scores": scores, "--probabilities": probabilities, "--top": top, "--threshold or --cost": threshold,
            })  # fmt: skip
        for name, asked in (("--probabilities", probabilities), ("--threshold or --cost", threshold is not None)):
            if asked and self.calibration is None:
                raise Usage(
                    f"{name} needs a model that knows probabilities; this one does not. Train it with examples set aside: "
                    "without --epochs, or with --holdout 0.1."
                )
        if threshold is not None and len(classes) != 2:
            raise Usage(f"--threshold and --cost need two classes; the model has {len(classes)}. Leave them out.")
        if explain is not None and (
            not hasattr(estimator, "explain") or estimator.model_.readout in ("vote", "committee")
        ):
            raise Usage(
                f"--explain needs weights of features; {type(estimator).__name__} has none. Use another one, such as averaged."
            )

    def columns(self, batch: Any, numbers: Any) -> dict[str, list[Any]]:
        """The columns for a batch and its scores."""
        from rosenblatt.model.scores import predicted_classes

        classes, made = self.classes, {}
        for name in self.kept:
            if name == "tag" and batch.tags is not None:
                made[name] = list(batch.tags)
            elif batch.kept is None or name not in batch.kept:
                raise Usage(f"--keep must name columns of the data; got {name!r}. In VW text give tag.")
            else:
                made[name] = self._typed(name, batch.kept[name])
        if self.regression:
            answers: dict[str, list[Any]] = {"prediction": numbers[:, 0].tolist()}
            if self.explain is not None:
                answers["reasons"] = self._reasons(batch, [None] * batch.size)
            return {**made, **answers}
        odds = None if self.calibration is None else self.calibration.probabilities(numbers)
        guesses = predicted_classes(numbers, len(classes)).tolist()
        if self.threshold is not None and odds is not None:
            guesses = (odds[:, 1] >= self.threshold).astype(int).tolist()
        answers = {"label": [classes[guess] for guess in guesses]}
        names = classes[1:] if len(classes) == 2 else classes
        if self.scores:
            answers |= self._group("scores", "score of", names, numbers)
        if self.probabilities and odds is not None:
            answers |= self._group("probabilities", "probability of", classes, odds)
        if self.top is not None:
            answers |= self._best(numbers, odds)
        if self.explain is not None:
            answers["reasons"] = self._reasons(batch, [classes[guess] for guess in guesses])
        if self.kept and "label" in made:
            answers = {"prediction" if name == "label" else name: column for name, column in answers.items()}
        return {**made, **answers}

    def _typed(self, name: str, values: list[Any]) -> list[Any]:
        """A column that the model reads as numbers, as numbers where the output has types.

        For Parquet they are floats, because a later row of a text may have a fraction; a column of Parquet keeps its type.
        """
        encoder = self.estimator.encoder_
        number = (encoder.sources.get(name, encoder.label_kind if name == encoder.label else None)) == "number"
        if self.kind not in ("jsonl", "parquet") or not number or name in encoder.forms:
            return values
        if self.kind == "jsonl":
            return [_number(value, whole=True) if isinstance(value, str) else value for value in values]
        if self.source == "parquet":
            return values
        return [
            _number(value, whole=False) if isinstance(value, str) else None if value is None else float(value)
            for value in values
        ]

    def _group(self, name: str, prefix: str, classes: list[Any], values: Any) -> dict[str, list[Any]]:
        if self.nested:
            keys = [str(label) for label in classes]
            return {name: [dict(zip(keys, row, strict=True)) for row in values.tolist()]}
        return {f"{prefix} {label}": column for label, column in zip(classes, values.T.tolist(), strict=True)}

    def _best(self, numbers: Any, odds: Any) -> dict[str, list[Any]]:
        import numpy as np

        assert self.top is not None
        values = numbers if odds is None else odds
        if values.shape[1] == 1:
            values = np.column_stack([-values[:, 0], values[:, 0]])
        order = np.argsort(-values, axis=1, kind="stable")[:, : self.top]
        found: dict[str, list[Any]] = {}
        for place, column in enumerate(order.T, start=1):
            found[f"class {place}"] = [self.classes[number] for number in column.tolist()]
            name = "score" if odds is None else "probability"
            found[f"{name} {place}"] = values[np.arange(column.size), column].tolist()
        return found

    def _reasons(self, batch: Any, labels: list[Any]) -> Any:
        """The features that moved the score of each example most: as text, or as records where the output has types."""
        assert self.explain is not None
        model = self.estimator.model_
        table, reasons = batch.table(model.n_features), list[Any]()
        for row, label in enumerate(labels):
            found = self.estimator._explain_row(model, table, row, label)
            if self.kind not in ("jsonl", "parquet"):
                reasons.append(_as_text(found, self.explain, self._shown))
                continue
            facts = found.to_json(self.explain)
            reasons.append({name: value for name, value in facts.items() if name != "label"})
        return _reason_column(reasons) if self.kind == "parquet" else reasons

    def _shown(self, name: str) -> str:
        """The name of a feature, with a word before it if it is the number of a column."""
        encoder = self.estimator.encoder_
        if encoder.family == "numbered" and encoder.bits is None:
            return f"feature {name}"
        numbered = (
            encoder.family == "table"
            and not encoder.header
            and re.split("[=:.*]", name, maxsplit=1)[0] in encoder.sources
        )
        return f"column {name}" if numbered and encoder.bits is None else name


def _number(text: str, whole: bool) -> float | None:
    """The number in a field; with `whole` a whole number stays one. None if it is missing."""
    if whole and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _as_text(found: Any, most: int, shown: Callable[[str], str]) -> str:
    """Name, value, weight and product of the first features, the sum of the other products, and the bias."""
    parts = [
        f"{shown(name)} {value:.4g} × {weight:+.4g} = {value * weight:+.4g}"
        for name, value, weight in found.features[:most]
        if weight
    ]
    if rest := found.products[most:]:
        parts.append(f"others {math.fsum(rest):+.4g}")
    return "; ".join([*parts, f"bias {found.bias:+.4g}"])


def _reason_column(reasons: list[dict[str, Any]]) -> Any:
    """Reasons as a column of Parquet."""
    import pyarrow as pa

    number = pa.float64()
    feature = pa.struct({"name": pa.string(), "value": number, "weight": number, "product": number})
    types = {
        "score": number,
        "bias": number,
        "features": pa.list_(feature),
        "others": number,
        "rounding": pa.list_(number),
    }
    return pa.array(reasons, pa.struct(types))
