"""Real targets on the command line: their examples, the learner that is used if none is named, and what is printed."""

import math
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from rosenblatt.cli._errors import Usage
from rosenblatt.cli._examples import Examples
from rosenblatt.estimators.regression import LinearRegressor
from rosenblatt.learners import find, regressors
from rosenblatt.model.regression import RealModel
from rosenblatt.training.loop import Block, TargetBlock

ALGORITHM = "arow-regressor"
"""The learner of real targets if none is named."""

FEW = 100
"""Up to so many columns, all of them numbers, the default learner keeps a full matrix: its cost per update is their square."""


def is_regressor(estimator: Any) -> bool:
    """Whether a learner predicts numbers."""
    return isinstance(estimator, LinearRegressor)


def names_regressor(algorithm: str | None) -> bool:
    """Whether the full name of a learner of real targets was given."""
    return algorithm is not None and any(algorithm.lower().replace("-", "") == name.lower() for name in regressors())


def settings_of(algorithm: str, scaled: bool) -> dict[str, Any]:
    """The settings of a learner of `train`; `scaled` says whether targets have the deviation 1, as C assumes.

    The last weights of passive-aggressive regression follow the noise of the last examples, and large steps the outliers.
    """
    if find(algorithm, regression=True).__name__ != "PassiveAggressiveRegressor":
        return {}
    return {"readout": "average", **({"C": 0.01} if scaled else {})}


def choose_covariance(estimator: Any, encoder: Any) -> None:
    """Let the default learner keep a full matrix for a table of few number columns."""
    if encoder.family == "table" and encoder.dense and encoder.n_features <= FEW:
        estimator.covariance = "full"


def refuse(given: dict[str, Any]) -> None:
    """Raise an error for options that have no meaning for real targets; `given` has each with its value."""
    for name, value in given.items():
        if value not in (None, False, ()):
            raise Usage(f"{name} has no meaning for a regression, which predicts numbers; got {value!r}. Leave it out.")


class TargetExamples(Examples):
    """Examples of a stream with real targets.

    Parameters
    ----------
    stream, model, limit, interrupt
        See `Examples`.
    scale : bool
        Whether a new model learns the targets with mean 0 and standard deviation 1: those of the examples that are kept in memory
        when the first are learned.
    """

    model: Any

    def __init__(self, stream: Any, model: Any, *, scale: bool, **options: Any) -> None:
        super().__init__(stream, model, **options)
        self._scale = scale and not model.state.counters.examples and not model.scaled

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of one pass."""
        for block in super().blocks():
            if self._scale:
                assert isinstance(block, TargetBlock)
                self._scale = False
                self.model.scale_by(block.targets[block.labelled])
            yield block

    def _check_labels(self, examples: int) -> None:
        pass

    def _count(self, codes: Any) -> None:
        pass

    def _add_new(self, sort: bool) -> None:
        if self.stream.encoder.n_features > self.model.n_features:
            self.model.add_features(self.stream.encoder.n_features)

    def _block(self, batch: Any, first: int, whole: bool = False) -> Block:
        table = batch.table(self.model.n_features, self.model.dtype)
        return TargetBlock(table, batch.codes, batch.weights, first, whole)


# ---- train ----


def epoch_lines(quiet: bool) -> Any:
    """Make a function that prints a line for an epoch, the first time with a heading."""
    import sys

    if quiet:
        return lambda schedule, history: None
    printed = False

    def line(schedule: Any, history: Any) -> None:
        nonlocal printed
        if not printed:
            held = "R² held out" if schedule.holdout else ""
            click.echo(f"{'epoch':>6}{'examples':>14}{'updates':>12}{held:>14}{'seconds':>9}", err=True)
            printed = True
        epoch = history.done[-1]
        share = f"{epoch.held_out_accuracy:.4f}" if epoch.held_out_accuracy is not None else ""
        click.echo(
            f"{len(history.done):>6}{epoch.examples:>14,}{epoch.updates:>12,}{share:>14}{epoch.seconds:>9.2f}", err=True
        )
        sys.stderr.flush()

    return line


def set_aside(facts: dict[str, Any]) -> str:
    """The examples set aside, with their number if it is known."""
    count = facts["held_out_examples"]
    return "the examples set aside" if count is None else f"{count:,} example{'s'[: count != 1]} set aside"


def shown(facts: dict[str, Any], evaluation: Any) -> str:
    """The results of a run as text."""
    done = len(facts["epochs"])
    best = facts.get("best_epoch", done)
    kept = "" if best == done else f", and number {best} was the best"
    lines = [
        f"algorithm  {facts['algorithm']}",
        f"examples   {facts['examples']:,}"
        + (f", {facts['unlabelled']:,} without a target left out" if facts["unlabelled"] else ""),
        f"target     {facts['target']['mean']:.6g} ± {facts['target']['deviation']:.6g}" if "target" in facts else "",
        f"features   {facts['features']:,}",
        f"epochs     {done} in {facts['seconds']:.2f} s, ended by: {facts['stopped']}{kept}",
    ]
    if facts.get("held_out_r2") is not None:
        how = "before the model learned all examples" if facts["relearned"] else "with the saved model"
        lines.append(f"held out   R² {facts['held_out_r2']:.4f} on {set_aside(facts)}, {how}")
    if (cross := facts.get("cross_validation")) is not None:
        parts = f"{len(cross['folds'])} parts"
        lines.append(
            f"{parts:11}R² {cross['mean']:.4f} ± {cross['spread']:.4f}, each part by a model that learned the others"
        )
    if "training_r2" in facts:
        lines.append(f"training   R² {facts['training_r2']:.4f} on the training data, with the saved model")
    lines.append(f"model      {facts['model']}")
    text = "\n".join(line for line in lines if line)
    return text if evaluation is None else f"{text}\n\nTest on {facts['test']['data']}\n{evaluation.to_text()}"


def facts_of(facts: dict[str, Any], model: RealModel) -> dict[str, Any]:
    """Replace the facts of a classification by those of a regression."""
    facts = {name: value for name, value in facts.items() if name != "classes"}
    for mine, theirs in (("held_out_r2", "held_out_accuracy"), ("training_r2", "training_accuracy")):
        if theirs in facts:
            facts[mine] = facts.pop(theirs)
    facts.pop("held_out_majority", None)
    for epoch in facts["epochs"]:
        for name in ("accuracy", "held_out_mistakes"):
            epoch.pop(name, None)
        epoch["held_out_r2"] = epoch.pop("held_out_accuracy")
        epoch["loss"] *= model.unit
    if model.spread:
        facts["target"] = {"mean": model.center, "deviation": float(np.sqrt(model.spread))}
    return facts


# ---- stream ----


def run_stream(estimator: Any, stream: Any, course: Any, delay: int, file: Any, report: Any, interrupt: Any) -> None:
    """Predict each example of a stream, then learn it."""
    from collections import deque

    from rosenblatt.training.progressive import Pupil

    model: Any = getattr(estimator, "model_", None)
    if model is None:
        model = estimator.model_ = estimator._new_model(stream.encoder.n_features, np.float64)
    pupil, waiting = Pupil(model), deque[Any]()
    for batch in interrupt.before_end(stream):
        model.add_features(stream.encoder.n_features)
        table, truths = batch.table(model.n_features, model.dtype), batch.codes.view(np.float64)
        weights, answers = batch.weights.tolist() or [1.0] * batch.size, []
        for row, truth in enumerate(truths.tolist()):
            guess = float(pupil.row_scores(table, row)[0])
            answers.append(guess)
            if not math.isnan(truth):  # else it is only to be predicted
                waiting.append((table, row, model._code_of(truth), weights[row]))
                if len(waiting) > delay:
                    pupil.learn(*waiting.popleft())
                if course.add(truth, guess):
                    report(course, model.n_features, truth, guess)
            if interrupt.asked:
                break
        if file is not None:
            file.write("".join(f"{answer!r}\n" for answer in answers))
        if interrupt.asked:
            break
    for example in waiting:
        pupil.learn(*example)
    if course.finish():
        report(course, model.n_features, truth, guess)
    estimator.n_features_in_ = model.n_features


def stream_table(silent: bool) -> Any:
    """Make a function that prints a line of the progress table."""
    if silent:
        return lambda *_: None
    click.echo(f"{'examples':>12}{'MAE':>12}{'RMSE':>12}{'features':>12}{'target':>14}{'predicted':>14}")

    def line(course: Any, features: int, truth: float, guess: float) -> None:
        click.echo(
            f"{course.examples:>12,}{course.mae:>12.5g}{course.rmse:>12.5g}{features:>12,}{truth:>14.6g}{guess:>14.6g}"
        )

    return line
