"""`rosenblatt export`: write a model in another form."""

from pathlib import Path

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage


@option.command()
@option.model_file
@click.option(
    "--to",
    "form",
    type=click.Choice(["c", "onnx"]),
    required=True,
    help="c: a header of C99 that predicts, without any library; onnx: a graph for ONNX runtimes.",
)
@click.option("--output", "-o", type=option.FILE, metavar="FILE", help="Output file. Default for c: standard output.")
@click.option(
    "--name",
    metavar="NAME",
    help="The beginning of all names in a header. Default: the name of the output file, or model.",
)
@click.option("--learn", is_flag=True, help="With c: the header can learn, too, with the same results as rosenblatt.")
def export(model: str, form: str, output: str | None, name: str | None, learn: bool) -> None:
    """Write a model as a C header or as an ONNX graph.

    For example:
      rosenblatt export spam.model --to c -o spam.h
      rosenblatt export spam.model --to c --learn --name filter > filter.h
      rosenblatt export spam.model --to onnx -o spam.onnx
    """
    from rosenblatt.cli import _files
    from rosenblatt.cli._errors import writing
    from rosenblatt.cli._labels import is_multilabel
    from rosenblatt.model_file.atomic import check_output, replacing

    for given, value in (("--name", name), ("--learn", learn or None)):
        if form != "c" and value is not None:
            raise Usage(f"{given} is for --to c; got it with --to {form}. Leave it out.")
    if form == "onnx" and output in (None, "-"):
        raise Usage("--to onnx writes a binary file; got no name for it. Give one with -o, such as -o model.onnx.")
    check_output(output)
    estimator = _files.load_model(model)
    if is_multilabel(estimator):
        raise Usage(
            "export takes a model that predicts one label; MultiLabel has a model for each label. Train one with --label alone "
            "for a column that says whether an example has that label, and export it."
        )
    if not hasattr(estimator, "to_c"):
        raise Usage(
            f"{type(estimator).__name__} is a sum over examples and cannot be exported. Train an averaged-perceptron."
        )
    try:
        if form == "c":
            stem = "model" if output in (None, "-") else Path(str(output)).stem
            plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in stem)
            begin = name or (f"_{plain}" if plain[:1].isdigit() else plain)
            content = estimator.to_c(begin, learn=learn).encode()
        else:
            content = estimator.to_onnx().SerializeToString()
    except (ValueError, ImportError) as error:
        raise Usage(str(error)) from error
    if output in (None, "-"):
        click.echo(content.decode(), nl=False)
        return
    with writing(str(output)), replacing(str(output)) as draft:
        Path(draft).write_bytes(content)
