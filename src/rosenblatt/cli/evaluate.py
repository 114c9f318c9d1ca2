"""`rosenblatt evaluate`: measure a model on labelled examples."""

from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage, warn


@option.command()
@option.model_file
@option.data_files
@click.option("--roc", type=option.FILE, metavar="FILE.png", help="Also draw the ROC curve, for two classes.")
@option.format
@option.threads
@option.as_json
@option.quiet
@click.pass_context
def evaluate(
    context: click.Context,
    model: str,
    data: tuple[str, ...],
    roc: str | None,
    format: str | None,  # noqa: A002
    threads: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Compare predictions with labels: accuracy, confusion and, for two classes, the area under the ROC curve.

    For a tagger: the accuracy of the tags and, if they are those of chunks (B-NP, I-NP, O), precision, recall and F1.

    For example:
      rosenblatt evaluate spam.model test.csv
      rosenblatt evaluate spam.model test.csv --json
      rosenblatt evaluate spam.model test.csv --roc roc.png
    """
    from rosenblatt.cli import _files, _sequences
    from rosenblatt.model_file.atomic import check_output
    from rosenblatt.training.evaluation import class_labels, describe_strangers, evaluate_stream
    from rosenblatt.training.progress import Bar

    check_output(roc)
    estimator = _files.load_model(model, taggers=True)
    if _sequences.is_tagger(estimator):
        _sequences.refuse(context, {"model", "data", "format", "json", "quiet"})
        report = _sequences.report_on(estimator, data)
        if json:
            _files.emit(report.to_json())
        else:
            click.echo(report.to_text())
        return
    stream = _files.open_data(data, estimator, labelled=True, format=format, threads=threads)
    with Bar("evaluating", quiet) as bar:
        result = evaluate_stream(estimator, stream, lambda: bar.update(stream.bytes_read, stream.bytes_total))
    if result.examples == 0:
        raise Usage(f"{', '.join(data)}: there is no labelled example in it. Check that it has a column of labels.")
    if (strangers := describe_strangers(result.labels, class_labels(estimator))) and not quiet:
        warn(strangers)
    if roc is not None:
        _draw(roc, result)
    if json:
        _files.emit(result.to_json())
    else:
        click.echo(result.to_text())


def _draw(path: str, result: Any) -> None:
    if result.roc_auc is None:
        raise Usage("--roc needs two classes with examples of both; got other data. Leave it out.")
    from rosenblatt.cli._errors import writing
    from rosenblatt.cli._pictures import roc_figure
    from rosenblatt.model_file.atomic import replacing

    figure = roc_figure(result)
    kind = path.rpartition(".")[2].lower()
    with writing(path), replacing(path) as draft:
        figure.savefig(draft, format=kind if kind in ("png", "svg", "pdf") else "png", dpi=150)
