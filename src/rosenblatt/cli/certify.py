"""`rosenblatt certify`: prove whether the data are linearly separable."""

import click

from rosenblatt.cli import _options as option


@option.command()
@option.data_files
@click.option("--intercept/--no-intercept", default=True, help="Whether the hyperplane has an intercept.")
@click.option(
    "--geometric", is_flag=True, help="The largest distance of the nearest example from the hyperplane, as in an SVM."
)
@option.positive
@option.label
@option.format
@option.header
@option.types
@option.interactions
@option.one_based
@option.as_json
def certify(
    data: tuple[str, ...],
    intercept: bool,
    geometric: bool,
    positive: str | None,
    label: str | None,
    format: str | None,  # noqa: A002
    header: bool | None,
    types: tuple[str, ...],
    interactions: tuple[str, ...],
    one_based: bool | None,
    json: bool,
) -> None:
    """Decide whether the classes of a file are linearly separable, and prove it in exact arithmetic.

    For example:
      rosenblatt certify sonar.csv
      rosenblatt certify sonar.csv --geometric
      rosenblatt certify mushrooms.svm --json
    """
    from rosenblatt.cli import _files
    from rosenblatt.theory.separation import certify as decide

    options = option.stream_options(format, label, header, None, types, interactions, False, one_based, None)
    X, y, _ = _files.read_all(data, options)
    certificate = decide(X, y, fit_intercept=intercept, geometric=geometric, positive=positive)
    verified = certificate.verify()
    if not json:
        click.echo(f"{certificate}\n  verified  {'yes, in exact arithmetic' if verified else 'no'}")
        return
    lower, upper = certificate.margin
    bound = certificate.mistake_bound
    _files.emit(
        {
            "status": certificate.status,
            "problem": certificate.problem,
            "examples": len(y),
            "geometric": certificate.geometric,
            "margin": [lower, upper if upper < float("inf") else None],
            "radius": certificate.radius,
            "mistake_bound": bound if bound is not None and bound < float("inf") else None,
            "verified": verified,
        }
    )
