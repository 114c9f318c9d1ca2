"""A training run of the command line: the learner, its data and its results."""

import copy
import dataclasses
import datetime as dt
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from rosenblatt.cli._errors import Failure, Usage, warn
from rosenblatt.cli._examples import MANY, MEMORY, Examples, Interrupt
from rosenblatt.cli._files import load_model, open_data, open_stream, save_model
from rosenblatt.cli._options import given_text_options, parsed_class_weight, parsed_classes
from rosenblatt.cli._targets import TargetExamples, choose_covariance, facts_of, is_regressor
from rosenblatt.cli._values import hint_of_counts, warning_of_large
from rosenblatt.estimators.parameters import declarations
from rosenblatt.estimators.runs import Run
from rosenblatt.learners import find
from rosenblatt.model.calibration import Calibration
from rosenblatt.model.scores import ordered
from rosenblatt.training.evaluation import Evaluation, class_labels, evaluate_stream
from rosenblatt.training.history import Epoch, History
from rosenblatt.training.loop import Block, correct, smallest_margin
from rosenblatt.training.progress import Bar
from rosenblatt.training.regression import Errors, evaluate_targets
from rosenblatt.training.schedule import Schedule, StopRule, asked_to_stop, held_out, stopping_when

AUTO = "auto"
"""The name with which `train` chooses the learner."""

CALIBRATION = 20_000
"""A sufficient number of examples to fit probabilities on."""


def new_learner(algorithm: str, parameters: dict[str, Any], seed: int, regression: bool = False) -> Any:
    """Make a learner by its name and check its parameters."""
    learner = find(algorithm, regression=regression)
    known = declarations(learner)
    if (weight := parameters.get("class_weight")) not in (None, "balanced"):
        parameters = {**parameters, "class_weight": parsed_class_weight(str(weight))}
    if "random_state" in known:
        parameters = {"random_state": seed, **parameters}
    return _checked(learner, parameters)


def new_tagger(parameters: dict[str, Any]) -> Any:
    """Make a tagger and check its parameters."""
    from rosenblatt.learners.sequence_perceptron import SequencePerceptron

    return _checked(SequencePerceptron, parameters)


def _checked(learner: type[Any], parameters: dict[str, Any]) -> Any:
    known = declarations(learner)
    for name in parameters:
        if name not in known:
            raise Usage(
                f"--set must name a parameter of {learner.__name__} ({', '.join(known)}); got {name!r}. Check the spelling."
            )
    estimator = learner(**parameters)
    estimator._check_parameters()
    return estimator


def learns_online(algorithm: str, regression: bool = False) -> bool:
    """Whether a learner learns example by example, so that data may be larger than memory."""
    learner = find(algorithm, regression=regression)
    return hasattr(learner, "_step") and getattr(learner, "partial_fit", None) is not None


def fingerprint(names: Iterable[str]) -> list[list[Any]]:
    """Names and sizes of files, to recognise the data of an interrupted run."""
    return [[str(name), os.stat(name).st_size if Path(name).exists() else -1] for name in names]  # noqa: PTH116


def provenance(data: list[list[Any]], examples: int, command: str) -> dict[str, Any]:
    """What a run learned from, when and how."""
    now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return {
        "data": data,
        "examples": examples,
        "date": dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
    }


class Session:
    """One run of `rosenblatt train`.

    Parameters
    ----------
    quiet : bool
        Whether to hide the progress bar.
    seed, shuffle, holdout, classes
        The options of these names.
    relearns : bool
        Whether the saved model learns the examples that were set aside, too, if all examples fit into memory.

    Attributes
    ----------
    judge : estimator
        The learner that has not learned the examples set aside, by which accuracy and probabilities are measured.
    """

    stream: Any
    estimator: Any
    schedule: Schedule
    history: History
    examples: Examples | None = None
    whole: Block | None = None
    cluster: dict[str, Any] | None = None
    command: str = ""
    best: int | None = None
    judge: Any = None
    again: tuple[Schedule, History] | None = None
    best_steps = 0.0
    scales_target = True
    run: Run
    late: Any = None
    split: str | None = None
    choice: Any = None
    folds: list[float] | None = None

    def __init__(
        self,
        *,
        quiet: bool,
        seed: int,
        shuffle: bool,
        holdout: float,
        classes: str | None = None,
        relearns: bool = False,
        regression: bool = False,
    ) -> None:
        self.regression = regression
        self.quiet, self.seed, self.shuffle, self.holdout, self.classes = quiet, seed, shuffle, holdout, classes
        self.relearns = relearns
        self.resumed = False

    def begin(
        self,
        data: Sequence[str],
        options: dict[str, Any],
        algorithm: str,
        parameters: dict[str, Any],
        epochs: int,
        default: bool = False,
        split: str | None = None,
    ) -> None:
        """Start a new run; `default` says that no learner was named, and `split` names a column of times."""
        if type(own := parameters.get("random_state")) is int:
            if self.seed not in (0, own):
                raise Usage(
                    f"--seed must be that of --set random_state, {own}, which means the same; got {self.seed}. Give --seed alone."
                )
            self.seed = own
        self._set_aside(data, options, split)
        if algorithm == AUTO:
            from rosenblatt.cli._choice import choose

            self.choice = choose(data, options, self.seed, self.held, self.quiet)
            algorithm, parameters = self.choice.learner, {**self.choice.settings, **parameters}
        self.estimator = new_learner(algorithm, parameters, self.seed, self.regression)
        ahead = MEMORY if self.online else math.inf
        self.stream = open_stream(data, **options, ahead=ahead, regression=self.regression)
        self.scales_target = options["standardize"] is not False
        if self.regression and default and "covariance" not in parameters:
            choose_covariance(self.estimator, self.stream.encoder)
        self.data = data
        self._new_schedule(epochs)

    def _set_aside(self, data: Sequence[str], options: dict[str, Any], split: str | None) -> None:
        """Find the latest examples, if these are to be set aside."""
        self.split = split
        if split is not None:
            from rosenblatt.cli._latest import latest

            self.late = latest(data, split, self.holdout, options["format"], options["header"])

    def _new_schedule(self, epochs: int) -> None:
        changes: dict[str, Any] = {"max_iter": epochs, "seed": self.seed}
        if not self.shuffle:
            changes["shuffle"] = False
        if self.holdout:
            changes["holdout"] = self.holdout
        self.schedule, self.history = Schedule.of(self.estimator, **changes), History()

    def resume(
        self,
        path: str,
        data: Sequence[str],
        options: dict[str, Any],
        algorithm: str | None,
        parameters: dict[str, Any],
        epochs: int | None,
        given: Collection[str] = (),
    ) -> None:
        """Continue training a model: an interrupted run, or from its weights with other data.

        `given` names those of seed, shuffle and holdout that are on the command line; an interrupted run keeps its own values.
        """
        self.estimator = load_model(path)
        self.regression = is_regressor(self.estimator)
        self.resumed, self.data = True, data
        name = type(self.estimator).__name__
        if not self.online:
            raise Usage(
                f"--resume needs a learner that learns example by example; {name} needs all examples at once. Train a new model."
            )
        if algorithm is not None and find(algorithm, regression=self.regression) is not type(self.estimator):
            raise Usage(
                f"--algorithm must be that of the model, {name}, to continue its training; got {algorithm!r}. Leave it out."
            )
        kept = self.estimator.get_params()
        changed = [key for key, value in parameters.items() if kept.get(key, None) != value]
        if changed:
            raise Usage(
                f"--set cannot change the parameters of an existing model, whose {changed[0]} is {kept.get(changed[0])!r}; got "
                f"{parameters[changed[0]]!r}. Leave it out, or train a new model."
            )
        names = ("label", "bits", "types", "interactions", "na", "weight")
        fixed = [*(f"--{key}" for key in names if options[key]), *given_text_options(options)]
        if options["standardize"] is not None:
            fixed.append("--standardize" if options["standardize"] else "--no-standardize")
        if options["one_based"] is not None:
            fixed.append("--one-based" if options["one_based"] else "--zero-based")
        if fixed:
            raise Usage(f"{fixed[0]} is part of the model and cannot be given with --resume. Leave it out.")
        encoder = self.estimator.encoder_
        encoder.thaw()
        if encoder.learning:
            encoder.clear()  # the run ended in its first pass, which is read again
        self.stream = open_stream(
            data,
            format=options["format"],
            header=options["header"],
            encoder=encoder,
            threads=options["threads"],
            on_bad_rows=options["on_bad_rows"],
            ahead=MEMORY,
        )
        training = getattr(self.estimator, "training_", {})
        if training.get("data") == self._fingerprint():
            saved = Schedule.from_json(training["run"])
            self.schedule = dataclasses.replace(saved, max_iter=epochs or saved.max_iter)
            self.history = History.from_json(training["run"])
            for name in given:
                if getattr(self, name) != getattr(saved, name):
                    raise Usage(
                        f"--{name} must be that of the run to resume, {getattr(saved, name)}; got {getattr(self, name)}. "
                        "Leave it out, or train a new model."
                    )
            self.holdout, self.seed = saved.holdout, saved.seed
            self._set_aside(data, options, training["run"].get("split"))
            self.relearns = training["run"].get("relearns", False)
            reason = StopRule(self.schedule, self.history).reason(self.history)
            if reason and not self.relearns:
                raise Usage(
                    f"{path} has been trained on this data for {len(self.history.done)} epochs and finished ({reason}); "
                    f"got --epochs {self.schedule.max_iter}. {'Raise it, or give' if reason == 'epochs' else 'Give'} new data."
                )
            self.best, self.best_steps = training["run"].get("best"), training["run"].get("best_steps", 0.0)
            if self.best is not None and not self.relearns:  # the weights are those of this epoch
                self.history.done, self.history.steps = self.history.done[: self.best], training["run"]["best_steps"]
                self.best = None
        else:
            self._new_schedule(epochs or training.get("run", {}).get("epochs", 1))

    @property
    def online(self) -> bool:
        """Whether the learner learns example by example, so that data may be larger than memory."""
        return hasattr(self.estimator, "_rule") and getattr(type(self.estimator), "partial_fit", None) is not None

    def _fingerprint(self) -> list[list[Any]]:
        return fingerprint(getattr(self.stream, "names", self.data))

    # ---- learn ----

    def learn(self, on_epoch: Callable[[Schedule, History], None]) -> None:
        """Train until done or interrupted, with a progress bar on a terminal."""
        estimator, history = self.estimator, self.history
        linear = hasattr(estimator, "_rule")
        model: Any = getattr(estimator, "model_", None)
        if model is None:
            from rosenblatt.learners.perceptron import Perceptron

            places = self.stream.encoder.n_features
            model = estimator._new_model(places, np.float64) if linear else Perceptron()._new_model(places, np.float64)
            if linear and not self.regression:
                estimator._check_can_move(model)
        interrupt = Interrupt()
        examples = self._examples(model, interrupt)
        with Bar("training", self.quiet) as bar, interrupt, stopping_when(lambda: interrupt.asked):

            def on_piece(count: int) -> None:
                bar.title = f"epoch {len(history.done) + 1}"
                if examples.whole is None:
                    bar.update(self.stream.bytes_read, self.stream.bytes_total, f"{count:,} examples")

            def after_epoch(history: History) -> None:
                bar.clear()
                if getattr(model, "notes_scores", False):  # later epochs give scores to examples that were learned
                    estimator.calibration_ = model.noted_calibration()
                    model.stop_noting()
                on_epoch(self.schedule, history)
                if len(history.done) == 1 and self.shuffle and not self.quiet and examples.mixture.is_sorted:
                    warn(
                        "the data seem to be sorted by their labels. They are larger than memory, so they are shuffled only "
                        "within parts of about a megabyte, and the model may be poor. Shuffle the lines of the file first."
                    )

            looked = bool(history.epochs)

            def blocks() -> Iterator[Block]:
                nonlocal looked
                for block in examples.blocks():
                    if not looked:
                        looked = True
                        bar.clear()
                        self._look(block, model.classes)
                    yield block

            if not self.online:
                bar.title = "reading"
                interrupt.abort_message = "interrupted while reading, before training began. No model was written."
                next(blocks())
                interrupt.abort_message = ""
            if linear:
                run = Run(
                    estimator, blocks, self.schedule, can_repeat=lambda: not examples.read_once,
                    on_piece=on_piece if self.online else None, on_epoch=after_epoch,
                    held_out=self.held if self.late is not None else None,
                )  # fmt: skip
                self.run, self.examples = run, examples
                self._learn_linear(run, model, examples)
            else:
                self._fit_kernel(model.classes, examples.whole, after_epoch)
        self.whole = examples.whole
        estimator.encoder_ = self.stream.encoder
        schedule, history = self.again or (self.schedule, self.history)
        estimator.training_ = {
            "data": self._fingerprint(),
            "run": {**schedule.to_json(), **history.to_json(), **self._unfinished()},
            "runs": [*self._earlier_runs(), self._provenance()],
        }

    def _examples(self, model: Any, interrupt: Interrupt) -> Examples:
        """The examples of the stream, which add classes and features to the model."""
        estimator = self.estimator
        if self.regression:
            return TargetExamples(self.stream, model, scale=self.scales_target, interrupt=interrupt)
        return Examples(
            self.stream,
            model,
            getattr(estimator, "class_weight", None),
            **({} if self.online else {"limit": 1 << 62}),
            interrupt=interrupt,
            order=lambda labels: ordered(
                parsed_classes(self.classes, labels) or labels, estimator.positive, type(estimator).__name__
            ),
        )

    def _learn_linear(self, run: Run, model: Any, examples: Examples) -> None:
        """Train, calibrate on the examples set aside, and learn these, too, if that is wanted."""
        estimator, history = self.estimator, self.history
        if self.online and not (self.regression or self.holdout or history.done or "calibration_" in vars(estimator)):
            model.note_scores()
        if self.best is None:
            model, shown = run.learn(model, history)
            if shown is not history:
                self.best, self.best_steps = len(shown.done), shown.steps
        else:  # interrupted while it learned all examples again
            next(iter(examples.blocks()))
            history.stopped = StopRule(self.schedule, history).reason(history)
            shown = dataclasses.replace(history, done=history.done[: self.best], steps=self.best_steps)
        self._check_classes(model.classes, sum(epoch.examples for epoch in history.epochs))
        model.add_features(self.stream.encoder.n_features)
        estimator.model_ = model
        self._calibrate(model, examples)
        if self.relearns and examples.whole is not None and history.stopped != "interrupted":
            self.judge = copy.copy(estimator)
            self.judge.encoder_ = self.stream.encoder
            judged, run.on_epoch = model, None
            model, schedule, final = run.learn_all(judged, len(shown.done))
            if final.stopped == "interrupted":
                model, history.stopped = judged, "interrupted"
            else:
                self.again, shown = (schedule, final), final
        estimator.n_features_in_ = model.n_features
        model.state.counters.position = 0
        estimator._finish(model, shown, None if self.regression else self._smallest_margin(model, examples, run.last))

    def _unfinished(self) -> dict[str, Any]:
        """What a resumed run must know besides the epochs: the best of them, and whether everything is to be learned again."""
        found: dict[str, Any] = {"split": self.split} if self.split is not None else {}
        found |= {"relearns": True} if self.relearns and self.history.stopped == "interrupted" else {}
        if self.best is not None and self.again is None:
            found |= {"best": self.best, "best_steps": self.best_steps}
        return found

    def held(self, first: int, count: int) -> Any:
        """Which of the examples from number `first` on are set aside."""
        if self.late is not None:
            return self.late[first : first + count] if self.holdout else np.zeros(count, bool)
        return held_out(first, count, self.holdout, self.seed)

    def _rows(self, block: Block, held: bool) -> Any:
        """The rows with a label that are set aside, or the others."""
        return np.flatnonzero(block.labelled & (self.held(block.first, block.codes.size) == held))

    def _earlier_runs(self) -> list[dict[str, Any]]:
        training = getattr(self.estimator, "training_", {})
        if not self.resumed or not training:
            return []
        if "runs" in training:
            return list(training["runs"])
        first = (training["run"]["done"] or [training["run"]["current"]])[0]  # a model of an earlier version
        return [{"data": training["data"], "examples": first["examples"], "date": None, "command": None}]

    @property
    def first_epoch(self) -> Epoch:
        """The first epoch of the model that is saved."""
        history = self.history if self.again is None else self.again[1]
        return history.done[0] if history.done else history.current

    def _provenance(self) -> dict[str, Any]:
        return provenance(self._fingerprint(), self.first_epoch.examples, self.command)

    def _calibrate(self, model: Any, examples: Examples) -> None:
        """Fit the probabilities on examples that were set aside."""
        held = self.history.done and self.history.done[0].held_out
        if self.regression or not held or examples.read_once or self.history.stopped == "interrupted":
            return
        scores, codes, count = [], [], 0
        for block in examples.blocks():
            rows = self._rows(block, held=True)
            if rows.size:
                scores.append(model.scores(block.table.some(rows)))
                codes.append(block.codes[rows])
                count += rows.size
            if count >= CALIBRATION or asked_to_stop():
                break
        found = Calibration.of(scores[0].shape[1])
        self.estimator.calibration_ = found.fit(np.concatenate(scores), np.concatenate(codes))

    def _smallest_margin(self, model: Any, examples: Examples, last: Block | None) -> float | None:
        """Smallest margin over all examples; None if that needs another pass over data that can be read only once.

        The last block, which is in memory, comes first: if it has a misclassified example, nothing has to be read again.
        """
        lead = smallest_margin(model, [] if last is None else [last])
        if lead <= 0.0 or examples.whole is not None:
            return lead
        if examples.read_once or self.history.stopped == "interrupted":
            return None
        for block in examples.blocks():
            if asked_to_stop():
                return None
            lead = min(lead, smallest_margin(model, [block]))
            if lead <= 0.0:
                break
        return lead

    def learn_on(
        self,
        address: str,
        shards: int | None,
        mixing: str | None,
        path: str,
        on_epoch: Callable[[Schedule, History], None],
    ) -> None:
        """Train on a Dask cluster; the model is written after each epoch, so that a lost cluster costs at most one epoch."""
        from rosenblatt.dask import ClusterError
        from rosenblatt.dask import train as train_on_cluster

        before = getattr(self.estimator, "training_", {}).get("shards")
        if self.resumed and (before is None or not self.history.done):
            raise Usage(
                "--resume with --dask continues a run on a cluster with the same data; this model comes from another run. "
                "Leave --resume out to train a new model."
            )
        reading = {"format": self.stream.format, "encoder": self.stream.encoder, "header": self.stream.encoder.header}
        if before is not None and self.resumed:
            shards = before["asked"] if shards is None else shards
            mixing = before["mixing"] if mixing is None else mixing
        mixing = "uniform" if mixing is None else mixing
        self.estimator.training_ = {"data": self._fingerprint()}
        with Interrupt() as interrupt:
            try:
                train_on_cluster(
                    self.estimator, self.stream.names, client=address, shards=shards, mixing=mixing, reading=reading,
                    checkpoint=path, resume=self.resumed, schedule=self.schedule, progress=not self.quiet,
                    on_epoch=lambda history: on_epoch(self.schedule, history), asked_to_stop=lambda: interrupt.asked,
                )  # fmt: skip
            except ClusterError as error:
                raise Failure(str(error)) from error
        self.history = History.from_json(self.estimator.training_["run"])
        self.cluster = {
            "address": address,
            "shards": len(self.estimator.training_["shards"]["examples"]),
            "mixing": mixing,
            "weighted_mistakes": self.estimator.weighted_mistakes_,
            "bytes_moved": sum(epoch["bytes_moved"] for epoch in self.estimator.history_),
        }

    def _fit_kernel(
        self, classes: list[Any], block: Block | None, on_epoch: Callable[[History], None] | None = None
    ) -> None:
        """Train a kernel perceptron, which needs all examples at once."""
        assert block is not None
        kept, held = self._rows(block, held=False), self._rows(block, held=True)
        X = block.table.take(kept)
        weights = block.weights[kept] if block.weights.size else None
        labels = np.array(classes)
        schedule = dataclasses.replace(self.schedule, holdout=0.0)
        self.history = self.estimator._fit(X, labels[block.codes[kept]], weights, schedule, on_epoch)
        if held.size and self.history.done:
            X_held, y_held = block.table.take(held), labels[block.codes[held]]
            guesses = self.estimator.predict(X_held)
            self.estimator.calibrate(X_held, y_held)
            last = self.history.done[-1]
            last.held_out, last.held_out_mistakes = held.size, int((guesses != y_held).sum())

    def _look(self, block: Block, classes: list[Any]) -> None:
        """Look at the first examples before they are learned."""
        if block.whole:
            self._check_classes(classes, int(block.labelled.sum()))
            if not self._rows(block, held=False).size:
                raise Usage(
                    f"{', '.join(self.data)}: all {int(block.labelled.sum())} labelled examples would be set aside. Give more, "
                    "or set none aside: --epochs 10."
                )
        if len(classes) > MANY and not self.quiet:
            warn(
                f"the label has {len(classes):,} classes, and few examples of each may be seen. If it is a quantity, give "
                "--regression; if it is the wrong column, name another with --label."
            )
        if not self.quiet:
            encoder = self.stream.encoder
            if message := warning_of_large(block.table, encoder):
                warn(message)
            if (hint := hint_of_counts(block.table, encoder)) and not self.resumed:
                click.echo(hint, err=True)

    def _check_classes(self, classes: list[Any], examples: int) -> None:
        names = ", ".join(self.data)
        if examples == 0:
            raise Usage(f"{names}: there is no labelled example to learn from. Check --label and --format.")
        if len(classes) < 2 and not self.regression:
            raise Usage(
                f"{names}: the labels must have at least 2 classes; got only {classes[0]!r}. "
                "Check that --label names the column of the label."
            )

    # ---- afterwards ----

    def cross_validate(self, folds: int) -> None:
        """Measure the accuracy on each of several parts of the data with a model that has learned the others."""
        assert self.examples is not None
        if self.history.stopped == "interrupted":
            return
        if self.examples.read_once:
            raise Usage(
                "--cv reads the data several times; standard input does not fit into memory. Save it to a file."
            )
        self.folds = []
        with Bar("cross-validation", self.quiet) as bar:
            for fold in range(folds):
                right, total = self.run.accuracy_of_fold(
                    self.estimator.model_, fold, folds, self.relearns and self.examples.whole is not None
                )
                if not total:
                    raise Usage(
                        f"--cv {folds} needs an example in each part; part {fold + 1} has none. Give a smaller number."
                    )
                self.folds.append(right / total)
                bar.update(fold + 1, folds)

    def _majority(self, block: Block) -> float:
        """The accuracy of the most frequent class on the examples set aside, counted by weight as theirs is."""
        rows = self._rows(block, held=True)
        weights = block.weights[rows] if block.weights.size else block.weights
        counts = np.bincount(block.codes[rows], weights if weights.any() else None)
        return float(counts.max() / counts.sum())

    def training_accuracy(self) -> float | None:
        """Accuracy of the saved model on the examples that it learned; None if they are not in memory."""
        model = getattr(self.estimator, "model_", None)
        if self.whole is None or model is None or not self.history.done:
            return None
        rows = self._rows(self.whole, held=False) if self.again is None else np.flatnonzero(self.whole.labelled)
        if rows.size == 0:
            return None
        block = dataclasses.replace(self.whole, weights=np.zeros(0))
        right, total = correct(model, block, rows)
        return right / total

    def save(self, path: str) -> None:
        """Write the model."""
        save_model(self.estimator, path)

    def test(self, path: str, threads: int | None, on_bad_rows: str) -> Evaluation | Errors:
        """Evaluate the model on another file."""
        stream = open_data([path], self.estimator, labelled=True, threads=threads, on_bad_rows=on_bad_rows)
        evaluate: Callable[..., Evaluation | Errors] = evaluate_targets if self.regression else evaluate_stream
        with Bar("testing", self.quiet) as bar:
            evaluation = evaluate(self.estimator, stream, lambda: bar.update(stream.bytes_read, stream.bytes_total))
        if evaluation.examples == 0:
            raise Usage(f"{path}: there is no labelled example to test on. Check that it has the column of the label.")
        return evaluation

    def facts(self, path: str, seconds: float) -> dict[str, Any]:
        """Results of the run, for the text output and for --json."""
        from rosenblatt.cli.train import as_epoch

        history, first = self.history, self.first_epoch
        facts: dict[str, Any] = {
            "model": path,
            "algorithm": type(self.estimator).__name__,
            "data": self.data,
            "examples": first.examples,
            "unlabelled": first.unlabelled,
            "classes": class_labels(self.estimator),
            "features": self.estimator.n_features_in_,
            "epochs": [as_epoch(epoch) for epoch in history.done],
            "stopped": history.stopped,
            "seconds": seconds,
        }
        if self.split is not None:
            facts["split"] = self.split
        if self.choice is not None:
            facts["chosen"] = self.choice.to_json()
        if self.folds:
            facts["cross_validation"] = {
                "folds": self.folds, "mean": float(np.mean(self.folds)), "spread": float(np.std(self.folds)),
            }  # fmt: skip
        if self.stream.bad_rows.count:
            facts["bad_rows"] = self.stream.bad_rows.count
        if self.cluster is not None:
            facts["cluster"] = self.cluster
        best = self.best or len(history.done)
        if history.done and history.done[best - 1].held_out_accuracy is not None:
            facts["held_out_accuracy"], facts["best_epoch"] = history.done[best - 1].held_out_accuracy, best
            facts["relearned"] = self.again is not None
            facts["weighted"] = history.weighted
            if self.whole is not None:
                facts["held_out_examples"] = int(self._rows(self.whole, held=True).size)
                facts["held_out_majority"] = None if self.regression else self._majority(self.whole)
            else:
                facts["held_out_examples"] = None if history.weighted else int(history.done[best - 1].held_out)
        if (training := self.training_accuracy()) is not None:
            facts["training_accuracy"] = training
        return facts_of(facts, self.estimator.model_) if self.regression else facts


def warning_of_majority(facts: dict[str, Any]) -> str | None:
    """A warning about a model that is clearly right less often than the most frequent class."""
    right, majority = facts.get("held_out_accuracy"), facts.get("held_out_majority")
    if right is None or majority is None:
        return None
    error = math.sqrt(max(right, 0.01) * (1.0 - right) / facts["held_out_examples"])
    if right + error >= majority:
        return None
    return (
        f"{right:.1%} right on examples set aside is less than always predicting the most frequent class ({majority:.1%}). A sum "
        "over the columns may not fit these classes; products of columns may: --interactions A*B."
    )
