"""`rosenblatt certify`: prove whether the data are linearly separable."""

from typing import Annotated

import typer

from rosenblatt.cli import _options as option


def certify(
    data: option.DataFiles,
    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Whether the hyperplane has an intercept.")
    ] = True,
    label: option.Label = None,
    format: option.Format = None,  # noqa: A002
    header: option.Header = None,
    types: option.Types = [],  # noqa: B006
    interactions: option.Interactions = [],  # noqa: B006
    one_based: option.OneBased = None,
    json: option.AsJson = False,
) -> None:
    """Decide whether the classes of a file are linearly separable, and prove it in exact arithmetic.

    For example:
      rosenblatt certify sonar.csv
      rosenblatt certify mushrooms.svm --json
    """
    from rosenblatt.cli import _files
    from rosenblatt.theory.separation import certify as decide

    options = option.stream_options(format, label, header, None, types, interactions, False, one_based, None)
    X, y, _ = _files.read_all(data, options)
    certificate = decide(X, y, fit_intercept=intercept)
    verified = certificate.verify()
    if not json:
        typer.echo(f"{certificate}\n  verified  {'yes, in exact arithmetic' if verified else 'no'}")
        return
    lower, upper = certificate.margin
    bound = certificate.mistake_bound
    _files.emit(
        {
            "status": certificate.status,
            "problem": certificate.problem,
            "examples": len(y),
            "margin": [lower, upper if upper < float("inf") else None],
            "radius": certificate.radius,
            "mistake_bound": bound if bound is not None and bound < float("inf") else None,
            "verified": verified,
        }
    )
