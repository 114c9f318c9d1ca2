"""`rosenblatt evaluate`: measure a model on labelled examples."""

from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage, warn


@option.command()
@option.model_file
@option.data_files
@click.option("--roc", type=option.FILE, metavar="FILE.png", help="Also draw the ROC curve, for two classes.")
@click.option("--pr", type=option.FILE, metavar="FILE.png", help="Also draw precision against recall, for two classes.")
@option.format
@option.on_bad_rows
@option.threads
@option.as_json
@option.quiet
@click.pass_context
def evaluate(
    context: click.Context,
    model: str,
    data: tuple[str, ...],
    roc: str | None,
    pr: str | None,
    format: str | None,  # noqa: A002
    on_bad_rows: str,
    threads: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Compare predictions with labels: accuracy, confusion and, for two classes, the area under the ROC curve.

    For examples with several labels: subset accuracy, Hamming loss, micro and macro F1.

    For a regression: R², RMSE and MAE, beside what the mean and the median of the targets would give.

    For a tagger: the accuracy of the tags and, if they are those of chunks (B-NP, I-NP, O), precision, recall and F1.

    For example:
      rosenblatt evaluate spam.model test.csv
      rosenblatt evaluate spam.model test.csv --json
      rosenblatt evaluate spam.model test.csv --roc roc.png
    """
    from rosenblatt.cli import _files, _labels, _sequences
    from rosenblatt.cli._targets import is_regressor, refuse
    from rosenblatt.model_file.atomic import check_output
    from rosenblatt.training.evaluation import class_labels, describe_strangers, describe_unseen, evaluate_stream
    from rosenblatt.training.progress import Bar
    from rosenblatt.training.regression import evaluate_targets

    check_output(roc, pr)
    estimator = _files.load_model(model, taggers=True)
    if _sequences.is_tagger(estimator):
        _sequences.refuse(context, {"model", "data", "format", "json", "quiet"})
        report = _sequences.report_on(estimator, data)
        if json:
            _files.emit(report.to_json())
        else:
            click.echo(report.to_text())
        return
    if _labels.is_multilabel(estimator):
        _labels.refuse({"--roc": roc, "--pr": pr})
        facts = _labels.measure(estimator, data, format, threads, on_bad_rows)
        if json:
            _files.emit(facts)
        else:
            click.echo(_labels.text_of(facts))
        return
    stream = _files.open_data(data, estimator, labelled=True, format=format, threads=threads, on_bad_rows=on_bad_rows)
    regression = is_regressor(estimator)
    if regression:
        refuse({"--roc": roc, "--pr": pr})
    with Bar("evaluating", quiet) as bar:
        result: Any = (evaluate_targets if regression else evaluate_stream)(
            estimator, stream, lambda: bar.update(stream.bytes_read, stream.bytes_total)
        )
    _files.warn_of_bad_rows(stream)
    if result.examples == 0:
        raise Usage(f"{', '.join(data)}: there is no labelled example in it. Check that it has a column of labels.")
    if not regression and (strangers := describe_strangers(result.labels, class_labels(estimator))) and not quiet:
        warn(strangers)
    if (unseen := describe_unseen(result.unseen)) and not quiet:
        warn(unseen)
    for name, path in (("roc", roc), ("pr", pr)):
        if path is not None:
            _draw(name, path, result)
    if json:
        bad = {"bad_rows": stream.bad_rows.count} if stream.bad_rows.count else {}
        _files.emit({**result.to_json(), **bad})
    else:
        click.echo(result.to_text())


def _draw(name: str, path: str, result: Any) -> None:
    if result.roc_auc is None:
        raise Usage(f"--{name} needs two classes with examples of both; got other data. Leave it out.")
    from rosenblatt.cli._errors import writing
    from rosenblatt.cli._pictures import precision_figure, roc_figure
    from rosenblatt.model_file.atomic import replacing

    figure = (roc_figure if name == "roc" else precision_figure)(result)
    kind = path.rpartition(".")[2].lower()
    with writing(path), replacing(path) as draft:
        figure.savefig(draft, format=kind if kind in ("png", "svg", "pdf") else "png", dpi=150)
