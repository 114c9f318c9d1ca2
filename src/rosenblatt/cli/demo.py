"""`rosenblatt demo`: a tour of the commands on real data that are part of the package."""

import contextlib
import csv
import shlex
from pathlib import Path

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import FAILED

POINTS = (("x1", "x2", "label"), (1, 1, -1), (3, 2, 1), (2, 4, 1), (3, 4, 1), (2, 3, -1))
TRAINING_MAILS = 1_500


@option.command()
@click.option("--words", type=click.IntRange(min=1, max=100), default=8, help="Number of words to show for each class.")
@click.option("--epochs", type=click.IntRange(min=1, max=1000), default=10, help="Passes over the mails.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("rosenblatt-demo"),
    metavar="FOLDER",
    help="Folder for the data, the model and the report.",
)
def demo(words: int, epochs: int, folder: Path) -> None:
    """Train a spam filter on 2,000 real mails, prove things about it, and write a report.

    For example:
      rosenblatt demo --words 5
    """
    from rosenblatt.estimators.bases import with_sklearn

    with_sklearn()  # `trace` needs it, and it can be chosen only once per process
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        _write_data()
        click.echo("Five commands on real mails. The first run of each takes longer, because it compiles code.\n")
        click.secho(f"$ cd {shlex.quote(str(folder))}", bold=True)
        for explanation, command in _tour(words, epochs):
            _step(explanation, command)
    click.secho("\nResults", bold=True)
    click.echo(f"  the report     {folder.resolve() / 'report.html'}")
    click.echo(f"  data, model    {folder.resolve()}: try the commands above here; each has --help")
    click.echo("  rosenblatt lab shows the algorithm step by step in the browser; rosenblatt serve learns over HTTP.")


def _tour(words: int, epochs: int) -> list[tuple[str, str]]:
    """Explanation and command of each step."""
    learners = " ".join(f"--only {name}" for name in ("perceptron", "averaged", "pa-ii", "arow"))
    return [
        (
            "Train a perceptron on the words of the mails. It changes its weights only after a mistake.",
            f"train mails.csv -m spam.model --epochs {epochs} --test new_mails.csv --report report.html",
        ),
        ("The words with the largest weights for each class.", f"inspect spam.model --top {words}"),
        ("Prove whether a hyperplane separates these mails, and with which margin.", "certify mails.csv"),
        (
            "Compare learners: each mail is predicted before it is learned, in five random orders.",
            f"compare mails.csv --repeats 5 {learners} --quiet",
        ),
        (
            "Every step of a run on five points, with the two sides of the convergence proof.",
            "trace points.csv --init=-1,0,0 --on-zero positive",
        ),
    ]


def _step(explanation: str, command: str) -> None:
    """Print and run a command."""
    from rosenblatt.cli import app

    click.echo(f"\n{explanation}")
    click.secho(f"$ rosenblatt {command}", bold=True)
    code = app(shlex.split(command), standalone_mode=False)
    if code:
        click.echo(f"rosenblatt: the demo stopped at this command, which ended with {code}.", err=True)
        raise click.exceptions.Exit(FAILED)


def _write_data() -> None:
    """Write the files that the commands read."""
    from rosenblatt.datasets import load_spam

    texts, labels = load_spam()
    mails = list(zip(labels, texts, strict=True))
    for name, rows in (
        ("mails.csv", [("label", "text"), *mails[:TRAINING_MAILS]]),
        ("new_mails.csv", [("label", "text"), *mails[TRAINING_MAILS:]]),
        ("points.csv", POINTS),
    ):
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
