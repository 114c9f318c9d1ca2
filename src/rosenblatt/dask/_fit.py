"""Train on a cluster: connect, load, run the epochs and set the fitted attributes."""

import contextlib
import dataclasses
import functools
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data import Encoder
from rosenblatt.data.vocabulary import Vocabulary
from rosenblatt.estimators.certificate import warn_of_last_epoch
from rosenblatt.learners import OF_SEQUENCES
from rosenblatt.model.linear import Model
from rosenblatt.model.scores import ordered
from rosenblatt.model_file import save
from rosenblatt.model_file.atomic import check_output
from rosenblatt.training.history import History, ShardedEpoch
from rosenblatt.training.loop import length, run_epochs
from rosenblatt.training.progress import Bar
from rosenblatt.training.schedule import Schedule, stopping_when

from ._agreement import check_mixable, joined_classes, joined_columns, joined_features, new_model
from ._cluster import connected
from ._data import Data
from ._mixing import MIXINGS
from ._sentences import train_tagger
from ._sources import Source, make_source
from ._training import Trainer, hint_on_loss
from ._validation import examples_to_decide_by, feature_names

FREE = {
    "max_iter", "tol", "n_iter_no_change", "n_jobs", "verbose", "warm_start", "epochs", "patience", "done", "current", "stopped",
    "start_norm", "steps", "weighted", "mixed", "by_block",
    "random_state", "early_stopping", "validation_fraction",
}  # fmt: skip
"""Values that may differ from a checkpoint: stopping rules, progress, and values that the run stores under another name."""


def train(
    estimator: Any,
    X: Any,
    y: Any = None,
    coef_init: Any = None,
    intercept_init: Any = None,
    sample_weight: Any = None,
    *,
    validation: Any = None,
    client: Any = None,
    mixing: str = "uniform",
    shards: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = True,
    reading: Mapping[str, Any] | None = None,
    progress: bool = False,
    schedule: Schedule | None = None,
    on_epoch: Callable[[History], None] | None = None,
    asked_to_stop: Callable[[], bool] | None = None,
    source: Source | None = None,
) -> Any:
    """Train a learner of this library on a Dask cluster, by iterative parameter mixing.

    Each shard runs an epoch from the common weights, then the weights of all are mixed (McDonald, Hall and Mann 2010). Examples
    stay on their workers. The result depends on the shards and the seed, not on the workers or on failures of workers.

    Parameters
    ----------
    estimator : estimator
        An online linear learner or a `SequencePerceptron`, which is trained in place; `max_iter`, `tol`, `n_iter_no_change`,
        `shuffle`, `random_state`, `early_stopping`, `validation_fraction` and `class_weight` have their usual meaning.
    X : dask array, dataframe or bag, list of delayed partitions, array, or files
        Partitions are the shards. A bag holds pairs (features, label); a delayed partition is a tuple (X, y) or
        (X, y, sample_weight); an array in memory and files, by name or pattern, are split into shards. For a tagger: a list of
        sentences, partitions (X, y), or files with a token on each line.
    y : dask array or series, str or array, default=None
        The labels; for a dataframe also the name of their column. None for bags, partitions and files, which contain labels.
    coef_init, intercept_init : arrays, default=None
        Weights to start from, as in the estimators' `fit`.
    sample_weight : dask array or array, default=None
        The weight of each example.
    validation : tuple or path, default=None
        (X, y) in memory or of Dask collections, or files: training stops when the accuracy on them no longer rises by `tol`.
        Columns of frames and features of dicts are matched by name.
    client : distributed.Client, str or None, default=None
        A client, the address of a scheduler, "local" or "local:4"; None for the current client.
    mixing : {"uniform", "mistakes", "examples"}, default="uniform"
        How shards are weighted in the mixture: equally, by their updates in this epoch, or by their examples.
    shards : int or None, default=None
        Number of shards for an array (8 by default) or files (shards of 64 MiB by default, but at least 8). More shards use more
        workers and need more epochs.
    checkpoint : path, default=None
        A model file that is written after each epoch. If it exists, training continues from it; the shards, the seed and the
        parameters must be the same, except for the stopping rules.
    resume : bool, default=True
        Whether to continue from the checkpoint if it exists; False starts from the beginning and replaces it.
    reading : mapping, default=None
        How to read files: the options of `rosenblatt.data.open_stream` (format, label, header, bits, types, …).
    progress : bool, default=False
        Whether to show a progress bar on a terminal.
    schedule : Schedule, default=None
        How to train; replaces the parameters of the estimator.
    on_epoch : callable, default=None
        Called after each epoch with the history of the run.
    asked_to_stop : callable, default=None
        Called after each epoch; training stops if it returns True.
    source : Source, default=None
        Existing shards, used instead of X.

    Returns
    -------
    estimator
        The fitted estimator, with `model_`, `mistakes_per_epoch_`, `history_` (one dict per epoch, with the mistakes of every
        shard, Σ μᵢkᵢ, seconds and bytes moved) and `weighted_mistakes_`.
    """
    sentences = type(estimator).__name__ in OF_SEQUENCES
    if not sentences:
        check_mixable(estimator)
    estimator._check_parameters()
    if mixing not in MIXINGS:
        raise ValueError(
            f"`mixing` must be one of {', '.join(MIXINGS)}; got {mixing!r}. 'uniform' weights all shards equally."
        )
    if shards is not None and not (type(shards) is int and shards > 0):
        raise ValueError(
            f"`shards` must be a whole number of at least 1; got {shards!r}. Leave it out for the default."
        )
    check_output(checkpoint)
    if sentences:
        others = {
            "coef_init": coef_init, "intercept_init": intercept_init, "sample_weight": sample_weight, "validation": validation,
            "reading": reading,
        }  # fmt: skip
        if wrong := [name for name, value in others.items() if value is not None]:
            raise ValueError(f"`{wrong[0]}` must be left out for a tagger; got a {type(others[wrong[0]]).__name__}.")
        with Bar("loading", not progress) as bar:
            return train_tagger(
                estimator, X, y, client=client, mixing=mixing, shards=shards, checkpoint=checkpoint, resume=resume, bar=bar,
                schedule=schedule, on_epoch=on_epoch, asked_to_stop=asked_to_stop,
            )  # fmt: skip
    with connected(client) as cluster, Bar("loading", not progress) as bar, contextlib.ExitStack() as held:
        wanted = Schedule.of(estimator) if schedule is None else schedule
        history = History(current=ShardedEpoch())
        with hint_on_loss(cluster, checkpoint, wanted, history):
            given = make_source(cluster, X, y, sample_weight, shards, reading) if source is None else source
            data = Data(cluster, given)
            held.callback(data.close)
            start, checked = (coef_init, intercept_init), checkpoint is not None
            trainer, encoder = _prepared(estimator, data, wanted, history, mixing, bar, start, checked)
            trainer.asked = shards
            if validation is not None:
                names = feature_names(estimator, encoder)
                trainer.validation = examples_to_decide_by(cluster, validation, trainer, encoder, names)
                if isinstance(trainer.validation, Data):
                    held.callback(trainer.validation.close)
            marks = _fingerprint(trainer, any(part is not None for part in start))
            if resume:
                _resume(estimator, trainer, checkpoint, marks)
            with stopping_when(asked_to_stop) if asked_to_stop is not None else contextlib.nullcontext():
                _epochs(estimator, trainer, encoder, marks, bar, checkpoint, on_epoch)
        trainer.forget()
    if schedule is None and history.stopped == "epochs" and wanted.tol is not None:
        warn_of_last_epoch(estimator)
    return estimator


def _prepared(
    estimator: Any,
    data: Data,
    schedule: Schedule,
    history: History,
    mixing: str,
    bar: Bar,
    start: tuple[Any, Any],
    checked: bool,
) -> tuple[Trainer, Encoder | None]:
    """Load the shards, collect classes and features, and create the model."""
    bar.title = "loading"
    facts = data.load(lambda done, total: bar.update(done, total, f"{done} of {total} shards"), checked)
    classes, counts = joined_classes(facts)
    name = type(estimator).__name__
    if not sum(counts.values()):
        raise ValueError(
            f"{name} needs labelled examples; the shards contain none. Check the label column and the format."
        )
    if not sum(fact.weight for fact in facts):
        raise ValueError(
            "The sample weights must not all be 0, because that leaves no example to learn from; got only zeros. Leave "
            "sample_weight out to count every example once."
        )
    if len(classes) < 2:
        raise ValueError(
            f"The labels of {name} must hold at least 2 classes; got 1 class, {classes[0]!r}. Check that y is the label column."
        )
    classes = ordered(classes, estimator.positive, type(estimator).__name__)
    width, columns, names = joined_features(facts, data.source)
    encoder = data.source.encoder
    if encoder is not None:
        if names is not None:
            encoder.vocabulary = Vocabulary(names)
        elif encoder.family == "numbered":
            encoder.width = max(encoder.width, width)
        width = encoder.n_features
    model, recipe = new_model(estimator, facts, classes, width)
    estimator._start(model, *start)
    estimator._check_can_move(model)
    factors = None
    if estimator.class_weight is not None:
        factors = _class_factors(estimator.class_weight, classes, counts)
    data.settle(classes, columns, width, recipe.dtype, factors)
    vars(estimator).pop("feature_names_in_", None)  # those of an earlier fit
    if encoder is None and names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif (own := joined_columns(facts)) is not None:
        estimator.feature_names_in_ = np.array(own, dtype=object)
    history.mixed = len(data.shards) > 1
    history.weighted = factors is not None or any(fact.weighted for fact in facts)
    return Trainer(data, model, recipe, schedule, history, mixing), encoder


def _class_factors(wanted: Any, classes: list[Any], counts: dict[Any, int]) -> list[float]:
    if wanted == "balanced":
        total = sum(counts.values())
        return [total / (len(classes) * max(1, counts.get(label, 0))) for label in classes]
    from sklearn.utils import compute_class_weight

    factors: list[float] = compute_class_weight(wanted, classes=np.array(classes), y=np.array(classes)).tolist()
    return factors


# ---- epochs ----


def _epochs(
    estimator: Any,
    trainer: Trainer,
    encoder: Encoder | None,
    marks: dict[str, Any],
    bar: Bar,
    checkpoint: Any,
    on_epoch: Callable[[History], None] | None,
) -> None:
    """Run the epochs, write the checkpoint after each, and finish the estimator."""
    history, shards = trainer.history, len(trainer.data.shards)
    first = len(history.done)
    start = None if first else tuple(part.copy() for part in trainer.model.last())
    bar.title = f"epoch {first + 1}"
    trainer.on_shards = functools.partial(bar.update, note=f"{shards} shards")

    def after_epoch(history: History) -> None:
        bar.clear()
        bar.title = f"epoch {len(history.done) + 1}"
        made = history.done[-1]
        assert isinstance(made, ShardedEpoch)
        history.steps += made.weighted_steps or 0.0
        if getattr(estimator, "verbose", 0):
            print(
                f"epoch {len(history.done)}: {made.mistakes} mistakes, {made.updates} updates, Σμk {made.weighted_mistakes:.6g}, "
                f"{made.seconds:.2f} s, {made.bytes_moved / 1e6:.2f} MB moved"
            )
        if checkpoint is not None:
            _finish(estimator, trainer, encoder, marks, start, lead=None)
            save(plain(estimator), checkpoint)
        if on_epoch is not None:
            on_epoch(history)

    run_epochs(trainer, trainer.schedule, history, on_epoch=after_epoch)
    lead = None if history.stopped == "interrupted" else trainer.smallest_margin()
    _finish(estimator, trainer, encoder, marks, start, lead)
    if checkpoint is not None:
        save(plain(estimator), checkpoint)


def _finish(
    estimator: Any, trainer: Trainer, encoder: Encoder | None, marks: dict[str, Any], start: Any, lead: float | None
) -> None:
    """Set the fitted attributes."""
    model, history = trainer.model, trainer.history
    w, bias = model.last()
    if start is not None:
        history.start_norm, history.distance = length(*start), length(w - start[0], bias - start[1])
    elif history.start_norm == 0.0:
        history.distance = length(w, bias)
    if not history.mixed:
        history.steps = float(model.state.counters.steps)
    model.state.counters.position = 0
    estimator.n_features_in_ = model.n_features
    estimator._name_features(model)
    estimator._finish(model, history, lead)
    estimator.history_ = [dataclasses.asdict(epoch) for epoch in history.done]
    estimator.weighted_mistakes_ = float(sum(getattr(epoch, "weighted_mistakes", 0.0) for epoch in history.done))
    run = {**trainer.schedule.to_json(), **history.to_json()}
    estimator.training_ = {**getattr(estimator, "training_", {}), "run": run, "shards": marks}
    if encoder is not None:
        estimator.encoder_ = encoder


def _fingerprint(trainer: Trainer, started: bool) -> dict[str, Any]:
    """Values that must be the same to continue a run with the same result."""
    facts = trainer.data.facts
    return {
        "asked": trainer.asked,
        "examples": [fact.examples for fact in facts],
        "bytes": [fact.bytes for fact in facts],
        "labels": list(joined_classes(facts)[1].values()),
        "features": trainer.model.n_features,
        "classes": list(trainer.model.classes),
        "mixing": trainer.mixing,
        "dtype": trainer.recipe.dtype,
        "contents": [fact.checksum for fact in facts],
        "starting weights": [zlib.crc32(part.tobytes()) for part in trainer.coordinates.start()] if started else [],
    }


def _resume(estimator: Any, trainer: Trainer, checkpoint: Any, marks: dict[str, Any]) -> None:
    """Continue from a checkpoint if it exists."""
    if checkpoint is None or not Path(checkpoint).exists():
        return
    from rosenblatt.learners._load import load

    kept = load(
        checkpoint, **({} if type(estimator).__module__.startswith("rosenblatt.") else {"rule": type(estimator)})
    )
    if what := _changed(estimator, kept, trainer.schedule, marks):
        raise ValueError(
            f"The checkpoint must be of this learner on these shards; {os.fspath(checkpoint)} is not: {what}. Delete it to start "
            "again, or give another file name."
        )
    schedule, saved = trainer.schedule, Schedule.from_json(kept.training_["run"])
    trainer.schedule = dataclasses.replace(
        saved, max_iter=schedule.max_iter, tol=schedule.tol, n_iter_no_change=schedule.n_iter_no_change
    )
    before = History.from_json(kept.training_["run"])
    before.current, before.stopped = ShardedEpoch(), ""
    before.mixed, before.weighted = trainer.history.mixed, trainer.history.weighted
    vars(trainer.history).update(vars(before))
    _transplant(kept.model_, trainer)


def _changed(estimator: Any, kept: Any, schedule: Schedule, marks: dict[str, Any]) -> str:
    """The first difference between this run and the checkpoint that would change the result; empty if there is none."""
    learner, training = type(kept).__name__, getattr(kept, "training_", {})
    if learner != type(estimator).__name__:
        return f"its learner is {learner}, not {type(estimator).__name__}"
    if "shards" not in training:
        return "it was trained on one machine"
    before = {**kept.get_params(deep=False), **training["shards"], **training["run"]}
    now = {**estimator.get_params(deep=False), **marks, **schedule.to_json()}
    seeded = isinstance(estimator.random_state, int | np.integer)  # else the seed of the checkpoint is used
    for key, value in before.items():
        if key in FREE or key not in now or now[key] == value or (key == "seed" and not seeded):
            continue
        if isinstance(value, list):
            return f"its {key} are different"
        name = {"asked": "shards", "seed": "random_state", "holdout": "validation_fraction"}.get(key, key)
        return f"its `{name}` is {value!r}, not {now[key]!r}"
    return ""


def _transplant(model: Model, trainer: Trainer) -> None:
    """Replace the model of the trainer by a saved one."""
    trainer.model = model
    trainer.__post_init__()


def plain(estimator: Any) -> Any:
    """The single-machine estimator with the same parameters and weights, which is stored in files."""
    to_local = getattr(estimator, "to_local", None)
    return estimator if to_local is None else to_local()
