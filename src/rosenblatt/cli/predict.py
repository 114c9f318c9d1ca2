"""`rosenblatt predict`: predict the label of each example."""

from typing import Any

import click

from rosenblatt.cli import _options as option


@option.command()
@option.model_file
@option.data_files
@click.option("--output", "-o", type=option.FILE, metavar="FILE", help="Output file. Default: standard output.")
@click.option(
    "--scores",
    "-s",
    is_flag=True,
    help="Also write the scores: one score for two classes (positive for the second), else one per class.",
)
@option.format
@option.threads
@click.option("--json", is_flag=True, help="Write one JSON object per line.")
@option.quiet
def predict(
    model: str,
    data: tuple[str, ...],
    output: str | None,
    scores: bool,
    format: str | None,  # noqa: A002
    threads: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Predict the label of every example, one per line, in the order of the data.

    Labels in DATA are ignored. With --scores, tabs separate the columns.

    For example:
      rosenblatt predict spam.model new.csv
      rosenblatt predict spam.model new.csv --scores -o answers.tsv
      cat new.csv | rosenblatt predict spam.model - | sort | uniq -c
    """
    from rosenblatt.cli import _files
    from rosenblatt.model.scores import predicted_classes
    from rosenblatt.training.evaluation import class_labels, scored_batches
    from rosenblatt.training.progress import Bar

    estimator = _files.load_model(model)
    classes = class_labels(estimator)
    stream = _files.open_data(data, estimator, labelled=False, format=format, threads=threads)
    shown = output is not None and not quiet
    with _files.output(output) as file, Bar("predicting", quiet=not shown) as bar:
        for _, numbers in scored_batches(estimator, stream):
            guesses = predicted_classes(numbers, len(classes)).tolist()
            file.write(_lines(classes, guesses, numbers, scores, json))
            bar.update(stream.bytes_read, stream.bytes_total)


def _lines(classes: list[Any], guesses: list[int], numbers: Any, scores: bool, json: bool) -> str:
    words = [_field(str(label)) for label in classes]
    if not json and not scores:
        words = [f"{word}\n" for word in words]
        return "".join([words[guess] for guess in guesses])
    rows = numbers.tolist()
    if json:
        import json as writer

        names = (
            [str(label) for label in classes[1 - len(classes) % 2 :]]
            if len(classes) == 2
            else [str(label) for label in classes]
        )
        return "".join(
            writer.dumps(
                {"label": classes[guess], **({"scores": dict(zip(names, row, strict=True))} if scores else {})},
                ensure_ascii=False,
            )
            + "\n"
            for guess, row in zip(guesses, rows, strict=True)
        )
    return "".join(
        "\t".join([words[guess], *(f"{score:.9g}" for score in row)]) + "\n"
        for guess, row in zip(guesses, rows, strict=True)
    )


def _field(text: str) -> str:
    """A field of tab-separated text; quoted as in CSV if it contains a tab, a quote or a line end."""
    if any(sign in text for sign in '\t"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
