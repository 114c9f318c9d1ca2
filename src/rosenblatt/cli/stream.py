"""`rosenblatt stream`: predict, then learn, example by example."""

from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import INTERRUPTED, Usage, go_on_unread, warn


@option.command()
@option.data_files
@click.option(
    "--model",
    "-m",
    type=option.FILE,
    metavar="MODEL",
    help="Continue with this model if the file exists, and write it when the stream ends.",
)
@option.algorithm(f"{option.STREAMING}; arow-regressor with --regression")
@option.regression
@option.settings
@click.option(
    "--delay",
    type=click.IntRange(min=0),
    default=0,
    help="Number of examples predicted before the label of one is known.",
)
@click.option(
    "--output",
    "-o",
    type=option.FILE,
    metavar="FILE",
    help="Write the predictions, made before learning, to this file.",
)
@option.label
@option.format
@option.header
@option.types
@option.interactions
@option.standardize
@option.bits
@option.na
@option.words
@option.ngrams
@option.char_ngrams
@option.weight
@option.one_based
@option.on_bad_rows
@option.seed
@option.as_json
@option.quiet
@click.pass_context
def stream(
    context: click.Context,
    data: tuple[str, ...],
    model: str | None,
    algorithm: str | None,
    regression: bool,
    settings: tuple[str, ...],
    delay: int,
    output: str | None,
    label: str | None,
    format: str | None,  # noqa: A002
    header: bool | None,
    types: tuple[str, ...],
    interactions: tuple[str, ...],
    standardize: bool | None,
    na: tuple[str, ...],
    words: str | None,
    ngrams: tuple[int, int] | None,
    char_ngrams: tuple[int, int] | None,
    weight: str | None,
    bits: int | None,
    one_based: bool | None,
    on_bad_rows: str,
    seed: int,
    json: bool,
    quiet: bool,
) -> None:
    """Predict each example, then learn it. The accuracy of these predictions is printed after 1, 2, 4, 8, ... examples.

    With --regression, the label is a number, and the errors of the predictions are printed. With --format conll, an example is a
    sentence with a tag for each word, and the accuracy of the tags is printed.

    Ctrl-C ends the stream and saves the model.

    For example:
      rosenblatt stream prices.csv
      tail -f log.jsonl | rosenblatt stream - --format jsonl -m live.model
      rosenblatt stream prices.csv -a passive-aggressive --delay 48
    """
    from rosenblatt.cli import _files
    from rosenblatt.cli._examples import Interrupt
    from rosenblatt.cli._session import new_learner
    from rosenblatt.cli._targets import ALGORITHM, is_regressor, names_regressor, run_stream, stream_table
    from rosenblatt.model_file.atomic import check_output
    from rosenblatt.training.progressive import Progress
    from rosenblatt.training.regression import Course

    check_output(model)
    if model is not None or output is not None:
        go_on_unread("stdout")
    if format == "conll":
        from rosenblatt.cli import _sequences

        parameters = option.parsed_settings(settings, "sequence-perceptron")
        _sequences.stream(context, data, model, algorithm, parameters, label, bits, output, json, quiet)
        return
    options = option.stream_options(format, label, header, bits, types, interactions, standardize, one_based, None)
    regression = regression or names_regressor(algorithm)
    named = algorithm or (ALGORITHM if regression else option.STREAMING)
    parameters = option.parsed_settings(settings, named, regression)
    text = option.text_options(words, ngrams, char_ngrams)
    if model is not None and Path(model).exists():
        estimator = _files.load_model(model)
        _refuse_changes(estimator, algorithm, parameters, {**options, **text, "na": na, "weight": weight})
        options = {"format": format, "header": header, "encoder": estimator.encoder_}
        estimator.encoder_.thaw()
        estimator.encoder_.learned_moments = False
    else:
        options |= {"na": na, **text, "weight": weight}
        options["regression"] = regression
        estimator = new_learner(named, parameters, seed, regression)
    if not hasattr(estimator, "_rule") or getattr(type(estimator), "partial_fit", None) is None:
        raise Usage(
            f"`stream` needs a learner that learns example by example; {type(estimator).__name__} does not. Use `train`."
        )
    if "-" in data:
        options["threads"] = 1  # several threads read ahead, which delays a live stream
    options["on_bad_rows"] = on_bad_rows
    examples = _files.open_stream(data, **options)
    if not quiet:
        click.echo(examples.describe(), err=True)
    regression = is_regressor(estimator)
    progress: Any = Course() if regression else Progress()
    interrupt, table = Interrupt(), (stream_table if regression else _table)(json or quiet)
    with ExitStack() as stack:
        file = stack.enter_context(_files.output(output)) if output is not None else None
        stack.enter_context(interrupt)
        (run_stream if regression else _run)(estimator, examples, progress, delay, file, table, interrupt)
    _files.warn_of_bad_rows(examples)
    if progress.examples == 0:
        raise Usage(f"{', '.join(data)}: there is no labelled example in it. Check --label and --format.")
    if model is not None:
        estimator.encoder_ = examples.encoder
        _files.save_model(estimator, model)
    if json:
        _files.emit(_facts(progress, estimator))
    elif regression:
        pass
    elif not quiet:
        found = progress.judgement
        click.echo(
            f"log loss {found.log_loss:.4f}, calibration error {found.calibration_error:.4f}, of probabilities before learning",
            err=True,
        )
    if interrupt.asked:
        warn("interrupted" + (f"; {model} holds the model learned so far." if model is not None else "."))
        raise click.exceptions.Exit(INTERRUPTED)


def _refuse_changes(estimator: Any, algorithm: str | None, parameters: dict[str, Any], options: dict[str, Any]) -> None:
    from rosenblatt.learners import find

    name = type(estimator).__name__
    from rosenblatt.cli._targets import is_regressor

    if algorithm is not None and find(algorithm, regression=is_regressor(estimator)) is not type(estimator):
        raise Usage(
            f"--algorithm must be that of the model, {name}, to continue its training; got {algorithm!r}. Leave it out."
        )
    kept = estimator.get_params()
    given = [f"--set {key}" for key, value in parameters.items() if kept.get(key) != value]
    given += [
        f"--{key}" for key in ("label", "bits", "types", "interactions", "standardize", "na", "weight") if options[key]
    ]
    given += option.given_text_options(options)
    if options["one_based"] is not None:
        given.append("--one-based" if options["one_based"] else "--zero-based")
    if given:
        raise Usage(f"{given[0]} is part of the model and cannot be changed later. Leave it out, or choose a new file.")


def _table(silent: bool) -> Any:
    """Make a function that prints a line of the progress table."""
    if silent:
        return lambda *_: None
    click.echo(
        f"{'examples':>12}{'mistakes':>12}{'accuracy':>10}{'since last':>12}{'features':>12}{'label':>14}{'predicted':>14}"
    )
    before = [0, 0]

    def line(progress: Any, features: int, truth: Any, guess: Any) -> None:
        examples, mistakes = progress.examples - before[0], progress.mistakes - before[1]
        before[:] = progress.examples, progress.mistakes
        click.echo(
            f"{progress.examples:>12,}{progress.mistakes:>12,}{progress.accuracy:>10.2%}{1 - mistakes / examples:>12.2%}"
            f"{features:>12,}{_short(truth):>14}{_short(guess):>14}"
        )

    return line


def _short(label: Any) -> str:
    text = "-" if label is None else str(label)
    return text if len(text) <= 12 else text[:11] + "…"


def _run(
    estimator: Any, stream: Any, progress: Any, delay: int, file: IO[str] | None, report: Any, interrupt: Any
) -> None:
    from collections import deque

    import numpy as np

    from rosenblatt.cli._examples import refuse_fractions
    from rosenblatt.training.progressive import Pupil

    model = getattr(estimator, "model_", None)
    if model is None:
        model = estimator._new_model(stream.encoder.n_features, np.float64)
        estimator._check_positive_of_stream(len(model.classes))
        estimator._check_can_move(model)
        estimator.model_ = model
    pupil, waiting, odds = Pupil(model), deque[Any](), Odds(estimator, model)
    factors = {str(name): float(one) for name, one in (estimator.class_weight or {}).items()}

    def learn(example: tuple[Any, int, Any, float]) -> int:
        table, row, truth, weight = example
        number = model.class_number.get(truth)
        if number is not None:
            if len(model.classes) > 1:
                odds.add(pupil.row_scores(table, row), number)
            return pupil.learn(table, row, number, weight * factors.get(str(truth), 1.0))
        guess = pupil.predict(table, row)
        model.add_class(truth)
        pupil.learn(table, row, model.class_number[truth], weight * factors.get(str(truth), 1.0))
        return guess

    last: tuple[Any, Any] = (None, None)
    for batch in interrupt.before_end(stream):
        model.add_features(stream.encoder.n_features)
        table = batch.table(model.n_features, model.dtype)
        weights = batch.weights.tolist() or [1.0] * batch.size
        answers = []
        for row, code in enumerate(batch.codes.tolist()):
            if code < 0:  # no label: predict only
                answers.append(pupil.label(pupil.predict(table, row)))
                continue
            truth = stream.labels[code]
            if isinstance(truth, float):
                refuse_fractions([truth])
            example = (table, row, truth, weights[row])
            guess = pupil.label(learn(example) if not delay else pupil.predict(table, row))
            if delay:
                waiting.append(example)
                if len(waiting) > delay:
                    learn(waiting.popleft())
            last = truth, guess
            answers.append(guess)
            if progress.add(truth, guess):
                report(progress, model.n_features, truth, guess)
            if interrupt.asked:
                break
        odds.settle()
        if file is not None:
            file.write("".join(f"{'' if answer is None else answer}\n" for answer in answers))
        if interrupt.asked:
            break
    for example in waiting:
        learn(example)
    odds.settle()
    progress.judgement = odds.judgement
    seen = progress.curve[-1][0] if progress.curve else 0
    progress.finish()
    if progress.examples > seen:
        report(progress, model.n_features, *last)
    estimator.n_features_in_ = model.n_features


class Odds:
    """Updates the probabilities of a model with each example before it is learned, and judges them.

    Parameters
    ----------
    estimator : estimator
        It gets `calibration_`.
    model : Model
        Its model.
    """

    def __init__(self, estimator: Any, model: Any) -> None:
        from rosenblatt.model.calibration import Calibration, Judgement

        self._estimator, self._model, self._new = estimator, model, Calibration.of
        self.judgement = Judgement()
        self._scores: list[Any] = []
        self._codes: list[int] = []

    def add(self, scores: Any, code: int) -> None:
        """Take an example; it counts when `settle` is called, which is faster for many."""
        if self._scores and self._scores[-1].size != scores.size:
            self.settle()
        self._scores.append(scores)
        self._codes.append(code)

    def settle(self) -> None:
        """Count the examples taken since the last call."""
        import numpy as np

        if not self._scores:
            return
        scores, codes = np.array(self._scores), np.array(self._codes)
        calibration = getattr(self._estimator, "calibration_", None)
        if calibration is None or not calibration.fits(scores.shape[1]):
            calibration = self._estimator.calibration_ = self._new(scores.shape[1])
        self.judgement.add(calibration.observe(scores, codes), codes)
        self._scores, self._codes = [], []


def _facts(progress: Any, estimator: Any) -> dict[str, Any]:
    from rosenblatt.cli._targets import is_regressor

    if is_regressor(estimator):
        return {"algorithm": type(estimator).__name__, **progress.to_json(), "features": estimator.n_features_in_}
    return {
        "algorithm": type(estimator).__name__,
        "accuracy": progress.accuracy,
        "mistakes": progress.mistakes,
        "examples": progress.examples,
        "labels": progress.labels,
        "confusion": progress.confusion.tolist(),
        "features": estimator.n_features_in_,
        "log_loss": progress.judgement.log_loss,
        "calibration_error": progress.judgement.calibration_error,
        "curve": [{"examples": count, "mistakes": wrong} for count, wrong in progress.curve],
    }
