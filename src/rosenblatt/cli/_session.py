"""A training run of the command line: the learner, its data, and what came of it."""

import dataclasses
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.cli._errors import Failure, Usage
from rosenblatt.cli._files import load_model, open_data, open_stream, save_model
from rosenblatt.cli._learning import Block, Epoch, Examples, Interrupt, Run, learn
from rosenblatt.cli._scoring import Evaluation, class_labels, evaluate_stream
from rosenblatt.engine import loop
from rosenblatt.estimators.parameters import declarations
from rosenblatt.learners import find
from rosenblatt.training.interrupt import asked_to_stop, stopping_when
from rosenblatt.training.progress import Bar

__all__ = ["Session", "new_learner"]


def new_learner(algorithm: str, parameters: dict[str, Any], seed: int) -> Any:
    """A learner by its name, its parameters checked."""
    learner = find(algorithm)
    known = declarations(learner)
    for name in parameters:
        if name not in known:
            raise Usage(
                f"--set must name a parameter of {learner.__name__} ({', '.join(known)}); got {name!r}. Check the spelling."
            )
    if (weight := parameters.get("class_weight")) not in (None, "balanced"):
        raise Usage(
            f"--set class_weight must be balanced or None; got {weight!r}. Give examples weights of their own in VW text."
        )
    if "random_state" in known:
        parameters = {"random_state": seed, **parameters}
    estimator = learner(**parameters)
    estimator._check_parameters()
    return estimator


class Session:
    """One run of `rosenblatt train`.

    Parameters
    ----------
    quiet : bool
        Whether to show no progress.
    seed, shuffle, holdout
        As the options.
    """

    stream: Any
    estimator: Any
    run: Run
    examples: Examples | None = None
    whole: Block | None = None
    cluster: dict[str, Any] | None = None

    def __init__(self, *, quiet: bool, seed: int, shuffle: bool, holdout: float) -> None:
        self.quiet, self.seed, self.shuffle, self.holdout = quiet, seed, shuffle, holdout
        self.resumed = False

    def begin(
        self, data: list[str], options: dict[str, Any], algorithm: str, parameters: dict[str, Any], epochs: int
    ) -> None:
        """Start from nothing."""
        self.estimator = new_learner(algorithm, parameters, self.seed)
        self.stream = open_stream(data, **options)
        self.data = data
        self._new_run(epochs)

    def _new_run(self, epochs: int) -> None:
        self.run = Run(
            epochs=epochs,
            shuffle=self.shuffle,
            seed=self.seed,
            holdout=self.holdout,
            tol=getattr(self.estimator, "tol", None),
            patience=getattr(self.estimator, "n_iter_no_change", 5),
        )

    def take_up(
        self,
        path: str,
        data: list[str],
        options: dict[str, Any],
        algorithm: str | None,
        parameters: dict[str, Any],
        epochs: int | None,
        given: Collection[str] = (),
    ) -> None:
        """Go on with a model: where its run was interrupted, or from its weights with other data.

        `given` are those of seed, shuffle and holdout that were asked for: a run that goes on keeps its own.
        """
        self.estimator = load_model(path)
        self.resumed, self.data = True, data
        name = type(self.estimator).__name__
        if not self.online:
            raise Usage(
                f"--resume needs a learner that learns example by example; {name} needs the whole set at once. Train it anew."
            )
        if algorithm is not None and find(algorithm) is not type(self.estimator):
            raise Usage(
                f"--algorithm must be that of the model, {name}, to go on with it; got {algorithm!r}. Leave it out."
            )
        kept = self.estimator.get_params()
        changed = [key for key, value in parameters.items() if kept.get(key, None) != value]
        if changed:
            raise Usage(
                f"--set cannot change a model that goes on, whose {changed[0]} is {kept.get(changed[0])!r}; got "
                f"{parameters[changed[0]]!r}. Leave it out, or train anew."
            )
        fixed = [f"--{key}" for key in ("label", "bits", "types", "interactions", "standardize") if options[key]]
        if options["one_based"] is not None:
            fixed.append("--one-based" if options["one_based"] else "--zero-based")
        if fixed:
            raise Usage(f"{fixed[0]} is part of the model and cannot be given with --resume. Leave it out.")
        self.estimator.encoder_.thaw()
        self.stream = open_stream(
            data,
            format=options["format"],
            header=options["header"],
            encoder=self.estimator.encoder_,
            threads=options["threads"],
        )
        training = getattr(self.estimator, "training_", {})
        if training.get("data") == self._fingerprint():
            self.run = Run.from_json(training["run"])
            self.run.epochs = epochs or self.run.epochs
            for name in given:
                if getattr(self, name) != getattr(self.run, name):
                    raise Usage(
                        f"--{name} must be that of the run that goes on, {getattr(self.run, name)}; got {getattr(self, name)}. "
                        "Leave it out, or train anew."
                    )
            if reason := self.run.finished():
                raise Usage(
                    f"{path} has been trained on this data for {len(self.run.done)} epochs and finished ({reason}); "
                    f"got --epochs {self.run.epochs}. {'Raise it, or give' if reason == 'epochs' else 'Give'} new data."
                )
        else:
            self._new_run(epochs or training.get("run", {}).get("epochs", 1))

    @property
    def online(self) -> bool:
        """Whether the learner takes example by example, so that data may be larger than memory."""
        return hasattr(self.estimator, "_rule") and getattr(type(self.estimator), "partial_fit", None) is not None

    def _fingerprint(self) -> list[list[Any]]:
        """The files by name and size: whether a run goes on with the same data."""
        names = getattr(self.stream, "names", self.data)
        return [[str(name), os.stat(name).st_size if Path(name).exists() else -1] for name in names]  # noqa: PTH116

    # ---- learn ----

    def learn(self, on_epoch: Callable[[Run], None]) -> None:
        """Train, with a bar on a terminal, until done or interrupted."""
        estimator = self.estimator
        linear = hasattr(estimator, "_rule")
        model = getattr(estimator, "model_", None)
        if model is None:
            from rosenblatt.learners.perceptron import Perceptron

            places = self.stream.encoder.n_features
            model = estimator._new_model(places, np.float64) if linear else Perceptron()._new_model(places, np.float64)
            if linear:
                estimator._check_can_move(model)
        interrupt = Interrupt()
        examples = Examples(
            self.stream,
            model,
            getattr(estimator, "class_weight", None),
            **({} if self.online else {"limit": 1 << 62}),
            interrupt=interrupt,
        )
        with Bar("training", self.quiet) as bar, interrupt:
            if self.online:

                def on_piece(count: int) -> None:
                    bar.title = f"epoch {len(self.run.done) + 1}"
                    if examples.whole is None:
                        bar.update(self.stream.bytes_read, self.stream.bytes_total, f"{count:,} examples")

                def after_epoch() -> None:
                    bar.clear()
                    on_epoch(self.run)

                learn(model, examples, self.run, interrupt, on_piece, after_epoch)
                estimator.model_ = model
            else:
                bar.title = "reading"
                interrupt.lost = "interrupted while reading, before anything was learned. No model was written."
                block = next(iter(examples.blocks()))
                interrupt.lost = ""
                with stopping_when(lambda: interrupt.asked):
                    self._fit_whole(block, model, linear)
                if self.run.done:
                    on_epoch(self.run)
        self.whole = examples.whole
        self._finish(model)

    def learn_on(
        self, address: str, shards: int | None, mixing: str | None, path: str, on_epoch: Callable[[Run], None]
    ) -> None:
        """Train on a Dask cluster; the model is written after each epoch, so that a lost cluster costs no more than one."""
        from rosenblatt.dask import ClusterError
        from rosenblatt.dask import train as train_on_cluster

        before = getattr(self.estimator, "training_", {}).get("shards")
        if self.resumed and (before is None or not self.run.done):
            raise Usage(
                "--resume with --dask goes on where a run on a cluster stopped, with the same data; this model comes from "
                "another. Leave --resume out to train anew."
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
                    checkpoint=path, resume=self.resumed, run=self.run, on_epoch=on_epoch, progress=not self.quiet,
                    asked_to_stop=lambda: interrupt.asked,
                )  # fmt: skip
            except ClusterError as error:
                raise Failure(str(error)) from error
        self.run = Run.from_json(self.estimator.training_["run"])
        self.cluster = {
            "address": address,
            "shards": len(self.estimator.training_["shards"]["examples"]),
            "mixing": mixing,
            "weighted_mistakes": self.estimator.weighted_mistakes_,
            "bytes_moved": sum(epoch["bytes_moved"] for epoch in self.estimator.history_),
        }

    def _fit_whole(self, block: Block, model: Any, linear: bool) -> None:
        """Let a learner that needs the whole set run its own epochs."""
        estimator, part = self.estimator, 0
        kept = np.flatnonzero(block.codes >= 0)
        self._check_classes(model.classes, int(kept.size))
        from rosenblatt.model.matrix import Table

        table, codes = block.table, block.codes
        weights = block.weights
        if kept.size < codes.size:
            table, codes = Table(table.take(kept)), codes[kept]
            weights = weights[kept] if weights.size else weights
        if linear:
            estimator.max_iter = self.run.epochs
            history = estimator._train(model, table, codes, weights)
            estimator.model_ = model
            mistakes, updates, reason = history.mistakes, history.updates, history.stopped
        else:
            X = table.as_scipy() if table.sparse else table.rows
            estimator.max_iter = self.run.epochs
            estimator.tol = None
            estimator.fit(X, np.array(model.classes)[codes], sample_weight=weights if weights.size else None)
            mistakes = updates = estimator.mistakes_per_epoch_.tolist()
            reason = "no mistakes" if estimator.converged_ else "interrupted" if asked_to_stop() else "epochs"
            part = estimator._model.machine.n_seen % (np.count_nonzero(weights) if weights.size else len(codes))
        self.run.done = [Epoch(len(codes), wrong, moved) for wrong, moved in zip(mistakes, updates, strict=True)]
        if part:  # the epoch that was interrupted
            self.run.current = dataclasses.replace(self.run.done.pop(), examples=part)
        self.run.stopped = {"max_iter": "epochs", "tol": "no improvement"}.get(reason, reason)

    def _finish(self, model: Any) -> None:
        """Give the estimator what a fitted one has, and refuse a model that has learned nothing."""
        estimator, run = self.estimator, self.run
        passes = [*run.done, *([run.current] if run.current.examples else [])]
        self._check_classes(model.classes, sum(epoch.examples for epoch in passes))
        if hasattr(estimator, "model_"):
            model.add_features(self.stream.encoder.n_features)
            estimator.n_features_in_ = model.n_features
            estimator.n_iter_ = len(passes)
            estimator.mistakes_per_epoch_ = np.array([epoch.mistakes for epoch in passes])
            estimator.updates_per_epoch_ = np.array([epoch.updates for epoch in passes])
            estimator.converged_ = run.stopped == "no mistakes"
            model.state.counts[loop.POSITION] = 0
        estimator.encoder_ = self.stream.encoder
        estimator.training_ = {"data": self._fingerprint(), "run": run.to_json()}

    def _check_classes(self, classes: list[Any], examples: int) -> None:
        names = ", ".join(self.data)
        if examples == 0:
            raise Usage(f"{names}: there is no labelled example to learn from. Check --label and --format.")
        if len(classes) < 2:
            raise Usage(
                f"{names}: the labels must hold at least 2 classes; got only {classes[0]!r}. "
                "Check that --label names the label's column."
            )

    # ---- afterwards ----

    def largest_number(self) -> float:
        """The largest number in the columns of a table that is learned as it is; 0 where they are standardised."""
        encoder = self.stream.encoder
        if self.whole is None or not encoder.number_columns or encoder.moments is not None:
            return 0.0
        rows = self.whole.table.rows
        return float(np.abs(rows.values if self.whole.table.sparse else rows).max(initial=0.0))

    def save(self, path: str) -> None:
        """Write the model."""
        save_model(self.estimator, path)

    def test(self, path: str, threads: int | None) -> Evaluation:
        """How the model does on another file."""
        stream = open_data([path], self.estimator, labelled=True, threads=threads)
        with Bar("testing", self.quiet) as bar:
            evaluation = evaluate_stream(
                self.estimator, stream, lambda: bar.update(stream.bytes_read, stream.bytes_total)
            )
        if evaluation.examples == 0:
            raise Usage(f"{path}: there is no labelled example to test on. Check that it has the label's column.")
        return evaluation

    def facts(self, path: str, seconds: float) -> dict[str, Any]:
        """What is printed, and what --json prints."""
        from rosenblatt.cli.train import as_epoch

        run = self.run
        first = run.done[0] if run.done else run.current
        facts = {
            "model": path,
            "algorithm": type(self.estimator).__name__,
            "data": self.data,
            "examples": first.examples,
            "unlabelled": first.unlabelled,
            "classes": class_labels(self.estimator),
            "features": self.estimator.n_features_in_,
            "epochs": [as_epoch(epoch) for epoch in run.done],
            "stopped": run.stopped,
            "seconds": seconds,
        }
        if self.cluster is not None:
            facts["cluster"] = self.cluster
        if run.done and run.done[-1].held_out_accuracy is not None:
            facts["held_out_accuracy"] = run.done[-1].held_out_accuracy
        return facts
